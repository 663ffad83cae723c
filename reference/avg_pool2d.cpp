#include "ops/avg_pool2d.h"

#include <algorithm>

#include "pooled.h"
#include "reference_of.h"

namespace assay {
namespace {

using Sizes = std::span<const std::int64_t>;

struct AvgPool2d {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, bool /*ceil_mode*/,
               bool count_include_pad, std::optional<std::int64_t> divisor_override, const Index& i) const {
    const Pooled window(self.shape(), {kernel_size, stride, padding, {}}, i);
    const std::int64_t n = divisor_override.value_or(count_include_pad ? window.padded() : window.size());
    return sum<S>(window.size(), [&](std::int64_t k) { return self.at(window.number(k)); }) / S(n);
  }
};

// ---- Wrong ones ----------------------------------------------------------------------------------------------

struct DividedByTheWindow {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, bool,
               bool count_include_pad, std::optional<std::int64_t> divisor_override, const Index& i) const {
    const Pooled window(self.shape(), {kernel_size, stride, padding, {}}, i);
    const std::int64_t all = kernel_size[0] * kernel_size[kernel_size.size() - 1];
    const std::int64_t n = divisor_override.value_or(count_include_pad ? all : window.size());
    return sum<S>(window.size(), [&](std::int64_t k) { return self.at(window.number(k)); }) / S(n);
  }
};

// What is around the plane is like what is at its edge, or like what lies as far within.
template <bool kReflected>
struct PaddedByThePlane {
  template <class S>
  S operator()(const Tensor<S>& self, Sizes kernel_size, Sizes stride, Sizes padding, bool ceil_mode,
               bool count_include_pad, std::optional<std::int64_t> divisor_override, const Index& i) const {
    const auto of = [](Sizes list, std::size_t d) { return list.size() == 1 ? list[0] : list[d]; };
    const std::int64_t rows = self.size(self.rank() - 2), columns = self.size(self.rank() - 1);
    if (of(padding, 0) >= rows || of(padding, 1) >= columns)
      return AvgPool2d{}(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, i);
    const Sizes step = stride.empty() ? kernel_size : stride;
    const Pooled window(self.shape(), {kernel_size, stride, padding, {}}, i);
    const std::int64_t height = of(kernel_size, 0), width = of(kernel_size, 1);
    const std::int64_t top = i[i.rank() - 2] * of(step, 0) - of(padding, 0),
                       left = i[i.rank() - 1] * of(step, 1) - of(padding, 1);
    // As many taps as there are in the padding.
    const std::int64_t down = std::min(height, rows + of(padding, 0) - top),
                       across = std::min(width, columns + of(padding, 1) - left);
    const auto within = [](std::int64_t at, std::int64_t size) {
      if (kReflected) return at < 0 ? -at : at >= size ? 2 * size - 2 - at : at;
      return std::clamp<std::int64_t>(at, 0, size - 1);
    };
    const S total = sum<S>(down * across, [&](std::int64_t k) {
      const std::int64_t y = within(top + k / across, rows), x = within(left + k % across, columns);
      return self.at(window.plane() + y * columns + x);
    });
    return total / S(divisor_override.value_or(down * across));
  }
};

const EnrolledReference avg_pool2d_reference{reference<ops::avg_pool2d, AvgPool2d>()};

const EnrolledWrong avg_pool2d_wrong[] = {
    EnrolledWrong{wrong_formula<ops::avg_pool2d, DividedByTheWindow>(
        "divided_by_the_window", "counts what a window has after the padding, too (ceil_mode)")},
    EnrolledWrong{wrong_formula<ops::avg_pool2d, PaddedByThePlane<false>>(
        "padded_by_the_edge", "pads with the elements at the plane's border, instead of zeros")},
    EnrolledWrong{wrong_formula<ops::avg_pool2d, PaddedByThePlane<true>>(
        "padded_by_reflection", "pads with the plane reflected at its border, instead of zeros")}};

}  // namespace
}  // namespace assay
