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
// An operator whose terms cost no more than an addition says
//     static constexpr bool cheap_terms = true;
//
// The inputs have the output's shape; they are converted to its dtype first. Maximum drops NaN or not, as the
// target pleases.
//
// What is compiled for an operator are loops over a dense row, of each type, and over vectors that have a row in each lane.
// How rows lie in memory is the business of the driver (rows.cpp), which knows the loops by their addresses.
#include <limits>
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
  C* out;  // nullptr: no terms are kept
  const C* in[kMaxRowInputs];
  std::int64_t out_step, in_step[kMaxRowInputs];
  std::int64_t count, width;
};

// maximum and total point to a vector, which goes with every one of those. Term i goes into vector i mod kRowChains of
// chains, which has nothing before the first one.
template <class C>
struct RowLoops {
  void (*terms)(const RowVectors<C>& x, const C* maximum, C* chains);
  void (*of_total)(C* total);
  void (*results)(const RowVectors<C>& x, const C* maximum, const C* total);
};

// A dense row of n elements, in the order of sums that rows.cpp describes. e has room for n, and may be y or x[0].
template <class T>
using RowLoop = void(T* y, const T* const* x, Compute<T>* e, std::int64_t n);

struct RowOperator {
  std::size_t inputs;
  bool wants_maximum, keeps_terms;
  RowLoops<double> f64;
  RowLoops<float> f32;
  RowLoop<double>* row_f64;
  RowLoop<float>* row_f32;
  RowLoop<F16>* row_f16;
  RowLoop<BF16>* row_bf16;
};

inline constexpr std::int64_t kRowChains = 16;

}  // namespace assay::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// views[0] is the output, the others are the inputs.
void along_rows(const RowOperator& op, const View* const* views, std::int64_t dim);

