#include "samples.h"

#include <algorithm>
#include <cmath>

#include "../files/tensor_data.h"

namespace assay {
namespace {

constexpr std::int64_t kSampled = 256;
constexpr std::size_t kLeast = 6;       // numbers that say something
constexpr double kNearlySame = 0.02, kOfLargest = 1e-3;

// The place of sample k: spread, and not all in one column of a matrix whose width divides the step.
std::int64_t sampled_place(std::int64_t k, std::int64_t numel) {
  if (numel <= kSampled) return k;
  return std::min(numel - 1, k * numel / kSampled + (k * 7) % std::max<std::int64_t>(1, numel / kSampled));
}

// In the tensor with its channels last, where element `at` of the one with channels first lies.
std::int64_t in_channels_last(std::int64_t at, const Shape& last) {
  const std::int64_t channels = last.back();
  std::int64_t inner = 1;
  for (std::size_t d = 1; d + 1 < last.size(); ++d) inner *= last[d];
  const std::int64_t batch = at / (channels * inner), rest = at % (channels * inner);
  return batch * channels * inner + rest % inner * channels + rest / inner;
}

Shape with_channels_first(const Shape& last) {
  Shape s{last[0], last.back()};
  s.insert(s.end(), last.begin() + 1, last.end() - 1);
  return s;
}

}  // namespace

Samples::Samples(const TensorData& t)
    : shape_(t.shape), numel_(t.numel()), is_float_(assay::is_float(t.dtype)) {
  const std::int64_t n = std::min(numel_, kSampled);
  for (std::int64_t k = 0; k < n; ++k) plain_.push_back(t.get(sampled_place(k, numel_)));
  if (shape_.size() < 3 || numel_ == 0) return;
  for (std::int64_t k = 0; k < n; ++k) first_.push_back(t.get(in_channels_last(sampled_place(k, numel_), shape_)));
}

std::optional<double> Samples::share(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (const double x : a)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  std::size_t looked_at = 0, same = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == 0 && b[k] == 0) continue;
    ++looked_at;
    const double most = std::max(std::fabs(a[k]), std::fabs(b[k]));
    same += a[k] == b[k] || std::fabs(a[k] - b[k]) <= kNearlySame * most + kOfLargest * largest ? 1 : 0;
  }
  if (looked_at < std::min(kLeast, a.size())) return std::nullopt;
  if (looked_at == 0) return std::nullopt;
  return static_cast<double>(same) / static_cast<double>(looked_at);
}

std::optional<double> Samples::alike(const Samples& other) const { return share(plain_, other.plain_); }

std::optional<double> Samples::alike_moved(const Samples& other) const {
  if (shape_.size() != other.shape_.size() || shape_.size() < 3) return std::nullopt;
  if (with_channels_first(other.shape_) == shape_) return share(plain_, other.first_);
  if (with_channels_first(shape_) == other.shape_) return share(first_, other.plain_);
  return std::nullopt;
}

TensorData turned_around(const TensorData& t) {
  TensorData other(t.dtype, {t.shape[1], t.shape[0]});
  for (std::int64_t i = 0; i < t.shape[0]; ++i)
    for (std::int64_t k = 0; k < t.shape[1]; ++k) other.set(k * t.shape[0] + i, t.get(i * t.shape[1] + k));
  return other;
}

}  // namespace assay
