// Rows of numbers brought to mean 0 and variance 1: what layer and group norm share.
//
// The idea: the threads of a row (rows.h) hold it in registers, so that memory is read once: the sum, the squared
// distances from the mean, the results. A row that is too long for that is read three times. One pass that keeps sums of x
// and x^2 would lose the variance where the mean is far from zero.
#pragma once

#include "elementary.h"
#include "rows.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Where rows and their elements lie: `rows` numbers them in row-major order, `row` as its elements lie in operand 0.
template <int operands>
struct NormRows {
  Space<operands> rows, row;
  Space<2> numbers;  // of each row: its mean and rstd
  Access access;
};

// The first dimensions of a view, and the others.
inline View leading(const View& v, int dimensions) {
  View front = v;
  front.ndim = dimensions;
  return front;
}
inline View trailing(const View& v, int dimensions) {
  View back = v;
  back.ndim -= dimensions;
  back.shape += dimensions;
  back.strides += dimensions;
  return back;
}

// A tensor of weights, or none, with dimensions of size 1 around its own.
class Weights {
 public:
  Weights(const View* weight, const View& like, int before) {
    view_ = like;
    view_.data = weight == nullptr ? nullptr : weight->data;
    view_.shape = shape_.data();
    view_.strides = strides_.data();
    shape_.fill(1);
    strides_.fill(0);
    for (int d = 0; weight != nullptr && d < weight->rank(); ++d) {
      shape_[static_cast<std::size_t>(before + d)] = weight->size(d);
      strides_[static_cast<std::size_t>(before + d)] = weight->stride(d);
    }
  }
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;
  const View& view() const { return view_; }

 private:
  View view_;
  std::array<std::int64_t, cpu::kMaxRank> shape_, strides_;
};

// Operands are the first result, `moving` tensors of its shape with it, and weights that may repeat.
template <class T, int operands>
NormRows<operands> norm_rows(const View* const (&views)[operands], int moving, int first, const View& mean,
                             const View& rstd) {
  constexpr std::int64_t width = Vector<T>::size;
  View fronts[operands], backs[operands];
  const View *front[operands], *back[operands];
  bool aligned = true;
  for (int k = 0; k < operands; ++k) {
    fronts[k] = leading(*views[k], first);
    backs[k] = trailing(*views[k], first);
    front[k] = &fronts[k];
    back[k] = &backs[k];
    aligned = aligned && reinterpret_cast<std::uintptr_t>(views[k]->data) % 16 == 0;
  }
  const cpu::Space rows = cpu::row_major_space(front, operands, 0, first),
                   row = cpu::make_space(back, operands);
  const View* const numbers[] = {&mean, &rstd};
  bool whole =
      steps_in_vectors(rows, 0, operands, width, false) && steps_in_vectors(row, 0, moving, width, true);
  for (std::size_t k = static_cast<std::size_t>(moving); whole && k < operands; ++k) {
    whole = row.stride[k][0] == 0 || row.stride[k][0] == 1;
    for (std::size_t d = 1; d < static_cast<std::size_t>(row.rank); ++d)
      whole = whole && row.stride[k][d] % width == 0;
  }
  // A weight for each of some vectors may start anywhere.
  return {Space<operands>(rows), Space<operands>(row), Space<2>(cpu::row_major_space(numbers, 2, 0, first)),
          !whole    ? Access::strided
          : aligned ? Access::vectors
                    : Access::pieces};
}

template <class T, int operands>
RowLaunch norm_launch(const NormRows<operands>& plan) {
  constexpr std::int64_t width = Vector<T>::size;
  const std::int64_t n = plan.row.count;
  return along_rows_of(n, plan.rows.count, plan.access == Access::strided ? n : n / width, width);
}

// Elements of operand k that a thread's piece p has, of which there are n.
template <class T, int operands>
__device__ __forceinline__ void load_piece(Compute<T>* x, const T* from, int k,
                                           const NormRows<operands>& plan, const RowGroup& group,
                                           std::int64_t p, std::int64_t n) {
  constexpr int width = Vector<T>::size;
  std::int64_t offset[operands];
  if (group.access == Access::vectors && plan.row.stride[k][0] == 1) {
    const std::int64_t j = group.element(p, 0, width);
    if (j >= n) return;
    plan.row.locate(j, offset);
    const Vector<T> v = load_vector(from + offset[k]);
    ASSAY_UNROLL
    for (int e = 0; e < width; ++e) x[e] = widened(v.element[e]);
    return;
  }
  ASSAY_UNROLL
  for (int e = 0; e < width; ++e) {
    const std::int64_t j = group.element(p, e, width);
    if (j >= n) continue;
    plan.row.locate(j, offset);
    x[e] = widened(from[offset[k]]);
  }
}

