// Rows of numbers brought to mean 0 and variance 1: what layer and group norm share.
//
// The idea: the threads of a row (rows.h) hold it in registers, so that memory is read once: the sum, the squared
// distances from the mean, the results. A row that is too long for that is read three times. One pass that keeps sums of x
// and x^2 would lose the variance where the mean is far from zero. Rows that are not whole vectors in at most two
// dimensions go through a kernel of their own, element by element, three times as well.
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
  const Space<operands> places(row);
  whole = whole && row.rank <= 2 && places.narrow;
  return {Space<operands>(rows), places, Space<2>(cpu::row_major_space(numbers, 2, 0, first)),
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

// Where the vector from element j of a row lies in operand k, in rows that are whole vectors.
template <int operands>
__device__ __forceinline__ std::int64_t vector_place(const Space<operands>& row, int k, std::int64_t j) {
  if (row.rank == 1) return j * row.stride[k][0];
  const std::int64_t outer = row.by_size[0].quotient(static_cast<std::uint32_t>(j));
  return (j - outer * row.size[0]) * row.stride[k][0] + outer * row.stride[k][1];
}

// The vector from there. Along dimension 0 elements are neighbours, or a weight repeats.
template <class T>
__device__ __forceinline__ void load_piece(Compute<T>* x, const T* from, std::int64_t step, bool vectors) {
  constexpr int width = Vector<T>::size;
  if (vectors && step == 1) {
    const Vector<T> v = load_vector(from);
    ASSAY_UNROLL
    for (int e = 0; e < width; ++e) x[e] = widened(v.element[e]);
  } else {
    ASSAY_UNROLL
    for (int e = 0; e < width; ++e) x[e] = widened(from[e * step]);
  }
}

template <class T>
__device__ __forceinline__ void store_piece(T* to, const Vector<T>& y, bool vectors) {
  if (vectors) return store_vector(to, y);
  ASSAY_UNROLL
  for (int e = 0; e < Vector<T>::size; ++e) to[e] = y.element[e];
}

// One result.
template <class C>
__device__ __forceinline__ C normalised(C x, C mean, C rstd, bool weighs, C weight, bool adds, C bias) {
  C value = (x - mean) * rstd;
  if (weighs) value = value * weight;
  if (adds) value = value + bias;
  return value;
}

// Operands are out, input, weight, bias.
template <class T>
struct Normalised {
  T* out;
  const T *input, *weight, *bias;
  T *mean, *rstd;
  Compute<T> eps;

  __device__ void store_numbers(const Space<2>& numbers, std::int64_t i, Compute<T> of_mean,
                                Compute<T> of_rstd) const {
    std::int64_t number[2];
    numbers.locate(i, number);
    mean[number[0]] = narrowed<T>(of_mean);
    rstd[number[1]] = narrowed<T>(of_rstd);
  }
};

// Rows of whole vectors, in registers if they fit.
// Budget: 122 registers, 28 bytes spilled, 1.00 sectors, 1.00 passes.
template <class T>
__global__ void __launch_bounds__(kRowThreads) normalise_vectors_kernel(Normalised<T> of, NormRows<4> plan) {
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
    if (i < plan.rows.count) plan.rows.locate(i, at);
    C x[held], mean = 0, rstd = 0;
    // The mean, the squared distances from it, the results.
    for (int pass = 0; pass < 3; ++pass) {
      C sum = 0;
      for (std::int64_t first = 0; group.element(first, 0, width) < mine; first += kRowPieces) {
        if (pass == 0 || !fits) {
          ASSAY_UNROLL
          for (int p = 0; p < kRowPieces; ++p) {
            const std::int64_t j = group.element(first + p, 0, width);
            if (j < mine)
              load_piece(x + p * width, of.input + at[1] + vector_place(plan.row, 1, j), 1, vectors);
          }
        }
        if (pass < 2) {
          ASSAY_UNROLL
          for (int e = 0; e < held; ++e)
            if (group.element(first + e / width, 0, width) < mine)
              sum += pass == 0 ? x[e] : (x[e] - mean) * (x[e] - mean);
          continue;
        }
        ASSAY_UNROLL
        for (int p = 0; p < kRowPieces; ++p) {
          const std::int64_t j = group.element(first + p, 0, width);
          if (j >= mine) continue;
          const bool weighs = of.weight != nullptr, adds = of.bias != nullptr;
          C w[width] = {}, b[width] = {};
          if (weighs)
            load_piece(w, of.weight + at[2] + vector_place(plan.row, 2, j), plan.row.stride[2][0], vectors);
          if (adds)
            load_piece(b, of.bias + at[3] + vector_place(plan.row, 3, j), plan.row.stride[3][0], vectors);
          Vector<T> y;
          ASSAY_UNROLL
          for (int e = 0; e < width; ++e)
            y.element[e] = narrowed<T>(normalised(x[p * width + e], mean, rstd, weighs, w[e], adds, b[e]));
          store_piece(of.out + at[0] + vector_place(plan.row, 0, j), y, vectors);
        }
      }
      if (pass == 2) continue;
      sum = group.combined(Addition(), sum) / static_cast<C>(n);
      if (pass == 0)
        mean = sum;
      else
        rstd = C(1) / sqrt_of(sum + of.eps);
    }
    if (group.lane == 0 && i < plan.rows.count) of.store_numbers(plan.numbers, i, mean, rstd);
  }
}

