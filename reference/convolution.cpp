#include "ops/convolution.h"

#include <vector>

#include "reference_of.h"
#include "windows.h"

namespace assay {
namespace {

struct Convolution {
  template <class S>
  S operator()(const Tensor<S>& input, const Tensor<S>& weight, const Tensor<S>* bias,
               std::span<const std::int64_t> stride, std::span<const std::int64_t> padding,
               std::span<const std::int64_t> dilation, bool transposed,
               std::span<const std::int64_t> /*output_padding*/, std::int64_t groups, const Index& i) const {
    const Window window{stride, padding, dilation};
    const std::int64_t image = inner(input, 2), taps = inner(weight, 2);
    const std::int64_t channels = input.size(1) / groups;
    const std::int64_t outputs = transposed ? weight.size(1) : weight.size(0) / groups;
    const std::int64_t group = i[1] / outputs;
    // Where the element of the input, or of the weight, stands for channel c of the group.
    const auto element = [&](std::int64_t c) {
      return (i[0] * input.size(1) + group * channels + c) * image;
    };
    const auto factor = [&](std::int64_t c) {
      return (transposed ? (group * channels + c) * outputs + i[1] % outputs : i[1] * channels + c) * taps;
    };

    // Taps within the image, and its element there.
    std::vector<std::int64_t> tap, at;
    bool zero_times_infinity = false;
    for (std::int64_t r = 0; r < taps; ++r) {
      const std::int64_t position = transposed ? window.source(i, r, weight.shape(), input.shape())
                                               : window.target(i, r, weight.shape(), input.shape());
      if (position >= 0) {
        tap.push_back(r);
        at.push_back(position);
      } else {
        for (std::int64_t c = 0; c < channels; ++c)
          zero_times_infinity = zero_times_infinity || !weight.is_finite(factor(c) + r);
      }
    }
    const auto n = static_cast<std::int64_t>(tap.size());
    const S result = sum<S>(n * channels + (bias == nullptr ? 0 : 1), [&](std::int64_t k) {
      if (k == n * channels) return (*bias)(i[1]);
      const auto t = static_cast<std::size_t>(k % n);
      return input.at(element(k / n) + at[t]) * weight.at(factor(k / n) + tap[t]);
    });
    // Zeros around the image are there, or are left out: it matters where one meets an infinity or NaN.
    return zero_times_infinity ? either(result, result + S(0) * S(INFINITY)) : result;
  }
};

const EnrolledReference enrolled{reference<ops::convolution, Convolution>()};

}  // namespace
}  // namespace assay
