// The canaries of a group: what the machine, or the device, can do at most on the case's bytes and operations.
#include <fmt/format.h>

#include <functional>

#include "../generate/data.h"
#include "canary.h"
#include "dot_canary.h"
#include "group_state.h"

namespace assay {
namespace {

constexpr std::size_t kStreamingFrom = std::size_t{4} << 20;  // bytes of results for which streaming is tried
constexpr std::int64_t kExpElements = 65536;  // so many that the call itself counts for nothing
constexpr double kCanaryNs = 5e4;
constexpr double kDeviceNs = 1e6;  // of which a start is less than a hundredth

// The fastest operations that this processor has on the call's tensors.
std::function<double(std::int64_t)> burst_of(const Call& call) {
  for (const CallValue& a : call.arguments)
    if (const auto* t = std::get_if<TensorData>(&a); t != nullptr && has_dot_products(t->dtype))
      return [d = t->dtype](std::int64_t n) { return dot_products(d, n); };
  return call.outputs[0].computed_in == Dtype::f64 ? multiply_add_f64 : multiply_add_f32;
}

}  // namespace

// On a device the plainest kernels take as many bytes, in as many places, and operations for a millisecond.
void Group::add_device_limits() {
  State& s = *state_;
  const Device device = s.devices[0];
  const auto read = static_cast<std::uint64_t>(s.work.bytes_read),
             written = static_cast<std::uint64_t>(s.work.bytes_written);
  const int copies = s.copies;
  const auto stream_ns = [device, read, written, copies](double calls) {
    return device.ns_of_stream(read, written, copies, static_cast<int>(calls)) * calls;
  };
  const double calls =
      std::clamp(s.options.batch_ns / 4 / std::max(1.0, stream_ns(1)), 1.0, device.most_calls() / 1.2);
  s.add_canary(
      limits_.stream, 1,
      [stream_ns](std::size_t, double n) {
        const double ns = stream_ns(n);
        return Moment{ns, ns};
      },
      calls);
  const Dtype dtype = s.call.outputs[0].computed_in;
  const std::int64_t bits =
      s.call.outputs[0].dtype == Dtype::f16 || s.call.outputs[0].dtype == Dtype::bf16 ? 16 : 32;
  const assay_arithmetic which = dtype == Dtype::f64 ? ASSAY_FMA_F64
                                 : bits == 16        ? ASSAY_MATRIX_16
                                                     : ASSAY_FMA_F32;
  constexpr double kFirst = 1e6;
  const Device::Burst first = device.burst(which, kFirst);
  const double wanted = std::max(kFirst, first.operations * kDeviceNs / std::max(1.0, first.ns));
  s.add_canary(
      limits_.operation, 1,
      [device, which, wanted](std::size_t, double) {
        const Device::Burst b = device.burst(which, wanted);
        return Moment{b.ns / b.operations, b.ns / b.operations};
      },
      1);
}

void Group::add_limits() {
  State& s = *state_;
  if (s.on_device()) return add_device_limits();
  std::vector<std::vector<std::span<const std::byte>>> inputs;
  std::size_t written = 0;
  for (const auto& set : s.sets) inputs.push_back(s.inputs_read(*set));
  for (const auto& r : s.sets[0]->results()) written += r.size();
  for (const bool streaming : {false, true}) {
    if (streaming && written < kStreamingFrom) continue;
    const auto once = [&s, inputs, streaming](std::size_t set) {
      stream(inputs[set], s.sets[set]->results(), streaming);
    };
    const double calls = std::clamp(s.options.batch_ns / 4 / rough_ns([&] { once(0); }), 1.0, kMostCalls);
    s.add_canary(
        streaming ? limits_.streaming : limits_.stream, 1,
        [&s, once](std::size_t set, double n) { return s.time(once, set, n); }, calls);
  }
  const bool doubles = s.call.outputs[0].computed_in == Dtype::f64;
  const auto burst = burst_of(s.call);
  const double of_one = burst(1);
  const auto repeats = static_cast<std::int64_t>(kCanaryNs / (rough_ns([&] { burst(1000); }) / 1000)) + 1;
  s.add_canary(
      limits_.operation, of_one * static_cast<double>(repeats),
      [burst, repeats](std::size_t, double) {
        const Moment begin = now();
        burst(repeats);
        return since(begin);
      },
      1);
  if (!s.exp || s.work.operations.functions == 0) return;
  s.exp_call = materialise(parse_case(fmt::format("exp:{}:self={}", doubles ? "f64" : "f32", kExpElements)));
  s.exp_operands = std::make_unique<Operands>(s.exp_call, s.random);
  Contestant contestant;
  contestant.kernel = *s.exp;
  auto bound = std::make_shared<Bound>(contestant, *s.exp_operands);
  bound->call.information_capacity = 0;
  bound->call.kernel = &*s.exp;
  const auto run = [bound, kernel = s.exp->run] { return kernel(&bound->call); };
  const auto calls = static_cast<std::int64_t>(kCanaryNs / rough_ns(run)) + 1;
  const auto elements = static_cast<double>(s.exp_call.outputs[0].shape[0]);
  s.add_canary(
      limits_.element, elements * static_cast<double>(calls),
      [run, calls](std::size_t, double) {
        run();
        const Moment begin = now();
        for (std::int64_t i = 0; i < calls; ++i) run();
        return since(begin);
      },
      1);
}

}  // namespace assay