// Rows of any strides.
// Budget: 60 registers, 1.22 sectors, 1.00 passes.
template <class T>
__global__ void __launch_bounds__(kRowThreads) normalise_elements_kernel(Normalised<T> of, NormRows<4> plan) {
  using C = Compute<T>;
  const RowGroup group(false, plan.access);
  const std::int64_t n = plan.row.count, step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  for (std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.y; start < plan.rows.count;
       start += step) {
    const std::int64_t i = start + threadIdx.y, mine = i < plan.rows.count ? n : 0;
    std::int64_t at[4] = {}, place[4];
    if (i < plan.rows.count) plan.rows.locate(i, at);
    C mean = 0, rstd = 0;
    for (int pass = 0; pass < 3; ++pass) {
      C sum = 0;
      for (std::int64_t j = group.lane; j < mine; j += group.lanes) {
        plan.row.locate(j, place);
        const C x = widened(of.input[at[1] + place[1]]);
        if (pass < 2) {
          sum += pass == 0 ? x : (x - mean) * (x - mean);
          continue;
        }
        const bool weighs = of.weight != nullptr, adds = of.bias != nullptr;
        const C w = weighs ? widened(of.weight[at[2] + place[2]]) : C(0);
        const C b = adds ? widened(of.bias[at[3] + place[3]]) : C(0);
        of.out[at[0] + place[0]] = narrowed<T>(normalised(x, mean, rstd, weighs, w, adds, b));
      }
      if (pass == 2) continue;
      sum = group.combined(Addition(), sum) / static_cast<C>(n);
      if (pass == 0)
        mean = sum;
      else
        rstd = C(1) / sqrt_of(sum + of.eps);
    }
    if (group.lane == 0 && i < plan.rows.count) of.store_numbers(plan.numbers, i, mean, rstd);
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
    const Normalised<T> of{out.as<T>(),
                           input.as<T>(),
                           weight.as<T>(),
                           bias.as<T>(),
                           mean.as<T>(),
                           rstd.as<T>(),
                           static_cast<Compute<T>>(eps)};
    if (plan.access == Access::strided)
      launch<normalise_elements_kernel<T>>(shape.grid, shape.block, 0, of, plan);
    else
      launch<normalise_vectors_kernel<T>>(shape.grid, shape.block, 0, of, plan);
  });
}

}  // namespace ASSAY_CUDA_BACKEND
}  // namespace assay::cuda
