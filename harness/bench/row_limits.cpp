#include "row_limits.h"

#include "statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

using Json = nlohmann::json;

// What no honest kernel can do, as it was measured in the same rounds on the same operands: to read and write the case's bytes and to do
// its operations of single or double precision in less time than the plainest loop. How fast an elementary function can be,
// nobody knows, nor how few operations a convolution takes (Winograd's takes fewer).
struct HardLimit {
  std::string what;
  double ns;      // in the fastest round
  double beyond;  // of its speed, from which a time is impossible
};

constexpr double kBeyondLimit = 1.03;  // limits are measured, too
// From caches a better loop than the one that is measured may get more, and so may one that finds a part of its data in them.
constexpr double kBeyondCaches = 2;
constexpr std::size_t kTimesCache = 4;  // the last level, from which on next to nothing is found there again
// A call alone costs a few nanoseconds: where the operator takes less, times of two loops say nothing about what they do.
constexpr double kLeastLimitNs = 20;

std::vector<HardLimit> hard_limits(const Json& limits, const BenchRow& row, const Json& opened,
                                   const std::string& where) {
  const std::vector<double> ordinary = numbers(limits["stream"]["cpu"]);
  const std::vector<double> streaming = numbers(limits["streaming"]["cpu"]),
                            operation = numbers(limits["operation"]["cpu"]);
  const bool by_streaming =
      !streaming.empty() && (ordinary.empty() || std::ranges::min(streaming) < std::ranges::min(ordinary));
  const std::vector<double>& stream = by_streaming ? streaming : ordinary;
  // Where the limit itself was measured now at one speed and now at another, its fastest round may still be a slow one.
  const auto unrest = [](const std::vector<double>& times) {
    return median_interval(times).median / std::ranges::min(times);
  };
  std::vector<HardLimit> all;
  if (!stream.empty()) {
    const std::size_t bytes = opened["bytes_of_set"];
    // Where less is moved, caches may keep what is written, however cold they were.
    const bool of_memory = bytes >= kTimesCache * cache_sizes().l3;
    all.push_back({fmt::format("to move its {} bytes, in {}", row.bytes, where), std::ranges::min(stream),
                   (of_memory ? kBeyondLimit : kBeyondCaches) * unrest(stream)});
  }
  if (!operation.empty() && (row.dtype == "f32" || row.dtype == "f64") &&
      row.op.find("conv") == std::string::npos)
    all.push_back({fmt::format("for its {} operations", row.operations),
                   std::ranges::min(operation) * static_cast<double>(row.operations),
                   kBeyondLimit * unrest(operation)});
  return all;
}

}  // namespace

std::vector<double> numbers(const Json& list) { return list.get<std::vector<double>>(); }

std::string level(Cache cache, const Json& opened) {
  if (opened["device"] != "")
    return cache == Cache::dram || opened["bytes"] > opened["device_cache"] ? "DRAM" : "L2";
  const std::size_t bytes = opened["bytes_of_set"];
  const CacheSizes sizes = cache_sizes();
  if (cache == Cache::dram || bytes > sizes.l3) return "DRAM";
  if (cache == Cache::l2 || bytes > sizes.l2) return "L3";
  return bytes > sizes.l1 ? "L2" : "L1";
}

// The limits of each round beside the kernel's time in that round.
std::optional<BoundBy> bound_by(const Json& limits, const BenchRow& row, const std::vector<double>& times,
                                const std::string& where) {
  const std::vector<double> stream = numbers(limits["stream"]["cpu"]),
                            streaming = numbers(limits["streaming"]["cpu"]),
                            operation = numbers(limits["operation"]["cpu"]),
                            element = numbers(limits["element"]["cpu"]);
  if (stream.size() < times.size() || operation.size() < times.size() || times.empty()) return std::nullopt;
  const double functions = element.empty() ? 0 : static_cast<double>(row.functions);
  std::vector<double> memory, arithmetic, elementary;
  for (std::size_t r = 0; r < times.size(); ++r) {
    memory.push_back(streaming.empty() ? stream[r] : std::min(stream[r], streaming[r]));
    arithmetic.push_back(operation[r] * static_cast<double>(row.operations));
    elementary.push_back(functions == 0 ? 0 : element[r] * functions);
  }
  struct Candidate {
    std::string name;
    const std::vector<double>* ns;
  };
  const Candidate candidates[] = {
      {"memory " + where, &memory}, {"arithmetic", &arithmetic}, {"elementary functions", &elementary}};
  const Candidate* binding = nullptr;
  double longest = -1;
  for (const Candidate& candidate : candidates) {
    const double ns = median_interval(*candidate.ns).median;
    if (ns > longest) {
      longest = ns;
      binding = &candidate;
    }
  }
  std::vector<double> shares;
  for (std::size_t r = 0; r < times.size(); ++r) shares.push_back((*binding->ns)[r] / times[r]);
  return BoundBy{longest, binding->name, median_interval(shares).median};
}

std::string impossible_because(const Json& limits, const BenchRow& row, const Json& opened,
                               const std::string& where) {
  for (const HardLimit& limit : hard_limits(limits, row, opened, where))
    if (limit.ns >= kLeastLimitNs && std::isfinite(row.ns.high) && limit.ns > limit.beyond * row.ns.high)
      return fmt::format(
          "a call takes {:.4g} ns, and this machine needs {:.4g} ns {}: {:.0f}% of what is possible, so what was "
          "timed is not the operator",
          row.ns.median, limit.ns, limit.what, 100 * limit.ns / row.ns.median);
  return {};
}

}  // namespace assay
