#include "bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cache_state.h"
#include "canary.h"
#include "clock.h"
#include "dot_canary.h"
#include "pages.h"
#include "statistics.h"

namespace assay {
namespace {

#if defined(ASSAY_SANITIZE_ADDRESS) || defined(ASSAY_SANITIZE_THREAD)
// A sanitizer's limits mean nothing, and would take most of the time of its tests.
constexpr int kTries = 1;
constexpr double kTryNs = 1e5;
constexpr std::size_t kMostBytes = std::size_t{4} << 20;
#else
constexpr int kTries = 9;
constexpr double kTryNs = 4e6;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;
#endif

// How much `once` does in a second.
template <class Once>
double rate(double amount, const Once& once) {
  once();
  double ns = 1;
  for (int repeats = 1;; repeats *= 4) {
    const Moment begin = now();
    for (int i = 0; i < repeats; ++i) once();
    ns = since(begin).cpu / repeats;
    if (ns * repeats > kTryNs / 8) break;
  }
  const int repeats = std::max(1, static_cast<int>(kTryNs / ns));
  std::vector<double> all;
  for (int t = 0; t < kTries; ++t) {
    const Moment begin = now();
    for (int i = 0; i < repeats; ++i) once();
    all.push_back(amount * repeats / since(begin).cpu * 1e9);
  }
  return median_interval(all).median;
}

}  // namespace

std::vector<MachineLimit> machine_limits() {
  const CacheSizes cache = cache_sizes();
  struct Level {
    const char* name;
    std::size_t bytes;  // of each of the two tensors
  };
  Level levels[] = {{"L1", cache.l1 / 4},
                    {"L2", cache.l2 / 4},
                    {"L3", std::clamp(cache.l3 / 4, 2 * cache.l2, std::size_t{16} << 20)},
                    {"DRAM", std::max(4 * cache.l3, std::size_t{64} << 20)}};
  for (Level& level : levels) level.bytes = std::min(level.bytes, kMostBytes);
  const Pages from(levels[3].bytes), to(levels[3].bytes);
  std::vector<MachineLimit> all;
  for (const Level& level : levels) {
    const std::span<const std::byte> in(from.data(), level.bytes);
    const std::span<std::byte> out(to.data(), level.bytes);
    const std::span<const std::span<const std::byte>> ins(&in, 1);
    const std::span<const std::span<std::byte>> outs(&out, 1);
    const auto n = static_cast<double>(level.bytes);
    const auto add = [&](const char* what, double value) {
      all.push_back({std::string(what) + " " + level.name, "bandwidth", level.name, "", value});
    };
    add("read", rate(n, [&] { stream(ins, {}, false); }));
    add("write", rate(n, [&] { stream({}, outs, false); }));
    add("copy", rate(2 * n, [&] { stream(ins, outs, false); }));
    add("copy streaming", rate(2 * n, [&] { stream(ins, outs, true); }));
  }
  constexpr std::int64_t kRepeats = kTries > 1 ? 20'000 : 100;
  all.push_back({"FMA f32", "arithmetic", "", "f32",
                 rate(multiply_add_f32(kRepeats), [] { multiply_add_f32(kRepeats); })});
  all.push_back({"FMA f64", "arithmetic", "", "f64",
                 rate(multiply_add_f64(kRepeats), [] { multiply_add_f64(kRepeats); })});
  for (const Dtype d : {Dtype::bf16, Dtype::u8})
    if (has_dot_products(d))
      all.push_back({fmt::format("dot products {}", name(d)), "arithmetic", "", std::string(name(d)),
                     rate(dot_products(d, kRepeats), [d] { dot_products(d, kRepeats); })});
  return all;
}

}  // namespace assay
