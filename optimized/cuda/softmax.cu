// Softmax along one dimension, its logarithm, and their gradients.
//
// The idea: the threads of a row (rows.h) hold it in registers, so that memory is read once: its maximum, the terms, their
// sum, the results. A row that is too long for that is read twice: the first time each thread keeps a maximum and the sum
// of its terms so far, which it scales when it meets a larger number; what is left of a scaled term is its
// exponential, with the roundings of a few more additions.
#include "ops/softmax.h"

#include "contracts.h"
#include "elementary.h"
#include "rows.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Softmax {
  static constexpr bool wants_maximum = true, keeps_terms = true;
  template <class C>
  __device__ static C term(C maximum, C x) {
    return exp_of(x - maximum);
  }
  template <class C>
  __device__ static C of_total(C total) {
    return total;
  }
  template <class C>
  __device__ static C result(C, C total, C term) {
    return term / total;
  }
};

struct LogSoftmax {
  static constexpr bool wants_maximum = true, keeps_terms = false;
  template <class C>
  __device__ static C term(C maximum, C x) {
    return exp_of(x - maximum);
  }
  template <class C>
  __device__ static C of_total(C total) {
    return log_of(total);
  }
  template <class C>
  __device__ static C result(C maximum, C log_total, C x) {
    return (x - maximum) - log_total;
  }
};

struct SoftmaxBackward {
  static constexpr bool wants_maximum = false, keeps_terms = false;
  template <class C>
  __device__ static C term(C, C grad, C output) {
    return grad * output;
  }
  template <class C>
  __device__ static C of_total(C total) {
    return total;
  }
  template <class C>
  __device__ static C result(C, C total, C grad, C output) {
    return (grad - total) * output;
  }
};

struct LogSoftmaxBackward {
  static constexpr bool wants_maximum = false, keeps_terms = false;
  template <class C>
  __device__ static C term(C, C grad, C) {
    return grad;
  }
  template <class C>
  __device__ static C of_total(C total) {
    return total;
  }
  template <class C>
  __device__ static C result(C, C total, C grad, C output) {
    return grad - exp_of(output) * total;
  }
};

// Pieces from `first` of a thread: as many as it holds.
template <class T, std::size_t inputs>
__device__ __forceinline__ void load_pieces(Compute<T> (&x)[inputs][kRowPieces * Vector<T>::size],
                                            const RowGroup& group, const Sources<inputs>& in,
                                            const std::int64_t* at, const std::int64_t* step, std::int64_t n,
                                            std::int64_t first) {
  constexpr int width = Vector<T>::size;
  ASSAY_UNROLL
  for (std::size_t k = 0; k < inputs; ++k) {
    ASSAY_UNROLL
    for (int p = 0; p < kRowPieces; ++p) {
      if (group.access == Access::vectors) {
        const std::int64_t j = group.element(first + p, 0, width);
        if (j >= n) continue;
        const Vector<T> v = load_vector(static_cast<const T*>(in.data[k]) + at[k + 1] + j);
        ASSAY_UNROLL
        for (int e = 0; e < width; ++e) x[k][p * width + e] = widened(v.element[e]);
      } else {
        ASSAY_UNROLL
        for (int e = 0; e < width; ++e) {
          const std::int64_t j = group.element(first + p, e, width);
          if (j < n) x[k][p * width + e] = load_one<T>(in.data[k], in.type[k], at[k + 1] + j * step[k + 1]);
        }
      }
    }
  }
}

template <class Op, class C, int held, std::size_t... k>
__device__ __forceinline__ C softmax_term(C maximum, const C (&x)[sizeof...(k)][held], int e,
                                          std::index_sequence<k...>) {
  return Op::term(maximum, x[k][e]...);
}

// Stores the results of pieces from `first`. `terms`: x[0] holds terms already.
template <class T, class Op, std::size_t... k>
__device__ __forceinline__ void store_pieces(
    const Compute<T> (&x)[sizeof...(k)][kRowPieces * Vector<T>::size], const RowGroup& group, T* out,
    std::int64_t step, std::int64_t n, std::int64_t first, Compute<T> maximum, Compute<T> total, bool terms) {
  constexpr int width = Vector<T>::size;
  ASSAY_UNROLL
  for (int p = 0; p < kRowPieces; ++p) {
    if (group.element(first + p, 0, width) >= n) continue;
    Vector<T> y;
    ASSAY_UNROLL
    for (int e = 0; e < width; ++e) {
      const int i = p * width + e;
      if constexpr (Op::keeps_terms)
        y.element[e] = narrowed<T>(Op::result(maximum, total, terms ? x[0][i] : Op::term(maximum, x[0][i])));
      else
        y.element[e] = narrowed<T>(Op::result(maximum, total, x[k][i]...));
    }
    if (group.access == Access::vectors) {
      store_vector(out + group.element(first + p, 0, width), y);
      continue;
    }
    ASSAY_UNROLL
    for (int e = 0; e < width; ++e) {
      const std::int64_t j = group.element(first + p, e, width);
      if (j < n) out[j * step] = y.element[e];
    }
  }
}

