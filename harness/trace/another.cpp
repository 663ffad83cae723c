#include "another.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "../files/tensor_data.h"
#include "origin.h"

namespace assay {
namespace {

constexpr double kNearly = 1e-5;  // of a number, and a tenth of it of the largest
constexpr double kMostly = 0.999;
constexpr std::size_t kLeastNumbers = 4;  // different ones

}  // namespace

std::vector<bool> following_from(const CaseFile& trace, std::size_t call) {
  std::vector<bool> all(trace.calls.size());
  const auto is_one = [&](std::size_t k) { return k == call || (k < all.size() && all[k]); };
  for (std::size_t k = call + 1; k < trace.calls.size(); ++k)
    for (const auto& [key, value] : trace.calls[k].notes) {
      if (const auto origin = key.starts_with("from.") ? parse_origin(value) : std::nullopt)
        all[k] = all[k] || is_one(origin->call);
      if (const auto through = key.starts_with("through.") ? parse_through(value) : std::nullopt)
        for (const Origin& from : through->from) all[k] = all[k] || is_one(from.call);
    }
  return all;
}

bool says_little(const TensorData& t) {
  std::set<double> numbers;
  for (std::int64_t i = 0; i < t.numel() && numbers.size() < kLeastNumbers; ++i)
    if (const double x = t.get(i); !std::isnan(x)) numbers.insert(x);
  return numbers.size() < kLeastNumbers;
}

double largest_of(const TensorData& t) {
  double largest = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i)
    if (const double x = std::fabs(t.get(i)); std::isfinite(x)) largest = std::max(largest, x);
  return largest;
}

double nearly_of(double number, double scale) { return kNearly * (std::fabs(number) + scale / 10); }

bool is_nearly(double x, double y, double scale, double by) {
  return x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= nearly_of(y, scale) + by;
}

bool are_alike(const TensorData& a, const TensorData& b, const std::vector<double>& within) {
  const double scale = largest_of(b);
  std::int64_t alike = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    alike +=
        is_nearly(a.get(i), b.get(i), scale, within.empty() ? 0 : 2 * within[static_cast<std::size_t>(i)])
            ? 1
            : 0;
  return static_cast<double>(alike) >= kMostly * static_cast<double>(a.numel());
}

std::optional<std::string> of_another_call(const CaseFile& trace, Dump& dump, std::size_t call,
                                           const std::string& name, const KnownResult& came,
                                           const TensorData& right) {
  if (says_little(came.data)) return std::nullopt;
  std::optional<std::size_t> found;
  const auto result = trace.calls[call].outputs.find(name);
  const std::optional<RecordedTensor> own =
      result == trace.calls[call].outputs.end() ? std::nullopt : result->second.actual;
  const std::vector<bool> follows = following_from(trace, call);
  const auto distance = [call](std::size_t k) { return k < call ? call - k : k - call; };
  for (std::size_t k = 0; k < trace.calls.size(); ++k) {
    if (k == call) continue;
    for (const auto& [output, recorded] : trace.calls[k].outputs) {
      const auto dumped = dump.result(k, output);
      if (!dumped && !recorded.actual) continue;
      const TensorData other = dumped ? dump.peek(dumped->name) : tensor_of(*recorded.actual);
      if (other.numel() != came.data.numel() || is_float(other.dtype) != is_float(came.data.dtype)) continue;
      if (!are_alike(came.data, other, came.within) || are_alike(right, other, came.within)) continue;
      // A wrong result goes on through what follows from it. What is right there was stored here later, as into memory that is used again.
      if (follows[k] && !(recorded.actual && are_alike(came.data, tensor_of(*recorded.actual), came.within)))
        continue;
      // In the program they are the same, as a copy of it is.
      if (recorded.actual && own && own->shape == recorded.actual->shape &&
          own->dtype == recorded.actual->dtype && own->data == recorded.actual->data)
        continue;
      if (!found || distance(k) < distance(*found)) found = k;
    }
  }
  return found ? std::optional(name_of(trace, *found)) : std::nullopt;
}

}  // namespace assay
