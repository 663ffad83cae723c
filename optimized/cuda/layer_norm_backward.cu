// The gradient of a normalisation of the last dimensions.
//
// The idea: that of the input is computed row by row, by threads that hold both rows in registers (normalise.h). Those of
// weight and bias are sums over rows, for which reduce.h goes down columns: with each row's mean and rstd side by side in
// scratch memory, where its number finds them.
#include "ops/layer_norm.h"

#include "contracts.h"
#include "normalise.h"
#include "reduce.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Operands: grad_input, grad, input, weight.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    layer_norm_input_kernel(T* out, const T* grad, const T* input, const T* weight, const T* means,
                            const T* rstds, NormRows<4> plan) {
  using C = Compute<T>;
  constexpr int width = Vector<T>::size, held = kRowPieces * width;
  const RowGroup group(false, plan.access);
  const std::int64_t n = plan.row.count, step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  const bool fits = n <= static_cast<std::int64_t>(held) * group.lanes;
  for (std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.y; start < plan.rows.count;
       start += step) {
    const std::int64_t i = start + threadIdx.y, mine = i < plan.rows.count ? n : 0;
    std::int64_t at[4] = {};
    C mean = 0, rstd = 0;
    if (mine > 0) {
      plan.rows.locate(i, at);
      std::int64_t number[2];
      plan.numbers.locate(i, number);
      mean = widened(means[number[0]]);
      rstd = widened(rstds[number[1]]);
    }
    C g[held], x[held], mean_g = 0, mean_gx = 0;
    // The means of g and g * x, the results.
    for (int pass = 0; pass < 2; ++pass) {
      C sum_g = 0, sum_gx = 0;
      for (std::int64_t first = 0; group.element(first, 0, width) < mine; first += kRowPieces) {
        if (pass == 0 || !fits) {
          ASSAY_UNROLL
          for (int p = 0; p < kRowPieces; ++p) {
            load_piece(g + p * width, grad + at[1], 1, plan, group, first + p, mine);
            load_piece(x + p * width, input + at[2], 2, plan, group, first + p, mine);
            C w[width] = {};
            if (weight != nullptr) load_piece(w, weight + at[3], 3, plan, group, first + p, mine);
            ASSAY_UNROLL
            for (int e = 0; e < width; ++e) {
              if (group.element(first + p, e, width) >= mine) continue;
              if (weight != nullptr) g[p * width + e] *= w[e];
              x[p * width + e] = (x[p * width + e] - mean) * rstd;
            }
          }
        }
        if (pass == 0) {
          ASSAY_UNROLL
          for (int e = 0; e < held; ++e) {
            if (group.element(first + e / width, e % width, width) >= mine) continue;
            sum_g += g[e];
            sum_gx += g[e] * x[e];
          }
          continue;
        }
        ASSAY_UNROLL
        for (int p = 0; p < kRowPieces; ++p) {
          if (group.element(first + p, 0, width) >= mine) continue;
          Vector<T> y;
          ASSAY_UNROLL
          for (int e = 0; e < width; ++e) {
            const C rest = (g[p * width + e] - mean_g) - x[p * width + e] * mean_gx;
            y.element[e] = narrowed<T>(rstd * rest);
          }
          store_piece(y, out + at[0], plan, group, first + p, mine);
        }
      }
      if (pass == 1) continue;
      mean_g = group.combined(Addition(), sum_g) / static_cast<C>(n);
      mean_gx = group.combined(Addition(), sum_gx) / static_cast<C>(n);
    }
  }
}

// Which dimensions number rows. Axes cannot say none.
struct Leading {
  int count;
  bool contains(int dimension) const { return dimension < count; }
};

// Each row's mean and rstd, in row-major order.
template <class T>
__global__ void layer_norm_numbers_kernel(Compute<T>* to, const T* means, const T* rstds, Space<2> numbers) {
  for (std::int64_t i = global_thread(); i < numbers.count; i += global_threads()) {
    std::int64_t number[2];
    numbers.locate(i, number);
    to[2 * i] = widened(means[number[0]]);
    to[2 * i + 1] = widened(rstds[number[1]]);
  }
}

