// The driver of operators along rows.
//
// Three ways through memory. A row that is dense in output and inputs is processed along itself. Where another
// dimension is dense, a vector holds as many rows, one in each lane. Else rows are gathered, short ones across
// lanes so that no lane is idle. f16 and bf16 are converted to f32 in a buffer.
//
// The sum is taken in kRowChains chains, element j in chain j mod kRowChains, which are added as a tree: so in
// all three ways, so that bits do not depend on strides, and a term passes at most n / 16 + 5 additions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rows.cpp"
#include "levels.h"

#include "rows.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "../geometry/without.h"
#include "gather.h"
#include "parallel.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kShortRows = 32;   // rows up to this length are gathered across lanes
constexpr std::int64_t kRowGrain = 4096;  // elements that are worth another thread

template <class C>
const RowLoops<C>& loops(const RowOperator& op) {
  if constexpr (std::is_same_v<C, double>)
    return op.f64;
  else
    return op.f32;
}

template <class T>
RowLoop<T>* dense_row(const RowOperator& op) {
  if constexpr (std::is_same_v<T, double>)
    return op.row_f64;
  else if constexpr (std::is_same_v<T, float>)
    return op.row_f32;
  else if constexpr (std::is_same_v<T, F16>)
    return op.row_f16;
  else
    return op.row_bf16;
}