// Budget: 128 registers, 1.00 sectors, 1.00 passes.
template <class T, class Op, std::size_t... k>
__global__ void __launch_bounds__(kRowThreads)
    softmax_kernel(T* out, Sources<sizeof...(k)> in, Rows<sizeof...(k) + 1> plan) {
  using C = Compute<T>;
  constexpr int width = Vector<T>::size, held = kRowPieces * width;
  constexpr std::index_sequence<k...> inputs{};
  const RowGroup group(plan.across, plan.access);
  const std::int64_t beside = plan.across ? blockDim.x : blockDim.y;
  const std::int64_t step = beside * gridDim.x, n = plan.n;
  const bool fits = n <= static_cast<std::int64_t>(held) * group.lanes;
  // All threads of a block go round equally often, for they meet in what they combine.
  for (std::int64_t row = beside * blockIdx.x; row < plan.rows.count; row += step) {
    const std::int64_t i = row + (plan.across ? threadIdx.x : threadIdx.y);
    const std::int64_t mine = i < plan.rows.count ? n : 0;
    std::int64_t at[sizeof...(k) + 1] = {};
    if (mine > 0) plan.rows.locate(i, at);
    C x[sizeof...(k)][held];
    C maximum = Larger().identity<C>(), total = 0;
    for (std::int64_t first = 0; first == 0 || group.element(first, 0, width) < mine; first += kRowPieces) {
      load_pieces<T>(x, group, in, at, plan.step, mine, first);
      if constexpr (Op::wants_maximum) {
        C largest = maximum;
        ASSAY_UNROLL
        for (int e = 0; e < held; ++e)
          if (group.element(first + e / width, e % width, width) < mine)
            largest = Larger().combine(x[0][e], largest);
        if (fits) largest = group.combined(Larger(), largest);
        if (largest > maximum) total *= Op::term(largest, maximum);
        maximum = largest;
      }
      ASSAY_UNROLL
      for (int e = 0; e < held; ++e) {
        if (group.element(first + e / width, e % width, width) >= mine) continue;
        const C term = softmax_term<Op>(maximum, x, e, inputs);
        // -inf, where nothing larger has come yet, adds nothing beside what may come.
        const bool nothing = Op::wants_maximum && !fits && x[0][e] == Larger().identity<C>();
        total += nothing ? C(0) : term;
        if constexpr (Op::keeps_terms)
          if (fits) x[0][e] = term;
      }
    }
    if constexpr (Op::wants_maximum) {
      if (!fits) {
        const C largest = group.combined(Larger(), maximum);
        if (largest > maximum) total *= Op::term(largest, maximum);
        maximum = largest;
      }
    }
    total = Op::of_total(group.combined(Addition(), total));
    T* const to = out + at[0];
    if (fits) {
      store_pieces<T, Op, k...>(x, group, to, plan.step[0], mine, 0, maximum, total, true);
      continue;
    }
    for (std::int64_t first = 0; group.element(first, 0, width) < mine; first += kRowPieces) {
      load_pieces<T>(x, group, in, at, plan.step, mine, first);
      store_pieces<T, Op, k...>(x, group, to, plan.step[0], mine, first, maximum, total, false);
    }
  }
}

template <class T, class Op, std::size_t... k>
void softmax_as(const View* const* views, std::int64_t dim, std::index_sequence<k...>) {
  Rows<sizeof...(k) + 1> plan;
  const RowLaunch shape = plan_rows<T>(plan, views, dim);
  if (plan.n == 0 || plan.rows.count == 0) return;
  const Sources<sizeof...(k)> in{{views[k + 1]->data...}, {views[k + 1]->type()...}};
  launch<softmax_kernel<T, Op, k...>>(shape.grid, shape.block, 0, views[0]->as<T>(), in, plan);
}

template <class Op, class... In>
void along_rows(const View& out, std::int64_t dim, const In&... in) {
  const View* const views[] = {&out, &in...};
  with_floating_point(out.type(), [&](auto element) {
    softmax_as<decltype(element), Op>(views, dim, std::index_sequence_for<In...>{});
  });
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void softmax(const View& self, std::int64_t dim, std::optional<Dtype>, View& out) {
  along_rows<Softmax>(out, dim, self);
}
void log_softmax(const View& self, std::int64_t dim, std::optional<Dtype>, View& out) {
  along_rows<LogSoftmax>(out, dim, self);
}
void softmax_backward(const View& grad, const View& output, std::int64_t dim, Dtype, View& out) {
  along_rows<SoftmaxBackward>(out, dim, grad, output);
}
void log_softmax_backward(const View& grad, const View& output, std::int64_t dim, Dtype, View& out) {
  along_rows<LogSoftmaxBackward>(out, dim, grad, output);
}

constexpr const char* kRows = ASSAY_CUDA_ROWS;
constexpr const char* kExp = ASSAY_CUDA_EXP "\n" ASSAY_CUDA_ROWS;
constexpr const char* kExpAndLog = ASSAY_CUDA_EXP "\n" ASSAY_CUDA_LOG "\n" ASSAY_CUDA_ROWS;
constexpr assay_kernel softmax_kernels[] = {
    ASSAY_CUDA(ops::softmax_int, softmax, kExp), ASSAY_CUDA(ops::log_softmax_int, log_softmax, kExpAndLog),
    ASSAY_CUDA(ops::softmax_backward_data, softmax_backward, kRows),
    ASSAY_CUDA(ops::log_softmax_backward_data, log_softmax_backward, kExp)};
const Enrolled softmax_enrolled{softmax_kernels};

}  // namespace
}  // namespace assay::cuda
