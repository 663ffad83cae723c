// The gradient of a normalisation of the last dimensions.
//
// The idea: one pass over the rows gives all three results. A row's gradient and input are brought into the compute type;
// what the row adds to the gradients of weight and bias goes into sums that belong to a span of rows, at most sixteen, which
// are added at the end: their order depends on the shapes alone. Sums along a row are those of chains.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/layer_norm_backward.cpp"
#include "levels.h"

#include <numeric>
#include <vector>

#include "chains.h"
#include "ops/layer_norm.h"
#include "parallel.h"
#include "runs.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kRowSpans = 16;
constexpr std::int64_t kSpanGrain = 1 << 13;  // elements that are worth another thread

template <class T>
struct LayerNormBackward {
  using C = Compute<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  using Numbers = std::vector<C>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);

  const View &grad, &input;
  View* grad_input;               // nullptr if it is not asked for
  Numbers mean, rstd, weight;     // in row-major order; weight is empty if there is none
  Space rows;                     // of leading dimensions; operands 0 to 2 are grad, input, grad_input
  Space row;                      // of the last ones, with the same operands
  std::int64_t n = 0, width = 0;  // elements of a row, and with zeros after it up to whole vectors

  LayerNormBackward(const View& g, const View& in, const View& m, const View& r, const View* w, View* to,
                    int first)
      : grad(g), input(in), grad_input(to), mean(numbers<C>(m)), rstd(numbers<C>(r)) {
    if (input.rank() > kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
    const View* const views[] = {&grad, &input, grad_input};
    const int operands = grad_input == nullptr ? 2 : 3;
    rows = row_major_space(views, operands, 0, first);
    row = row_major_space(views, operands, first, input.rank());
    n = row.count;
    width = (n + lanes - 1) / lanes * lanes;
    if (w != nullptr) weight = numbers<C>(*w, lanes);
  }

  template <class Function>
  HWY_INLINE void each_vector(const Function& function) const {
    for (std::int64_t i = 0; i < width; i += lanes) function(i);
  }

  // g: the gradient of a row; x: its input, normalised in place. Adds to the sums.
  HWY_NOINLINE void accumulate(const C* g, C* x, std::int64_t number, C* grad_weight, C* grad_bias) const {
    const D d;
    const V centre = hn::Set(d, mean[static_cast<std::size_t>(number)]);
    const V scale = hn::Set(d, rstd[static_cast<std::size_t>(number)]);
    each_vector([&](std::int64_t i) HWY_ATTR {
      const V of_result = hn::LoadU(d, g + i);
      const V normalised = hn::Mul(hn::Sub(hn::LoadU(d, x + i), centre), scale);
      hn::StoreU(normalised, d, x + i);
      hn::StoreU(hn::Add(hn::LoadU(d, grad_bias + i), of_result), d, grad_bias + i);
      hn::StoreU(hn::Add(hn::LoadU(d, grad_weight + i), hn::Mul(of_result, normalised)), d, grad_weight + i);
    });
  }
  // The gradient of the row's input, from that of its result and the normalised input, in place of the former.
  HWY_NOINLINE void differentiate(C* g, const C* x, std::int64_t number) const {
    const D d;
    const V scale = hn::Set(d, rstd[static_cast<std::size_t>(number)]);
    const auto count = static_cast<C>(n);
    if (!weight.empty())
      each_vector([&](std::int64_t i) HWY_ATTR {
        hn::StoreU(hn::Mul(hn::LoadU(d, g + i), hn::LoadU(d, weight.data() + i)), d, g + i);
      });
    const auto load = [&](const C* from, std::int64_t i) HWY_ATTR { return hn::LoadU(d, from + i); };
    const C sum_g = chained_sum<C>(n, [&](std::int64_t i, std::int64_t) HWY_ATTR { return load(g, i); });
    const C sum_gx = chained_sum<C>(
        n, [&](std::int64_t i, std::int64_t) HWY_ATTR { return hn::Mul(load(g, i), load(x, i)); });
    const V mean_g = hn::Set(d, sum_g / count), mean_gx = hn::Set(d, sum_gx / count);
    each_vector([&](std::int64_t i) HWY_ATTR {
      const V rest = hn::Sub(hn::Sub(load(g, i), mean_g), hn::Mul(load(x, i), mean_gx));
      hn::StoreU(hn::Mul(scale, rest), d, g + i);
    });
  }

  void run(View* grad_weight, View* grad_bias) const {
    const std::int64_t spans = HWY_MIN(kRowSpans, HWY_MAX(rows.count, std::int64_t{1}));
    Numbers sums(static_cast<std::size_t>(2 * spans * width));  // [weight or bias][span][element]
    const auto sums_of = [&](std::int64_t which, std::int64_t span) {
      return sums.data() + (which * spans + span) * width;
    };
    const auto of_span = [&](std::int64_t span) HWY_ATTR {
      const std::int64_t begin = rows.count * span / spans, end = rows.count * (span + 1) / spans;
      if (begin == end || n == 0) return;
      Numbers g(static_cast<std::size_t>(width)), x(static_cast<std::size_t>(width));
      std::int64_t number = begin;
      for (Runs run(rows, begin, end); !run.done(); run.next())
        for (std::int64_t i = 0; i < run.length; ++i, ++number) {
          const auto offset = [&](std::size_t k) { return run.offset[k] + i * rows.step(k); };
          move_in(g.data(), row, 0, 0, n, grad.as<const T>() + offset(0), grad.type(), grad.type());
          move_in(x.data(), row, 1, 0, n, input.as<const T>() + offset(1), input.type(), input.type());
          accumulate(g.data(), x.data(), number, sums_of(0, span), sums_of(1, span));
          if (grad_input == nullptr) continue;
          differentiate(g.data(), x.data(), number);
          move_out(g.data(), row, 2, 0, n, grad_input->as<T>() + offset(2), grad_input->type());
        }
    };
    parallel_for(spans, 1 + kSpanGrain * spans / (rows.count * n + 1),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   for (std::int64_t span = begin; span < end; ++span) of_span(span);
                 });
    store(grad_weight, sums_of(0, 0), spans);
    store(grad_bias, sums_of(1, 0), spans);
  }

  void store(View* to, C* sums, std::int64_t spans) const {
    if (to == nullptr || n == 0) return;
    for (std::int64_t span = 1; span < spans; ++span)
      for (std::int64_t k = 0; k < n; ++k) sums[k] += sums[span * width + k];
    const View* const views[] = {to};
    move_out(sums, row_major_space(views, 1, 0, to->rank()), 0, 0, n, to->data, to->type());
  }
};

void native_layer_norm_backward(const View& grad_out, const View& input,
                                std::span<const std::int64_t> normalized_shape, const View& mean,
                                const View& rstd, const View* weight, const View* /*bias*/,
                                std::span<const std::int64_t> output_mask, View& grad_input,
                                View& grad_weight, View& grad_bias) {
  const int first = input.rank() - static_cast<int>(normalized_shape.size());
  const auto asked = [&](std::size_t result, View& view) {
    return output_mask[result] != 0 ? &view : nullptr;
  };
  ASSAY_CPU_WITH_ELEMENT(
      input.type(), T,
      LayerNormBackward<T>(grad_out, input, mean, rstd, weight, asked(0, grad_input), first)
          .run(asked(1, grad_weight), asked(2, grad_bias)));
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kContract =
    "chain=blocked(16) -- optimized/cpu/chains.h, and optimized/cpu/layer_norm_backward.cpp: sixteen spans of rows";
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::native_layer_norm_backward, native_layer_norm_backward, kContract)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
