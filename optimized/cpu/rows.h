// Operators along one dimension whose results need a sum over their row: softmax and its kin. Compiled for each level.
//
//   struct Op {
//     static constexpr std::size_t inputs = 2;
//     static constexpr bool wants_maximum = false;  // of the first input over the row
//     static constexpr bool keeps_terms = false;    // for result(), which then sees no inputs
//     V term(D d, V maximum, V x0, V x1) const;                      // what is summed
//     V of_total(D d, V total) const;                                // once for each row
//     V result(D d, V maximum, V total, V kept, V x0, V x1) const;
//   };
//   along_rows(op, out, dim, x0, x1);
//
// The inputs have the output's shape; they are converted to its dtype first. Maximum drops NaN or not, as the
// target pleases.
//
// What is compiled for an operator are loops over vectors, of terms and of results, in f64 and f32. How rows lie in memory,
// and the sums, are the business of the driver (rows.cpp), which knows the loops by their addresses.
#include <utility>

#include "lanes.h"
#include "vocabulary/view.h"

#if defined(ASSAY_CPU_ROWS_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ROWS_H
#undef ASSAY_CPU_ROWS_H
#else
#define ASSAY_CPU_ROWS_H
#endif

#ifndef ASSAY_CPU_ROW_LOOPS
#define ASSAY_CPU_ROW_LOOPS
namespace assay::cpu {

inline constexpr std::size_t kMaxRowInputs = 2;

// Where vectors lie: vector i of input k at in[k] + i * in_step[k]. Of each, `width` elements.
template <class C>
struct RowVectors {
  C* out;
  const C* in[kMaxRowInputs];
  std::int64_t out_step, in_step[kMaxRowInputs];
  std::int64_t count, width;
};

// maximum and total point to a vector, which goes with every one of those.
template <class C>
struct RowLoops {
  void (*terms)(const RowVectors<C>& x, const C* maximum);
  void (*of_total)(C* total);
  void (*results)(const RowVectors<C>& x, const C* maximum, const C* total);
};

struct RowOperator {
  std::size_t inputs;
  bool wants_maximum, keeps_terms;
  RowLoops<double> f64;
  RowLoops<float> f32;
};

}  // namespace assay::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// views[0] is the output, the others are the inputs.
void along_rows(const RowOperator& op, const View* const* views, std::int64_t dim);

// out = function(x0, x1, ...) for each vector.
template <class C, class Function, std::size_t... k>
HWY_INLINE void each_vector(const RowVectors<C>& given, const Function& function, std::index_sequence<k...>) {
  const hn::ScalableTag<C> d;
  const RowVectors<C> x = given;  // a copy, which no store changes
  const bool whole = x.width == HWY_MAX_BYTES / sizeof(C);
  for (std::int64_t i = 0; i < x.count; ++i) {
    const auto y = function(
        (whole ? load(d, x.in[k] + i * x.in_step[k]) : load_n(d, x.in[k] + i * x.in_step[k], x.width))...);
    if (whole)
      store(y, d, x.out + i * x.out_step);
    else
      store_n(y, d, x.out + i * x.out_step, x.width);
  }
}

template <class Op, class C>
struct LoopsOfRow {
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  static constexpr std::make_index_sequence<Op::inputs> kInputs{};
  static constexpr std::make_index_sequence<Op::keeps_terms ? 1 : Op::inputs> kOfResult{};

  static HWY_NOINLINE void terms(const RowVectors<C>& x, const C* maximum) {
    const V most = hn::LoadU(D(), maximum);
    each_vector(
        x, [&](auto... in) HWY_ATTR { return Op{}.term(D(), most, in...); }, kInputs);
  }
  static HWY_NOINLINE void of_total(C* total) {
    hn::StoreU(Op{}.of_total(D(), hn::LoadU(D(), total)), D(), total);
  }
  static HWY_NOINLINE void results(const RowVectors<C>& x, const C* maximum, const C* total) {
    const V most = hn::LoadU(D(), maximum), sum = hn::LoadU(D(), total);
    each_vector(
        x, [&](auto... in) HWY_ATTR { return Op{}.result(D(), most, sum, in...); }, kOfResult);
  }
  static constexpr RowLoops<C> all{terms, of_total, results};
};

template <class Op, class... Inputs>
void along_rows(const Op&, const View& out, std::int64_t dim, const Inputs&... inputs) {
  static_assert(std::is_empty_v<Op> && sizeof...(inputs) == Op::inputs && Op::inputs <= kMaxRowInputs);
  const View* const views[] = {&out, &inputs...};
  along_rows(RowOperator{Op::inputs, Op::wants_maximum, Op::keeps_terms, LoopsOfRow<Op, double>::all,
                         LoopsOfRow<Op, float>::all},
             views, dim);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
