// Softmax along one dimension.
//
// The idea: the textbook's three passes over a row, its maximum, exp(x - maximum) and their sum, the
// quotients; the work is in exp (elementary.h). NaN and infinities need no care: a NaN or +inf makes the sum
// NaN, a row of -inf is -inf - -inf = NaN, and -inf beside finite numbers is exp(-inf) = 0, whatever Max does
// with a NaN.
//
// Three ways through memory. A row that is dense in input and output is processed along itself. Where another
// dimension is dense, a vector holds as many rows, one in each lane. Else rows are gathered, short ones
// across lanes so that no lane is idle. f16 and bf16 keep exp in f32 in a buffer.
//
// The sum is taken in kChains chains, element j in chain j mod kChains, which are added as a tree: so in all
// three ways, so that bits do not depend on strides, and an element passes at most n / 16 + 5 additions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/softmax.cpp"
#include "levels.h"

#include <vector>

#include "elementary.h"
#include "gather.h"
#include "lanes.h"
#include "ops/softmax.h"
#include "parallel.h"
#include "without.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kChains = 16;
constexpr std::int64_t kShort = 32;    // rows up to this length are gathered across lanes
constexpr std::int64_t kGrain = 4096;  // elements that are worth another thread

// A row of n elements from x to y; e holds n elements and may be y. T is the element type of both.
template <class T, class C = Compute<T>>
HWY_NOINLINE void row(const T* x, T* y, C* e, std::int64_t n) {
  const hn::ScalableTag<C> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  constexpr std::int64_t vectors = kChains / lanes;
  const std::int64_t whole = n / kChains * kChains;
  const auto on = [&](std::int64_t i) HWY_ATTR {  // lanes that are left at i, at most all
    return hn::FirstN(d, static_cast<std::size_t>(HWY_MIN(n - i, lanes)));
  };
  const auto rest = [&](std::int64_t i)
                        HWY_ATTR { return n - i < lanes ? load_n(d, x + i, n - i) : load(d, x + i); };

  const V lowest = hn::Set(d, -std::numeric_limits<C>::infinity());
  V max[vectors];
  for (V& m : max) m = lowest;
  for (std::int64_t i = 0; i < whole; i += kChains)
    for (std::int64_t v = 0; v < vectors; ++v) max[v] = hn::Max(max[v], load(d, x + i + v * lanes));
  for (std::int64_t i = whole; i < n; i += lanes)
    max[0] = hn::Max(max[0], hn::IfThenElse(on(i), rest(i), lowest));
  for (std::int64_t v = 1; v < vectors; ++v) max[0] = hn::Max(max[0], max[v]);
  const V maximum = hn::MaxOfLanes(d, max[0]);

  V sum[vectors];
  for (V& s : sum) s = hn::Zero(d);
  for (std::int64_t i = 0; i < whole; i += kChains) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      const V value = exp<true>(d, hn::Sub(load(d, x + i + v * lanes), maximum));
      hn::StoreU(value, d, e + i + v * lanes);
      sum[v] = hn::Add(sum[v], value);
    }
  }
  for (std::int64_t i = whole, v = 0; i < n; i += lanes, ++v) {
    const V value = exp<true>(d, hn::Sub(rest(i), maximum));
    if (n - i < lanes)
      store_n(value, d, e + i, n - i);
    else
      hn::StoreU(value, d, e + i);
    sum[v] = hn::Add(sum[v], hn::IfThenElseZero(on(i), value));
  }
  HWY_ALIGN C chains[kChains];
  for (std::int64_t v = 0; v < vectors; ++v) hn::Store(sum[v], d, chains + v * lanes);
  for (std::int64_t w = kChains / 2; w > 0; w /= 2)
    for (std::int64_t i = 0; i < w; ++i) chains[i] += chains[i + w];

  const V total = hn::Set(d, chains[0]);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(hn::Div(hn::LoadU(d, e + i), total), d, y + i);
  if (i < n) store_n(hn::Div(load_n(d, e + i, n - i), total), d, y + i, n - i);
}

