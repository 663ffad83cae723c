#include "ops/avg_pool2d.h"

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

const EnrolledReference avg_pool2d_reference{reference<ops::avg_pool2d, AvgPool2d>()};

const EnrolledWrong avg_pool2d_wrong[] = {EnrolledWrong{wrong_formula<ops::avg_pool2d, DividedByTheWindow>(
    "divided_by_the_window", "counts what a window has behind the padding, too (ceil_mode)")}};

}  // namespace
}  // namespace assay