template <class T, int operands>
__device__ __forceinline__ void store_piece(const Vector<T>& y, T* to, const NormRows<operands>& plan,
                                            const RowGroup& group, std::int64_t p, std::int64_t n) {
  constexpr int width = Vector<T>::size;
  std::int64_t offset[operands];
  ASSAY_UNROLL
  for (int e = 0; e < width; ++e) {
    const std::int64_t j = group.element(p, e, width);
    if (j >= n) continue;
    plan.row.locate(j, offset);
    if (group.access == Access::vectors) return store_vector(to + offset[0], y);
    to[offset[0]] = y.element[e];
  }
}

// Operands: out, input, weight, bias.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    normalise_kernel(T* out, const T* input, const T* weight, const T* bias, T* means, T* rstds,
                     NormRows<4> plan, Compute<T> eps) {
  using C = Compute<T>;
  constexpr int width = Vector<T>::size, held = kRowPieces * width;
  const RowGroup group(false, plan.access);
  const std::int64_t n = plan.row.count, step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  const bool fits = n <= static_cast<std::int64_t>(held) * group.lanes;
  for (std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.y; start < plan.rows.count;
       start += step) {
    const std::int64_t i = start + threadIdx.y, mine = i < plan.rows.count ? n : 0;
    std::int64_t at[4] = {};
    if (i < plan.rows.count) plan.rows.locate(i, at);
    C x[held], mean = 0, rstd = 0;
    // The mean, the squared distances from it, the results.
    for (int pass = 0; pass < 3; ++pass) {
      C sum = 0;
      for (std::int64_t first = 0; group.element(first, 0, width) < mine; first += kRowPieces) {
        if (pass == 0 || !fits) {
          ASSAY_UNROLL
          for (int p = 0; p < kRowPieces; ++p)
            load_piece(x + p * width, input + at[1], 1, plan, group, first + p, mine);
        }
        if (pass < 2) {
          ASSAY_UNROLL
          for (int e = 0; e < held; ++e)
            if (group.element(first + e / width, e % width, width) < mine)
              sum += pass == 0 ? x[e] : (x[e] - mean) * (x[e] - mean);
          continue;
        }
        ASSAY_UNROLL
        for (int p = 0; p < kRowPieces; ++p) {
          C w[width] = {}, b[width] = {};
          if (weight != nullptr) load_piece(w, weight + at[2], 2, plan, group, first + p, mine);
          if (bias != nullptr) load_piece(b, bias + at[3], 3, plan, group, first + p, mine);
          Vector<T> y;
          ASSAY_UNROLL
          for (int e = 0; e < width; ++e) {
            C value = (x[p * width + e] - mean) * rstd;
            if (weight != nullptr) value = value * w[e];
            if (bias != nullptr) value = value + b[e];
            y.element[e] = narrowed<T>(value);
          }
          store_piece(y, out + at[0], plan, group, first + p, mine);
        }
      }
      if (pass == 2) continue;
      sum = group.combined(Addition(), sum) / static_cast<C>(n);
      if (pass == 0)
        mean = sum;
      else
        rstd = C(1) / sqrt_of(sum + eps);
    }
    if (group.lane != 0 || i >= plan.rows.count) continue;
    std::int64_t number[2];
    plan.numbers.locate(i, number);
    means[number[0]] = narrowed<T>(mean);
    rstds[number[1]] = narrowed<T>(rstd);
  }
}

// The first `first` dimensions of input number rows, the others are a row; mean and rstd have those dimensions. Weights
// have input's rank. Precondition: at most kMaxRank dimensions.
inline void normalise(const View& input, const View& weight, const View& bias, int first, double eps,
                      const View& out, const View& mean, const View& rstd) {
  with_floating_point(out.type(), [&](auto element) {
    using T = decltype(element);
    const View* const views[] = {&out, &input, &weight, &bias};
    const NormRows<4> plan = norm_rows<T>(views, 2, first, mean, rstd);
    if (plan.rows.count == 0) return;
    const RowLaunch shape = norm_launch<T>(plan);
    launch<normalise_kernel<T>>(shape.grid, shape.block, 0, out.as<T>(), input.as<T>(), weight.as<T>(),
                                bias.as<T>(), mean.as<T>(), rstd.as<T>(), plan, static_cast<Compute<T>>(eps));
  });
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