// Up to a vector of rows, one in each lane: element j of the rows lies at x + j * x_step. e has a vector for
// each j.
template <class T, class C = Compute<T>>
HWY_NOINLINE void rows_in_lanes(const T* x, std::int64_t x_step, T* y, std::int64_t y_step, C* e,
                                std::int64_t n, std::int64_t rows) {
  const hn::ScalableTag<C> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);
  const auto at = [&](std::int64_t j) HWY_ATTR {
    return rows < lanes ? load_n(d, x + j * x_step, rows) : load(d, x + j * x_step);
  };
  V maximum = hn::Set(d, -std::numeric_limits<C>::infinity());
  for (std::int64_t j = 0; j < n; ++j) maximum = hn::Max(maximum, at(j));

  HWY_ALIGN C chains[kChains * lanes];  // those that exist: a short row has fewer
  for (std::int64_t j = 0; j < n; ++j) {
    const V value = exp<true>(d, hn::Sub(at(j), maximum));
    hn::StoreU(value, d, e + j * lanes);
    C* const chain = chains + j % kChains * lanes;
    hn::Store(j < kChains ? value : hn::Add(hn::Load(d, chain), value), d, chain);
  }
  for (std::int64_t w = kChains / 2, there = HWY_MIN(n, kChains); w > 0; there = HWY_MIN(there, w), w /= 2)
    for (std::int64_t i = 0; i + w < there; ++i)
      hn::Store(hn::Add(hn::Load(d, chains + i * lanes), hn::Load(d, chains + (i + w) * lanes)), d,
                chains + i * lanes);

  const V total = hn::Load(d, chains);
  for (std::int64_t j = 0; j < n; ++j) {
    const V value = hn::Div(hn::LoadU(d, e + j * lanes), total);
    if (rows < lanes)
      store_n(value, d, y + j * y_step, rows);
    else
      store(value, d, y + j * y_step);
  }
}

template <class T>
class Softmax {
 public:
  Softmax(const View& self, View& out, int dim)
      : self_(self),
        out_(out),
        space_(space_without(dim, out, self)),
        n_(self.rank() == 0 ? 1 : self.size(dim)),
        x_step_(self.rank() == 0 ? 1 : self.stride(dim)),
        y_step_(self.rank() == 0 ? 1 : out.stride(dim)) {
    const bool one_type = self.type() == out.type();
    if (n_ == 1) x_step_ = y_step_ = 1;
    dense_ = one_type && x_step_ == 1 && y_step_ == 1;
    dense_lanes_ = one_type && space_.rank > 0 && space_.stride[0][0] == 1 && space_.stride[1][0] == 1;
    short_ = n_ <= kShort && space_.rank > 0 && space_.size[0] > 1;
  }

  void run() const {
    if (n_ == 0) return;
    parallel_for(space_.count, 1 + kGrain / n_, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      const bool in_lanes = short_ || (dense_lanes_ && !dense_);
      std::vector<C> buffer(static_cast<std::size_t>(
          dense_ && !in_lanes && std::is_same_v<T, C> ? 0 : n_ * (in_lanes ? lanes : 1)));
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
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);

  std::int64_t step(std::size_t operand) const { return space_.rank == 0 ? 0 : space_.stride[operand][0]; }
  const char* x_at(std::int64_t offset) const {
    return static_cast<const char*>(self_.data) + offset * (self_.dtype.bits / 8);
  }
  T* y_at(std::int64_t offset) const { return out_.template as<T>() + offset; }

  // Row i of a run.
  void one(const Runs& run, std::int64_t i, C* buffer) const {
    const char* x = x_at(run.offset[1] + i * step(1));
    T* const y = y_at(run.offset[0] + i * step(0));
    if (dense_) {
      if constexpr (std::is_same_v<T, C>) buffer = y;
      row<T>(reinterpret_cast<const T*>(x), y, buffer, n_);
    } else {
      gather(buffer, x, self_.type(), x_step_, out_.type(), n_);
      row<C>(buffer, buffer, buffer, n_);
      scatter(y, out_.type(), y_step_, buffer, n_);
    }
  }

  // Rows i to i + rows of a run, at most a vector.
  void panel(const Runs& run, std::int64_t i, std::int64_t rows, C* buffer) const {
    const char* x = x_at(run.offset[1] + i * step(1));
    T* const y = y_at(run.offset[0] + i * step(0));
    if (dense_lanes_)
      return rows_in_lanes<T>(reinterpret_cast<const T*>(x), x_step_, y, y_step_, buffer, n_, rows);
    const std::int64_t bytes = self_.dtype.bits / 8;
    for (std::int64_t j = 0; j < n_; ++j)
      gather(buffer + j * lanes, x + j * x_step_ * bytes, self_.type(), step(1), out_.type(), rows);
    rows_in_lanes<C>(buffer, lanes, buffer, lanes, buffer, n_, rows);
    for (std::int64_t j = 0; j < n_; ++j)
      scatter(y + j * y_step_, out_.type(), step(0), buffer + j * lanes, rows);
  }

  const View& self_;
  View& out_;
  Space space_;  // of the rows; operand 0 is the output
  std::int64_t n_, x_step_, y_step_;
  bool dense_, dense_lanes_, short_;
};

void softmax(const View& self, std::int64_t dim, std::optional<Dtype>, View& out) {
  const int axis = static_cast<int>(dim < 0 ? dim + self.rank() : dim);
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, Softmax<T>(self, out, axis).run());
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kContract =
    ASSAY_CPU_EXP "\nchain=blocked(16) -- optimized/cpu/softmax.cpp: sixteen chains, then a tree";
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::softmax_int, softmax, kContract)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