// Over rows: of grad * x, or, for the bias, of grad.
template <class T>
struct LayerNormSum : Addition {
  using State = Compute<T>;
  const State* numbers;
  T* out;
  bool of_bias;

  LayerNormSum(const State* of_rows, T* to, bool bias) : numbers(of_rows), out(to), of_bias(bias) {}
  __device__ void add(State& s, std::int64_t row, State grad, State input) const {
    s += of_bias ? grad : grad * ((input - numbers[2 * row]) * numbers[2 * row + 1]);
  }
  __device__ void store(std::int64_t, std::int64_t offset, State s, std::int64_t) const {
    out[offset] = narrowed<T>(s);
  }
};

template <class T>
void layer_norm_input(const View& grad, const View& input, const View& weight, int first, const View& mean,
                      const View& rstd, const View& out) {
  const View* const views[] = {&out, &grad, &input, &weight};
  const NormRows<4> plan = norm_rows<T>(views, 3, first, mean, rstd);
  if (plan.rows.count == 0 || plan.row.count == 0) return;
  const RowLaunch shape = norm_launch<T>(plan);
  launch<layer_norm_input_kernel<T>>(shape.grid, shape.block, 0, out.as<T>(), grad.as<T>(), input.as<T>(),
                                     weight.as<T>(), mean.as<T>(), rstd.as<T>(), plan);
}

template <class T>
void layer_norm_weights(const View& grad, const View& input, int first, const View& mean, const View& rstd,
                        View* grad_weight, View* grad_bias) {
  const View* const of_numbers[] = {&mean, &rstd};
  const Space<2> numbers(cpu::row_major_space(of_numbers, 2, 0, first));
  const Scratch<Compute<T>> scratch(2 * numbers.count);
  if (grad_weight != nullptr && numbers.count > 0)
    launch<layer_norm_numbers_kernel<T>>(blocks_for(numbers.count, 256), 256, 0, scratch.data(), mean.as<T>(),
                                         rstd.as<T>(), numbers);
  for (View* out : {grad_weight, grad_bias}) {
    if (out == nullptr) continue;
    const bool bias = out == grad_bias;
    const View& other = bias ? grad : input;  // the bias does not look at the input
    const View* const in[] = {&grad, &other};
    const ReducePlan plan(*out, in, 2, Leading{first}, false, true);
    reduce<T>(LayerNormSum<T>(scratch.data(), out->as<T>(), bias), plan, grad, other);
  }
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void native_layer_norm_backward(const View& grad_out, const View& input,
                                std::span<const std::int64_t> normalized_shape, const View& mean,
                                const View& rstd, const View* weight, const View* /*bias*/,
                                std::span<const std::int64_t> output_mask, View& grad_input,
                                View& grad_weight, View& grad_bias) {
  if (input.rank() > cpu::kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
  const int first = input.rank() - static_cast<int>(normalized_shape.size());
  const Weights weights(weight, input, first);
  with_floating_point(input.type(), [&](auto element) {
    using T = decltype(element);
    if (output_mask[0] != 0)
      layer_norm_input<T>(grad_out, input, weights.view(), first, mean, rstd, grad_input);
    layer_norm_weights<T>(grad_out, input, first, mean, rstd, output_mask[1] != 0 ? &grad_weight : nullptr,
                          output_mask[2] != 0 ? &grad_bias : nullptr);
  });
}

constexpr const char* kContract = ASSAY_CUDA_SUM "\n" ASSAY_CUDA_BY_LAYOUT;
constexpr assay_kernel kernels[] = {
    ASSAY_CUDA(ops::native_layer_norm_backward, native_layer_norm_backward, kContract)};
const Enrolled enrolled{kernels};

}  // namespace
}  // namespace assay::cuda
