#include "quantised.h"

#include <fmt/format.h>

#include <cmath>

#include "vocabulary/dtype.h"

namespace assay {
namespace {

// Of half a step: the quotient is rounded, and so is the product with the step.
constexpr double kRoundings = 1e-4;

struct Range {
  double least, greatest;
};
Range range_of(const std::optional<Dtype>& integers) {
  if (integers == Dtype::u8) return {0, 255};
  if (integers == Dtype::i8) return {-128, 127};
  if (integers == Dtype::i16) return {-32768, 32767};
  return {-2147483648.0, 2147483647.0};
}

// By the number of an element, the number of its step, if steps are counted along this dimension.
class Along {
 public:
  Along(const Shape& shape, std::size_t dimension) : size_(shape[dimension]) {
    for (std::size_t d = dimension + 1; d < shape.size(); ++d) inner_ *= shape[d];
  }
  std::int64_t operator()(std::int64_t at) const { return at / inner_ % size_; }

 private:
  std::int64_t size_, inner_ = 1;
};

bool is_nearest(const Steps& steps, const Range& range, double before, double after, std::int64_t step) {
  const double scale = std::fabs(steps.scale.get(step));
  if (std::isnan(before) || std::isnan(after)) return std::isnan(before) == std::isnan(after);
  if (scale == 0) return after == 0;
  const std::int64_t zeros = steps.zero_point ? steps.zero_point->numel() : 0;
  const double zero = zeros == 0 ? 0 : steps.zero_point->get(zeros == 1 ? 0 : step);
  const double least = (range.least - zero) * scale, greatest = (range.greatest - zero) * scale;
  const double wanted = std::fmin(std::fmax(before, least), greatest);
  return std::fabs(wanted - after) <= scale * (0.5 + kRoundings) + std::fabs(before) * 1e-6;
}

bool all_are_nearest(const Steps& steps, const TensorData& before, const TensorData& after, const auto& step_of) {
  const Range range = range_of(steps.integers);
  for (std::int64_t i = 0; i < before.numel(); ++i)
    if (!is_nearest(steps, range, before.get(i), after.get(i), step_of(i))) return false;
  return true;
}

}  // namespace

std::optional<std::string> nearest_by(const Steps& steps, const TensorData& before, const TensorData& after) {
  if (before.shape != after.shape) return std::nullopt;
  const std::string integers = steps.integers ? std::string(name(*steps.integers)) : std::string("integers");
  const std::int64_t n = steps.scale.numel();
  if (n == 1) {
    if (!all_are_nearest(steps, before, after, [](std::int64_t) { return 0; })) return std::nullopt;
    return fmt::format("{}, one step of {:.4g}", integers, steps.scale.get(0));
  }
  for (std::size_t d = 0; d < before.shape.size(); ++d)
    if (before.shape[d] == n && all_are_nearest(steps, before, after, Along(before.shape, d)))
      return fmt::format("{}, a step for each index of dimension {}", integers, d);
  return std::nullopt;
}

std::optional<double> signal_to_noise(const TensorData& right, const TensorData& came) {
  if (right.shape != came.shape || !is_float(right.dtype)) return std::nullopt;
  double signal = 0, noise = 0;
  for (std::int64_t i = 0; i < came.numel(); ++i) {
    const double x = right.get(i), d = x - came.get(i);
    signal += x * x;
    noise += d * d;
  }
  if (!std::isfinite(signal) || !std::isfinite(noise) || signal == 0) return std::nullopt;
  return 10 * std::log10(signal / noise);
}

}  // namespace assay
