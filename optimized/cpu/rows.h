// The driver of operators along one dimension whose results need a sum over their row: softmax and its kin.
// Compiled for each level.
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
// Three ways through memory. A row that is dense in output and inputs is processed along itself. Where another
// dimension is dense, a vector holds as many rows, one in each lane. Else rows are gathered, short ones across
// lanes so that no lane is idle. f16 and bf16 keep terms in f32 in a buffer.
//
// The sum is taken in kRowChains chains, element j in chain j mod kRowChains, which are added as a tree: so in
// all three ways, so that bits do not depend on strides, and a term passes at most n / 16 + 5 additions.
#include <vector>

#include "gather.h"
#include "lanes.h"
#include "parallel.h"
#include "without.h"

#if defined(ASSAY_CPU_ROWS_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_ROWS_H
#undef ASSAY_CPU_ROWS_H
#else
#define ASSAY_CPU_ROWS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kRowChains = 16;
inline constexpr std::int64_t kShortRows = 32;   // rows up to this length are gathered across lanes
inline constexpr std::int64_t kRowGrain = 4096;  // elements that are worth another thread

// A row of n elements to y; e holds n elements and may be y or x[0]. T is the element type of x and y.
template <class T, class Op, class C, std::size_t... k>
HWY_NOINLINE void row(const Op& op, T* y, const T* const* x, C* e, std::int64_t n,
                      std::index_sequence<k...>) {
  const hn::ScalableTag<C> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  constexpr std::int64_t vectors = kRowChains / lanes;
  const std::int64_t whole = n / kRowChains * kRowChains;
  const auto on = [&](std::int64_t i) HWY_ATTR {  // lanes that are left at i, at most all
    return hn::FirstN(d, static_cast<std::size_t>(HWY_MIN(n - i, lanes)));
  };
  const auto rest = [&](const T* p, std::int64_t i)
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

  V sum[vectors];
  for (V& s : sum) s = hn::Zero(d);
  for (std::int64_t i = 0; i < whole; i += kRowChains) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      const V value = op.term(d, maximum, load(d, x[k] + i + v * lanes)...);
      if constexpr (Op::keeps_terms) hn::StoreU(value, d, e + i + v * lanes);
      sum[v] = hn::Add(sum[v], value);
    }
  }
  for (std::int64_t i = whole, v = 0; i < n; i += lanes, ++v) {
    const V value = op.term(d, maximum, rest(x[k], i)...);
    if constexpr (Op::keeps_terms) {
      if (n - i < lanes)
        store_n(value, d, e + i, n - i);
      else
        hn::StoreU(value, d, e + i);
    }
    sum[v] = hn::Add(sum[v], hn::IfThenElseZero(on(i), value));
  }
  HWY_ALIGN C chains[kRowChains];
  for (std::int64_t v = 0; v < vectors; ++v) hn::Store(sum[v], d, chains + v * lanes);
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

// Up to a vector of rows, one in each lane: element j of input k lies at x[k] + j * x_step[k]. e has a vector
// for each j.
template <class T, class Op, class C, std::size_t... k>
HWY_NOINLINE void rows_in_lanes(const Op& op, T* y, std::int64_t y_step, const T* const* x,
                                const std::int64_t* x_step, C* e, std::int64_t n, std::int64_t rows,
                                std::index_sequence<k...>) {
  const hn::ScalableTag<C> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  const auto at = [&](std::size_t i, std::int64_t j) HWY_ATTR {
    return rows < lanes ? load_n(d, x[i] + j * x_step[i], rows) : load(d, x[i] + j * x_step[i]);
  };
  V maximum = hn::Set(d, -std::numeric_limits<C>::infinity());
  if constexpr (Op::wants_maximum)
    for (std::int64_t j = 0; j < n; ++j) maximum = hn::Max(maximum, at(0, j));

  HWY_ALIGN C chains[kRowChains * lanes];  // those that exist: a short row has fewer
  for (std::int64_t j = 0; j < n; ++j) {
    const V value = op.term(d, maximum, at(k, j)...);
    if constexpr (Op::keeps_terms) hn::StoreU(value, d, e + j * lanes);
    C* const chain = chains + j % kRowChains * lanes;
    hn::Store(j < kRowChains ? value : hn::Add(hn::Load(d, chain), value), d, chain);
  }
  for (std::int64_t w = kRowChains / 2, there = HWY_MIN(n, kRowChains); w > 0;
       there = HWY_MIN(there, w), w /= 2)
    for (std::int64_t i = 0; i + w < there; ++i)
      hn::Store(hn::Add(hn::Load(d, chains + i * lanes), hn::Load(d, chains + (i + w) * lanes)), d,
                chains + i * lanes);

  const V total = op.of_total(d, hn::Load(d, chains));
  for (std::int64_t j = 0; j < n; ++j) {
    V value;
    if constexpr (Op::keeps_terms)
      value = op.result(d, maximum, total, hn::LoadU(d, e + j * lanes));
    else
      value = op.result(d, maximum, total, at(k, j)...);
    if (rows < lanes)
      store_n(value, d, y + j * y_step, rows);
    else
      store(value, d, y + j * y_step);
  }
}

