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

// Operands are grad_input, grad, input, weight.
template <class T>
struct LayerNormInput {
  T* out;
  const T *grad, *input, *weight, *mean, *rstd;

  __device__ void load_numbers(const Space<2>& numbers, std::int64_t i, Compute<T>& of_mean,
                               Compute<T>& of_rstd) const {
    std::int64_t number[2];
    numbers.locate(i, number);
    of_mean = widened(mean[number[0]]);
    of_rstd = widened(rstd[number[1]]);
  }
};

// Rows of whole vectors, in registers if they fit.
// Budget: 128 registers, 1.02 sectors, 1.00 passes.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    layer_norm_input_vectors_kernel(LayerNormInput<T> of, NormRows<4> plan) {
  using C = Compute<T>;
  constexpr int width = Vector<T>::size, held = kRowPieces * width;
  const RowGroup group(false, plan.access);
  const bool vectors = plan.access == Access::vectors;
  const std::int64_t n = plan.row.count, step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  const bool fits = n <= static_cast<std::int64_t>(held) * group.lanes;
  for (std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.y; start < plan.rows.count;
       start += step) {
    const std::int64_t i = start + threadIdx.y, mine = i < plan.rows.count ? n : 0;
    std::int64_t at[4] = {};
    C mean = 0, rstd = 0;
    if (mine > 0) {
      plan.rows.locate(i, at);
      of.load_numbers(plan.numbers, i, mean, rstd);
    }
    C g[held], x[held], mean_g = 0, mean_gx = 0;
    // The means of g and g * x, the results.
    for (int pass = 0; pass < 2; ++pass) {
      C sum_g = 0, sum_gx = 0;
      for (std::int64_t first = 0; group.element(first, 0, width) < mine; first += kRowPieces) {
        ASSAY_UNROLL
        for (int p = 0; p < kRowPieces; ++p) {
          const std::int64_t j = group.element(first + p, 0, width);
          if (j >= mine || (pass == 1 && fits)) continue;
          load_piece(g + p * width, of.grad + at[1] + vector_place(plan.row, 1, j), 1, vectors);
          load_piece(x + p * width, of.input + at[2] + vector_place(plan.row, 2, j), 1, vectors);
          C w[width] = {};
          if (of.weight != nullptr)
            load_piece(w, of.weight + at[3] + vector_place(plan.row, 3, j), plan.row.stride[3][0], vectors);
          ASSAY_UNROLL
          for (int e = 0; e < width; ++e) {
            if (of.weight != nullptr) g[p * width + e] *= w[e];
            x[p * width + e] = (x[p * width + e] - mean) * rstd;
          }
        }
        ASSAY_UNROLL
        for (int p = 0; p < kRowPieces; ++p) {
          const std::int64_t j = group.element(first + p, 0, width);
          if (j >= mine) continue;
          Vector<T> y;
          ASSAY_UNROLL
          for (int e = p * width; e < (p + 1) * width; ++e) {
            if (pass == 0) {
              sum_g += g[e];
              sum_gx += g[e] * x[e];
            } else {
              y.element[e - p * width] = narrowed<T>(rstd * ((g[e] - mean_g) - x[e] * mean_gx));
            }
          }
          if (pass == 1) store_piece(of.out + at[0] + vector_place(plan.row, 0, j), y, vectors);
        }
      }
      if (pass == 1) continue;
      mean_g = group.combined(Addition(), sum_g) / static_cast<C>(n);
      mean_gx = group.combined(Addition(), sum_gx) / static_cast<C>(n);
    }
  }
}

// Rows of any strides.
// Budget: 58 registers, 1.21 sectors, 1.00 passes.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    layer_norm_input_elements_kernel(LayerNormInput<T> of, NormRows<4> plan) {
  using C = Compute<T>;
  const RowGroup group(false, plan.access);
  const std::int64_t n = plan.row.count, step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  for (std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.y; start < plan.rows.count;
       start += step) {
    const std::int64_t i = start + threadIdx.y, mine = i < plan.rows.count ? n : 0;
    std::int64_t at[4] = {}, place[4];
    C mean = 0, rstd = 0;
    if (mine > 0) {
      plan.rows.locate(i, at);
      of.load_numbers(plan.numbers, i, mean, rstd);
    }
    C mean_g = 0, mean_gx = 0;
    for (int pass = 0; pass < 2; ++pass) {
      C sum_g = 0, sum_gx = 0;
      for (std::int64_t j = group.lane; j < mine; j += group.lanes) {
        plan.row.locate(j, place);
        C g = widened(of.grad[at[1] + place[1]]);
        if (of.weight != nullptr) g *= widened(of.weight[at[3] + place[3]]);
        const C x = (widened(of.input[at[2] + place[2]]) - mean) * rstd;
        if (pass == 1) {
          of.out[at[0] + place[0]] = narrowed<T>(rstd * ((g - mean_g) - x * mean_gx));
          continue;
        }
        sum_g += g;
        sum_gx += g * x;
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
// Budget: 32 registers, 1.04 sectors, 1.00 passes.
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
  const LayerNormInput<T> of{out.as<T>(),    grad.as<T>(), input.as<T>(),
                             weight.as<T>(), mean.as<T>(), rstd.as<T>()};
  if (plan.access == Access::strided)
    launch<layer_norm_input_elements_kernel<T>>(shape.grid, shape.block, 0, of, plan);
  else
    launch<layer_norm_input_vectors_kernel<T>>(shape.grid, shape.block, 0, of, plan);
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

constexpr const char* kLayerNormBackwardContract = ASSAY_CUDA_SUM "\n" ASSAY_CUDA_BY_LAYOUT;
constexpr assay_kernel layer_norm_backward_kernels[] = {
    ASSAY_CUDA(ops::native_layer_norm_backward, native_layer_norm_backward, kLayerNormBackwardContract)};
const Enrolled layer_norm_backward_enrolled{layer_norm_backward_kernels};

}  // namespace
}  // namespace assay::cuda