// store_to(function(x0, x1, ...), i) for each vector.
template <class C, class Function, class Store, std::size_t... k>
HWY_INLINE void each_vector(const RowVectors<C>& given, const Function& function, const Store& store_to,
                            std::index_sequence<k...>) {
  const hn::ScalableTag<C> d;
  const RowVectors<C> x = given;  // a copy, which no store changes
  const bool whole = x.width == HWY_MAX_BYTES / sizeof(C);
  for (std::int64_t i = 0; i < x.count; ++i) {
    const auto y = function(
        (whole ? load(d, x.in[k] + i * x.in_step[k]) : load_n(d, x.in[k] + i * x.in_step[k], x.width))...);
    store_to(y, i);
    if (x.out == nullptr) continue;
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

  static HWY_NOINLINE void terms(const RowVectors<C>& x, const C* maximum, C* chains) {
    const V most = hn::LoadU(D(), maximum);
    each_vector(
        x, [&](auto... in) HWY_ATTR { return Op{}.term(D(), most, in...); },
        [&](V y, std::int64_t i) HWY_ATTR {
          C* const chain = chains + i % kRowChains * (HWY_MAX_BYTES / sizeof(C));
          hn::StoreU(i < kRowChains ? y : hn::Add(hn::LoadU(D(), chain), y), D(), chain);
        },
        kInputs);
  }
  static HWY_NOINLINE void of_total(C* total) {
    hn::StoreU(Op{}.of_total(D(), hn::LoadU(D(), total)), D(), total);
  }
  static HWY_NOINLINE void results(const RowVectors<C>& x, const C* maximum, const C* total) {
    const V most = hn::LoadU(D(), maximum), sum = hn::LoadU(D(), total);
    each_vector(
        x, [&](auto... in) HWY_ATTR { return Op{}.result(D(), most, sum, in...); }, [](V, std::int64_t) {},
        kOfResult);
  }
  static constexpr RowLoops<C> all{terms, of_total, results};
};

template <class Op>
concept CheapTerms = Op::cheap_terms;

template <class Op, class T, std::size_t... k>
HWY_NOINLINE void dense_row(T* y, const T* const* given, Compute<T>* e, std::int64_t n) {
  using C = Compute<T>;
  const hn::ScalableTag<C> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C), vectors = kRowChains / lanes;
  constexpr Op op;
  const T* const x[] = {given[k]...};
  const std::int64_t whole = n / kRowChains * kRowChains;
  const auto on = [&](std::int64_t i) HWY_ATTR {  // lanes that are left at i, at most all
    return hn::FirstN(d, static_cast<std::size_t>(HWY_MIN(n - i, lanes)));
  };
  const auto rest = [&](const auto* p, std::int64_t i)
                        HWY_ATTR { return n - i < lanes ? load_n(d, p + i, n - i) : load(d, p + i); };

  V maximum = hn::Set(d, -std::numeric_limits<C>::infinity());
  if constexpr (Op::wants_maximum) {
    const V lowest = maximum;
    V max[vectors];
    for (V& m : max) m = lowest;
    for (std::int64_t i = 0; i < whole; i += kRowChains)
      for (std::int64_t v = 0; v < vectors; ++v) max[v] = hn::Max(max[v], load(d, x[0] + i + v * lanes));
    for (std::int64_t i = whole; i < n; i += lanes)
      max[0] = hn::Max(max[0], hn::IfThenElse(on(i), rest(x[0], i), lowest));
    for (std::int64_t v = 1; v < vectors; ++v) max[0] = hn::Max(max[0], max[v]);
    maximum = hn::MaxOfLanes(d, max[0]);
  }

  HWY_ALIGN C chains[kRowChains] = {};
  const auto term = [&](std::int64_t i) HWY_ATTR {
    const V value = op.term(d, maximum, load(d, x[k] + i)...);
    if constexpr (Op::keeps_terms) hn::StoreU(value, d, e + i);
    return value;
  };
  if constexpr (vectors <= 2 || CheapTerms<Op>) {
    V sum[vectors];
    for (V& s : sum) s = hn::Zero(d);
    for (std::int64_t i = 0; i < whole; i += kRowChains)
      for (std::int64_t v = 0; v < vectors; ++v) sum[v] = hn::Add(sum[v], term(i + v * lanes));
    for (std::int64_t v = 0; v < vectors; ++v) hn::Store(sum[v], d, chains + v * lanes);
  } else {  // sums in memory take less than a term, and copies of a term would take the compiler long
    for (std::int64_t i = 0; i < whole; i += lanes) {
      C* const chain = chains + i % kRowChains;
      hn::Store(hn::Add(hn::Load(d, chain), term(i)), d, chain);
    }
  }
  for (std::int64_t i = whole, v = 0; i < n; i += lanes, v += lanes) {
    const V value = op.term(d, maximum, rest(x[k], i)...);
    if constexpr (Op::keeps_terms) {
      if (n - i < lanes)
        store_n(value, d, e + i, n - i);
      else
        hn::StoreU(value, d, e + i);
    }
    hn::Store(hn::Add(hn::Load(d, chains + v), hn::IfThenElseZero(on(i), value)), d, chains + v);
  }
  for (std::int64_t w = kRowChains / 2; w > 0; w /= 2)
    for (std::int64_t i = 0; i < w; ++i) chains[i] += chains[i + w];

  const V total = op.of_total(d, hn::Set(d, chains[0]));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if constexpr (Op::keeps_terms)
      store(op.result(d, maximum, total, hn::LoadU(d, e + i)), d, y + i);
    else
      store(op.result(d, maximum, total, load(d, x[k] + i)...), d, y + i);
  }
  if (i == n) return;
  if constexpr (Op::keeps_terms)
    store_n(op.result(d, maximum, total, load_n(d, e + i, n - i)), d, y + i, n - i);
  else
    store_n(op.result(d, maximum, total, load_n(d, x[k] + i, n - i)...), d, y + i, n - i);
}

template <class Op, std::size_t... k>
constexpr RowOperator row_operator(std::index_sequence<k...>) {
  return {Op::inputs,
          Op::wants_maximum,
          Op::keeps_terms,
          LoopsOfRow<Op, double>::all,
          LoopsOfRow<Op, float>::all,
          dense_row<Op, double, k...>,
          dense_row<Op, float, k...>,
          dense_row<Op, F16, k...>,
          dense_row<Op, BF16, k...>};
}

template <class Op, class... Inputs>
void along_rows(const Op&, const View& out, std::int64_t dim, const Inputs&... inputs) {
  static_assert(std::is_empty_v<Op> && sizeof...(inputs) == Op::inputs && Op::inputs <= kMaxRowInputs);
  const View* const views[] = {&out, &inputs...};
  along_rows(row_operator<Op>(std::index_sequence_for<Inputs...>()), views, dim);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