template <class T, class Op>
class AlongRows {
 public:
  // views[0] is the output, the others are the inputs.
  AlongRows(const Op& op, const View* const* views, int dim)
      : op_(op), views_(views), space_(space_without(dim, views, operands)) {
    const View& out = *views[0];
    n_ = out.rank() == 0 ? 1 : out.size(dim);
    dense_ = dense_lanes_ = true;
    dense_lanes_ = space_.rank > 0;
    for (std::size_t i = 0; i < operands; ++i) {
      const View& view = *views[i];
      const bool one_type = view.type() == out.type();
      step_[i] = out.rank() == 0 || n_ == 1 ? 1 : view.stride(dim);
      dense_ = dense_ && one_type && step_[i] == 1;
      dense_lanes_ = dense_lanes_ && one_type && space_.stride[i][0] == 1;
    }
    short_ = n_ <= kShortRows && space_.rank > 0 && space_.size[0] > 1;
  }

  void run() const {
    if (n_ == 0) return;
    parallel_for(space_.count, 1 + kRowGrain / n_, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      const bool in_lanes = short_ || (dense_lanes_ && !dense_);
      const std::size_t width = in_lanes ? lanes : 1;
      std::vector<C> buffer(static_cast<std::size_t>(n_) * width * Op::inputs);
      for (Runs run(space_, begin, end); !run.done(); run.next()) {
        if (in_lanes)
          for (std::int64_t i = 0; i < run.length; i += lanes)
            panel(run, i, HWY_MIN(lanes, run.length - i), buffer.data(), kInputs);
        else
          for (std::int64_t i = 0; i < run.length; ++i) one(run, i, buffer.data(), kInputs);
      }
    });
  }

 private:
  using C = Compute<T>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  static constexpr int operands = Op::inputs + 1;
  static constexpr std::make_index_sequence<Op::inputs> kInputs{};

  std::int64_t row_step(std::size_t operand) const { return space_.step(operand); }
  char* at(std::size_t operand, std::int64_t offset) const {
    return static_cast<char*>(views_[operand]->data) + offset * (views_[operand]->dtype.bits / 8);
  }

  // Row i of a run.
  template <std::size_t... k>
  void one(const Runs& run, std::int64_t i, C* buffer, std::index_sequence<k...> inputs) const {
    T* const y = reinterpret_cast<T*>(at(0, run.offset[0] + i * row_step(0)));
    const char* const x[] = {at(k + 1, run.offset[k + 1] + i * row_step(k + 1))...};
    if (dense_) {
      const T* const dense[] = {reinterpret_cast<const T*>(x[k])...};
      if constexpr (std::is_same_v<T, C>) buffer = y;
      return row<T>(op_, y, dense, buffer, n_, inputs);
    }
    (gather(buffer + static_cast<std::int64_t>(k) * n_, x[k], views_[k + 1]->type(), step_[k + 1],
            views_[0]->type(), n_),
     ...);
    const C* const gathered[] = {buffer + static_cast<std::int64_t>(k) * n_...};
    row<C>(op_, buffer, gathered, buffer, n_, inputs);
    scatter(y, views_[0]->type(), step_[0], buffer, n_);
  }

  // Rows i to i + rows of a run, at most a vector.
  template <std::size_t... k>
  void panel(const Runs& run, std::int64_t i, std::int64_t rows, C* buffer,
             std::index_sequence<k...> inputs) const {
    T* const y = reinterpret_cast<T*>(at(0, run.offset[0] + i * row_step(0)));
    const char* const x[] = {at(k + 1, run.offset[k + 1] + i * row_step(k + 1))...};
    if (dense_lanes_) {
      const T* const dense[] = {reinterpret_cast<const T*>(x[k])...};
      return rows_in_lanes<T>(op_, y, step_[0], dense, step_ + 1, buffer, n_, rows, inputs);
    }
    const std::int64_t size = n_ * lanes;
    for (std::size_t in = 0; in < Op::inputs; ++in) {
      const View& view = *views_[in + 1];
      for (std::int64_t j = 0; j < n_; ++j)
        gather(buffer + static_cast<std::int64_t>(in) * size + j * lanes,
               x[in] + j * step_[in + 1] * (view.dtype.bits / 8), view.type(), row_step(in + 1),
               views_[0]->type(), rows);
    }
    const C* const gathered[] = {buffer + static_cast<std::int64_t>(k) * size...};
    const std::int64_t steps[] = {(static_cast<void>(k), lanes)...};
    rows_in_lanes<C>(op_, buffer, lanes, gathered, steps, buffer, n_, rows, inputs);
    for (std::int64_t j = 0; j < n_; ++j)
      scatter(y + j * step_[0], views_[0]->type(), row_step(0), buffer + j * lanes, rows);
  }

  const Op& op_;
  const View* const* views_;
  Space space_;  // of the rows; operand 0 is the output
  std::int64_t n_;
  std::int64_t step_[operands];  // along the row
  bool dense_, dense_lanes_, short_;
};

template <class Op, class... Inputs>
void along_rows(const Op& op, const View& out, std::int64_t dim, const Inputs&... inputs) {
  static_assert(sizeof...(inputs) == Op::inputs);
  const View* const views[] = {&out, &inputs...};
  const int axis = static_cast<int>(dim < 0 ? dim + out.rank() : dim);
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, AlongRows<T, Op>(op, views, axis).run());
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
