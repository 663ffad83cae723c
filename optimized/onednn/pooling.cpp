// max_pool2d and avg_pool2d by oneDNN's pooling primitive. The places that max_pool2d_with_indices asks for stay in its
// workspace, whose layout oneDNN does not document: there is no kernel for that one.
#include <span>

#include "operation.h"
#include "ops/avg_pool2d.h"
#include "ops/max_pool2d.h"

namespace assay::onednn {
namespace {

using dnnl::algorithm;
using Sizes = std::span<const std::int64_t>;

// key.numbers: strides, windows, dilations less one, padding before, padding after; each for both dimensions.
dnnl::primitive_desc_base build(const PrimitiveKey& key, const dnnl::engine& engine) {
  const auto part = [&](std::ptrdiff_t i) {
    return dnnl::memory::dims(key.numbers.begin() + 2 * i, key.numbers.begin() + 2 * i + 2);
  };
  const dnnl::pooling_v2_forward::desc desc(dnnl::prop_kind::forward_inference, key.algorithm,
                                            key.memories[0].make(), key.memories[1].make(), part(0), part(1),
                                            part(2), part(3), part(4));
  return dnnl::pooling_v2_forward::primitive_desc(desc, key.attributes.make(), engine);
}

// One dimension of the windows.
struct Axis {
  std::int64_t size, out, window, stride, padding, dilation;

  // What the last window reaches over after the image, less than 0 if it does not come to its end.
  std::int64_t behind() const { return (out - 1) * stride + (window - 1) * dilation + 1 - size - padding; }
  bool misses_the_image() const {
    for (std::int64_t o = 0; o < out; ++o) {
      bool seen = false;
      for (std::int64_t r = 0; r < window && !seen; ++r) {
        const std::int64_t at = o * stride - padding + r * dilation;
        seen = at >= 0 && at < size;
      }
      if (!seen) return true;
    }
    return false;
  }
};

void pool(const Level& level, algorithm how, const View& self, const std::array<Axis, 2>& axes, View& out) {
  refuse_integers(out);
  Operation operation(level, dnnl::primitive::kind::pooling_v2);
  operation.key.algorithm = how;
  operation.tensor(DNNL_ARG_SRC, self, with_rank(describe(self), 4));
  operation.tensor(DNNL_ARG_DST, out, with_rank(describe(out), 4));
  std::vector<std::int64_t>& numbers = operation.key.numbers;
  for (const Axis& a : axes) numbers.push_back(a.stride);
  for (const Axis& a : axes) numbers.push_back(a.window);
  for (const Axis& a : axes) numbers.push_back(a.dilation - 1);
  for (const Axis& a : axes) numbers.push_back(a.padding);
  for (const Axis& a : axes) numbers.push_back(a.behind());
  operation.run(build);
}

std::array<Axis, 2> axes_of(const View& self, const View& out, Sizes window, Sizes stride, Sizes padding,
                            Sizes dilation) {
  std::array<Axis, 2> axes;
  for (std::size_t d = 0; d < 2; ++d) {
    const auto of = [d](Sizes list) { return list.size() == 1 ? list[0] : list[d]; };
    const int at = self.rank() - 2 + static_cast<int>(d);
    axes[d] = {self.size(at), out.size(at),
               of(window),    of(stride.empty() ? window : stride),
               of(padding),   dilation.empty() ? 1 : of(dilation)};
  }
  return axes;
}

void max_pool2d(const Level& level, const View& self, Sizes kernel_size, Sizes stride, Sizes padding,
                Sizes dilation, bool /*ceil_mode*/, View& out) {
  const std::array<Axis, 2> axes = axes_of(self, out, kernel_size, stride, padding, dilation);
  for (const Axis& a : axes)
    if (a.misses_the_image()) throw Refused("oneDNN does not say what a window without elements gives");
  pool(level, algorithm::pooling_max, self, axes, out);
}

void avg_pool2d(const Level& level, const View& self, Sizes kernel_size, Sizes stride, Sizes padding,
                bool /*ceil_mode*/, bool count_include_pad, std::optional<std::int64_t> divisor_override,
                View& out) {
  const std::array<Axis, 2> axes = axes_of(self, out, kernel_size, stride, padding, {});
  if (divisor_override) throw Refused("oneDNN divides by numbers of elements alone");
  if (count_include_pad)
    for (const Axis& a : axes)
      if (a.behind() > a.padding)
        throw Refused("oneDNN counts all of a window's elements, those that ceil_mode adds, too");
  pool(level,
       count_include_pad ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding,
       self, axes, out);
}

constexpr std::string_view kMaximum =
    "signed_zero=ignore nonfinite=unspecified -- oneDNN src/cpu/ref_pooling.cpp, ker_max: s > d, from the lowest "
    "finite number; MAXPS in src/cpu/x64/jit_uni_pool_kernel.cpp";
constexpr auto kMax = kJoined<kMaximum>;
constexpr auto kMaxBf16 = kJoined<kMaximum, kFlushedStore>;
constexpr auto kMeanBf16 = kJoined<kFlushedStore>;
constexpr const char* kSource = "optimized/onednn/pooling.cpp";

constexpr assay_kernel kernels[] = {
    kernel_at<ops::max_pool2d, max_pool2d, kSse41>(kMax, kSource),
    kernel_at<ops::max_pool2d, max_pool2d, kAvx2>(kMax, kSource),
    kernel_at<ops::max_pool2d, max_pool2d, kAvx512>(kMax, kSource),
    kernel_at<ops::max_pool2d, max_pool2d, kAvx512Bf16>(kMaxBf16, kSource),
    kernel_at<ops::avg_pool2d, avg_pool2d, kSse41>(nullptr, kSource),
    kernel_at<ops::avg_pool2d, avg_pool2d, kAvx2>(nullptr, kSource),
    kernel_at<ops::avg_pool2d, avg_pool2d, kAvx512>(nullptr, kSource),
    kernel_at<ops::avg_pool2d, avg_pool2d, kAvx512Bf16>(kMeanBf16, kSource),
};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::onednn
