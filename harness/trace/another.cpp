#include "another.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "../files/tensor_data.h"

namespace assay {
namespace {

constexpr double kNearly = 1e-5;  // of a number, and a tenth of it of the largest
constexpr double kMostly = 0.999;
constexpr std::size_t kLeastNumbers = 4;  // different ones

bool says_little(const TensorData& t) {
  std::set<double> numbers;
  for (std::int64_t i = 0; i < t.numel() && numbers.size() < kLeastNumbers; ++i)
    if (const double x = t.get(i); !std::isnan(x)) numbers.insert(x);
  return numbers.size() < kLeastNumbers;
}

}  // namespace

bool are_alike(const TensorData& a, const TensorData& b, const std::vector<double>& within) {
  double scale = 0;
  for (std::int64_t i = 0; i < b.numel(); ++i)
    if (const double x = std::fabs(b.get(i)); std::isfinite(x)) scale = std::max(scale, x);
  std::int64_t alike = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.get(i), y = b.get(i);
    alike += x == y || (std::isnan(x) && std::isnan(y)) ||
                     std::fabs(x - y) <= kNearly * (std::fabs(y) + scale / 10) +
                                             (within.empty() ? 0 : 2 * within[static_cast<std::size_t>(i)])
                 ? 1
                 : 0;
  }
  return static_cast<double>(alike) >= kMostly * static_cast<double>(a.numel());
}

std::optional<std::string> of_another_call(const CaseFile& trace, Dump& dump, std::size_t call,
                                           const KnownResult& came, const TensorData& right) {
  if (says_little(came.data)) return std::nullopt;
  std::optional<std::size_t> found;
  const auto distance = [call](std::size_t k) { return k < call ? call - k : k - call; };
  for (std::size_t k = 0; k < trace.calls.size(); ++k) {
    if (k == call) continue;
    for (const auto& [output, recorded] : trace.calls[k].outputs) {
      const auto dumped = dump.result(k, output);
      if (!dumped && !recorded.actual) continue;
      const TensorData other = dumped ? dump.peek(dumped->name) : tensor_of(*recorded.actual);
      if (other.numel() != came.data.numel() || is_float(other.dtype) != is_float(came.data.dtype)) continue;
      if (!are_alike(came.data, other, came.within) || are_alike(right, other, came.within)) continue;
      if (!found || distance(k) < distance(*found)) found = k;
    }
  }
  return found ? std::optional(name_of(trace, *found)) : std::nullopt;
}

}  // namespace assay