template <class T>
class AlongRows {
 public:
  // views[0] is the output, the others are the inputs.
  AlongRows(const RowOperator& op, const View* const* views, int dim)
      : op_(op),
        loops_(loops<C>(op)),
        views_(views),
        space_(space_without(dim, views, static_cast<int>(op.inputs) + 1)) {
    const View& out = *views[0];
    n_ = out.rank() == 0 ? 1 : out.size(dim);
    dense_ = true;
    dense_lanes_ = space_.rank > 0;
    for (std::size_t i = 0; i <= op.inputs; ++i) {
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
      const bool in_place = direct && (in_lanes ? dense_lanes_ && !op_.keeps_terms : dense_);
      const std::size_t width = in_place ? 0 : in_lanes ? lanes : 1;
      std::vector<C> buffer(static_cast<std::size_t>(n_) * width * op_.inputs);
      for (Runs run(space_, begin, end); !run.done(); run.next()) {
        if (in_lanes)
          for (std::int64_t i = 0; i < run.length; i += lanes)
            panel(run, i, HWY_MIN(lanes, run.length - i), buffer.data());
        else
          for (std::int64_t i = 0; i < run.length; ++i) one(run, i, buffer.data());
      }
    });
  }

 private:
  using C = Compute<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  static constexpr bool direct = std::is_same_v<T, C>;  // memory holds what is computed with

  std::int64_t row_step(std::size_t operand) const { return space_.step(operand); }
  char* at(std::size_t operand, std::int64_t offset) const {
    return static_cast<char*>(views_[operand]->data) + offset * (views_[operand]->dtype.bits / 8);
  }
  // There is no buffer where rows are computed in place.
  static C* buffer_of(C* buffers, std::size_t operand, std::int64_t size) {
    return buffers == nullptr ? nullptr : buffers + static_cast<std::int64_t>(operand) * size;
  }
  static T* typed(char* p) { return reinterpret_cast<T*>(p); }

  // Row i of a run.
  void one(const Runs& run, std::int64_t i, C* buffer) const {
    T* const y = typed(at(0, run.offset[0] + i * row_step(0)));
    const T* dense[kMaxRowInputs];
    const C* gathered[kMaxRowInputs];
    for (std::size_t k = 0; k < op_.inputs; ++k) {
      char* const from = at(k + 1, run.offset[k + 1] + i * row_step(k + 1));
      C* const to = buffer_of(buffer, k, n_);
      dense[k] = typed(from);
      gathered[k] = to;
      if (!dense_) gather(to, from, views_[k + 1]->type(), step_[k + 1], views_[0]->type(), n_);
    }
    if (dense_) {
      if constexpr (direct) buffer = y;
      return dense_row<T>(op_)(y, dense, buffer, n_);
    }
    dense_row<C>(op_)(buffer, gathered, buffer, n_);
    scatter(y, views_[0]->type(), step_[0], buffer, n_);
  }

  // Rows i to i + rows of a run, at most a vector.
  void panel(const Runs& run, std::int64_t i, std::int64_t rows, C* buffer) const {
    const std::int64_t size = n_ * lanes;
    T* const y = typed(at(0, run.offset[0] + i * row_step(0)));
    RowVectors<C> x{};
    for (std::size_t k = 0; k < op_.inputs; ++k) {
      const View& view = *views_[k + 1];
      char* const from = at(k + 1, run.offset[k + 1] + i * row_step(k + 1));
      C* const to = buffer_of(buffer, k, size);
      x.in[k] = to;
      x.in_step[k] = lanes;
      if (!dense_lanes_) {
        for (std::int64_t j = 0; j < n_; ++j)
          gather(to + j * lanes, from + j * step_[k + 1] * (view.dtype.bits / 8), view.type(),
                 row_step(k + 1), views_[0]->type(), rows);
      } else if (direct) {
        x.in[k] = reinterpret_cast<const C*>(from);
        x.in_step[k] = step_[k + 1];
      } else {
        const D d;
        const T* const p = typed(from);
        for (std::int64_t j = 0; j < n_; ++j)
          hn::StoreU(rows < lanes ? load_n(d, p + j * step_[k + 1], rows) : load(d, p + j * step_[k + 1]), d,
                     to + j * lanes);
      }
    }
    x.count = n_;
    x.width = rows;
    if (dense_lanes_ && direct) return rows_in_lanes(x, reinterpret_cast<C*>(y), step_[0], buffer);
    rows_in_lanes(x, buffer, lanes, buffer);
    for (std::int64_t j = 0; j < n_; ++j) {
      if (!dense_lanes_)
        scatter(y + j * step_[0], views_[0]->type(), row_step(0), buffer + j * lanes, rows);
      else if (rows < lanes)
        store_n(hn::LoadU(D(), buffer + j * lanes), D(), y + j * step_[0], rows);
      else
        store(hn::LoadU(D(), buffer + j * lanes), D(), y + j * step_[0]);
    }
  }

  // Up to a vector of rows, one in each lane. e has a vector for each element of a row, if terms are kept.
  void rows_in_lanes(const RowVectors<C>& x, C* y, std::int64_t y_step, C* e) const {
    const D d;
    const std::int64_t n = n_, rows = x.width;
    HWY_ALIGN C most[lanes];
    V maximum = hn::Set(d, -std::numeric_limits<C>::infinity());
    const auto at = [&](std::int64_t j) HWY_ATTR {
      return rows < lanes ? load_n(d, x.in[0] + j * x.in_step[0], rows) : load(d, x.in[0] + j * x.in_step[0]);
    };
    if (op_.wants_maximum)
      for (std::int64_t j = 0; j < n; ++j) maximum = hn::Max(maximum, at(j));
    hn::Store(maximum, d, most);

    HWY_ALIGN C chains[kRowChains * lanes];  // those that exist: a short row has fewer
    RowVectors<C> all = x;
    all.out = op_.keeps_terms ? e : nullptr;
    all.out_step = lanes;
    loops_.terms(all, most, chains);
    for (std::int64_t w = kRowChains / 2, there = HWY_MIN(n, kRowChains); w > 0;
         there = HWY_MIN(there, w), w /= 2)
      for (std::int64_t i = 0; i + w < there; ++i)
        hn::Store(hn::Add(hn::Load(d, chains + i * lanes), hn::Load(d, chains + (i + w) * lanes)), d,
                  chains + i * lanes);

    loops_.of_total(chains);
    if (op_.keeps_terms) {
      all.in[0] = e;
      all.in_step[0] = lanes;
    }
    all.out = y;
    all.out_step = y_step;
    loops_.results(all, most, chains);
  }

  const RowOperator& op_;
  const RowLoops<C>& loops_;
  const View* const* views_;
  Space space_;  // of the rows; operand 0 is the output
  std::int64_t n_;
  std::int64_t step_[kMaxRowInputs + 1];  // along the row
  bool dense_, dense_lanes_, short_;
};

}  // namespace

void along_rows(const RowOperator& op, const View* const* views, std::int64_t dim) {
  const View& out = *views[0];
  const int axis = static_cast<int>(dim < 0 ? dim + out.rank() : dim);
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, AlongRows<T>(op, views, axis).run());
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
