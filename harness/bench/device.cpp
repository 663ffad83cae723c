#include "device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "statistics.h"

namespace assay {
namespace {

constexpr int kTriesOfDevice = 9;

std::vector<assay_memory> memory_of(std::span<const std::span<std::byte>> spans) {
  std::vector<assay_memory> all;
  for (const auto& s : spans) all.push_back({s.data(), s.size()});
  return all;
}

// Of so much work; clocks of GPUs have steps, and one that stands still is none.
double positive(double ns, const char* what) {
  if (ns > 0 && std::isfinite(ns)) return ns;
  throw std::runtime_error(fmt::format("the device's clock says that {} took {} ns", what, ns));
}

}  // namespace

template <class Error, class Function, class... A>
void Device::call(Function function, A... arguments) const {
  char text[1024] = "";
  if (function(arguments..., assay_message{text, sizeof text}) != 0)
    throw Error(text[0] != 0 ? text : "the device failed and did not say why");
}

std::optional<std::string> Device::name(std::string& why_not) const {
  char text[1024] = "";
  if (const char* const name = table_->device({text, sizeof text})) return name;
  why_not = text;
  return std::nullopt;
}

void Device::hold(const Operands& operands, int copies) const {
  std::vector<assay_memory> all = memory_of(operands.results());
  for (const auto& in : operands.inputs())
    all.push_back({const_cast<std::byte*>(in.data()), in.size()});  // which is only read
  call<std::runtime_error>(table_->hold, all.data(), static_cast<std::uint32_t>(all.size()),
                           static_cast<std::uint32_t>(copies));
}

void Device::release() const { table_->release(); }

double Device::ns_of_call(const assay_call& kernel, int calls) const {
  double ns = 0;
  call<DeviceKernelError>(table_->time, &kernel, static_cast<std::uint32_t>(calls), &ns);
  return positive(ns, "calls of a kernel") / calls;
}

void Device::fetch(const Operands& operands) const {
  const std::vector<assay_memory> all = memory_of(operands.results());
  call<DeviceKernelError>(table_->fetch, all.data(), static_cast<std::uint32_t>(all.size()));
}

double Device::ns_of_stream(std::uint64_t read, std::uint64_t written, int copies, int calls) const {
  double ns = 0;
  call<std::runtime_error>(table_->stream, read, written, static_cast<std::uint32_t>(copies),
                           static_cast<std::uint32_t>(calls), &ns);
  return positive(ns, "moving bytes") / calls;
}

Device::Burst Device::burst(assay_arithmetic which, double wanted) const {
  Burst done{};
  call<std::runtime_error>(table_->arithmetic, which, wanted, &done.operations, &done.ns);
  done.ns = positive(done.ns, "arithmetic");
  return done;
}

std::vector<MachineLimit> Device::limits() const {
  std::string why_not;
  const std::string device = name(why_not).value_or("");
  std::vector<MachineLimit> all;
  const auto median_of = [](const auto& once) {
    once();
    std::vector<double> tries;
    for (int t = 0; t < kTriesOfDevice; ++t) tries.push_back(once());
    return median_interval(tries).median;
  };
  // To start a kernel takes as long as to move what a cache holds: there, what more bytes take longer is their rate.
  struct Level {
    const char* name;
    std::uint64_t bytes, fewer;  // of what is read, and of what is written
  };
  const std::uint64_t cache = std::max<std::uint64_t>(cache_bytes(), 1 << 16);
  const Level levels[] = {{"L2", cache / 4, cache / 16}, {"DRAM", 8 * cache, 0}};
  const int calls = std::min(most_calls(), 16);
  for (const Level& level : levels) {
    const auto add = [&](const char* what, std::uint64_t reads, std::uint64_t writes) {
      const auto ns_of = [&](std::uint64_t bytes) {
        return median_of([&] { return ns_of_stream(bytes * reads, bytes * writes, 1, calls); });
      };
      auto bytes = static_cast<double>(level.bytes);
      double ns = ns_of(level.bytes);
      if (const double fewer = level.fewer != 0 ? ns_of(level.fewer) : ns; fewer < ns) {
        bytes -= static_cast<double>(level.fewer);
        ns -= fewer;
      }
      const double rate = static_cast<double>(reads + writes) * bytes / ns * 1e9;
      all.push_back({std::string(what) + " " + level.name, "bandwidth", level.name, "", rate, device});
    };
    add("read", 1, 0);
    add("write", 0, 1);
    add("copy", 1, 1);
  }
  const auto add = [&](const char* what, const char* dtype, assay_arithmetic which) {
    // As many as take a millisecond, or as a slow device does in a try.
    constexpr double kFirst = 1e6, kLongest = 1e6;  // operations, ns
    const Burst first = burst(which, kFirst);
    const double wanted = std::max(kFirst, first.operations * kLongest / std::max(first.ns, 1.0));
    const double rate = median_of([&] {
      const Burst b = burst(which, wanted);
      return b.operations / b.ns * 1e9;
    });
    all.push_back({what, "arithmetic", "", dtype, rate, device});
  };
  add("FMA f32", "f32", ASSAY_FMA_F32);
  add("FMA f64", "f64", ASSAY_FMA_F64);
  add("matrix units, 16 bits", "bf16", ASSAY_MATRIX_16);
  return all;
}

}  // namespace assay
