// The idea: three passes over a row that is brought into the compute type first (or lies so), the sum, the squared
// distances from the mean, the results: (x - mean) * rstd * weight + bias. One pass that keeps sums of x and x^2 would lose
// the variance where the mean is far from zero. Sums are those of chains.h. Rows are read and written as their strides say.
// Where mean and variance are given and a row has one weight, its parts that lie without gaps are done where they lie.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/normalise.cpp"
#include "levels.h"

#include <vector>

#include "chains.h"
#include "normalise.h"
#include "parallel.h"
#include "runs.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kNormaliseGrain = 1 << 13;  // elements that are worth another thread

template <class T>
struct Rows {
  using C = Compute<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);

  const Normalisation& norm;
  C eps;
  std::vector<C> weight, bias;  // empty where there is none
  Space rows;                   // operands 0 to 3 are out, input, mean, rstd
  Space row;                    // operands 0 and 1 are out and input
  std::int64_t n = 0;

  explicit Rows(const Normalisation& what) : norm(what), eps(static_cast<C>(what.eps)) {
    if (norm.input.rank() > kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
    const View fronts[] = {leading(norm.out, norm.first), leading(norm.input, norm.first), norm.mean,
                           norm.rstd};
    const View* const of_rows[] = {&fronts[0], &fronts[1], &fronts[2], &fronts[3]};
    rows = row_major_space(of_rows, 4, 0, norm.first);
    const View* const of_row[] = {&norm.out, &norm.input};
    row = row_major_space(of_row, 2, norm.first, norm.input.rank());
    n = row.count;
    if (norm.weight != nullptr) weight = numbers<C>(*norm.weight);
    if (norm.bias != nullptr) bias = numbers<C>(*norm.bias);
  }

  static HWY_INLINE V at(const C* p, std::int64_t m) {
    return m < lanes ? load_n(D(), p, m) : hn::LoadU(D(), p);
  }

  // Of n numbers: their mean, and the sum of the squares of their distances from it.
  HWY_NOINLINE void measure(const C* x, C& mean, C& squares) const {
    const auto count = static_cast<C>(n);
    mean = chained_sum<C>(n, [&](std::int64_t i, std::int64_t m) HWY_ATTR { return at(x + i, m); }) / count;
    const V middle = hn::Set(D(), mean);
    squares = chained_sum<C>(n, [&](std::int64_t i, std::int64_t m) HWY_ATTR {
      const V distance = hn::Sub(at(x + i, m), middle);
      return hn::Mul(distance, distance);
    });
  }

  // `count` numbers from x to y, which may be one memory. weigh(i, m): the weights of numbers i to i + m - 1.
  template <bool weighs, bool adds, class Weigh, class Add>
  HWY_INLINE void finish_with(const C* x, C* y, std::int64_t count, V middle, V factor, const Weigh& weigh,
                              const Add& add) const {
    const D d;
    const auto result = [&](std::int64_t i, std::int64_t m) HWY_ATTR {
      V value = hn::Mul(hn::Sub(at(x + i, m), middle), factor);
      if constexpr (weighs) value = hn::Mul(value, weigh(i, m));
      if constexpr (adds) value = hn::Add(value, add(i, m));
      return value;
    };
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(result(i, lanes), d, y + i);
    if (i < count) store_n(result(i, count - i), d, y + i, count - i);
  }
  template <class Weigh, class Add>
  HWY_INLINE void finish(const C* x, C* y, std::int64_t count, C mean, C rstd, const Weigh& weigh,
                         const Add& add) const {
    const V middle = hn::Set(D(), mean), factor = hn::Set(D(), rstd);
    if (weight.empty() && bias.empty())
      finish_with<false, false>(x, y, count, middle, factor, weigh, add);
    else if (bias.empty())
      finish_with<true, false>(x, y, count, middle, factor, weigh, add);
    else if (weight.empty())
      finish_with<false, true>(x, y, count, middle, factor, weigh, add);
    else
      finish_with<true, true>(x, y, count, middle, factor, weigh, add);
  }

  HWY_NOINLINE void finish_row(const C* x, C* y, C mean, C rstd, std::int64_t number) const {
    const D d;
    const std::int64_t sharing = weight.empty() && bias.empty() ? n : norm.sharing;
    if (n == 0) return;
    const std::int64_t first = number % norm.period * (n / sharing);
    if (sharing == 1)
      return finish(
          x, y, n, mean, rstd,
          [&](std::int64_t i, std::int64_t m) HWY_ATTR { return at(weight.data() + first + i, m); },
          [&](std::int64_t i, std::int64_t m) HWY_ATTR { return at(bias.data() + first + i, m); });
    for (std::int64_t k = 0; k < n / sharing; ++k) {
      const auto c = static_cast<std::size_t>(first + k);
      const V w = weight.empty() ? hn::Zero(d) : hn::Set(d, weight[c]);
      const V b = bias.empty() ? hn::Zero(d) : hn::Set(d, bias[c]);
      finish(
          x + k * sharing, y + k * sharing, sharing, mean, rstd,
          [&](std::int64_t, std::int64_t) HWY_ATTR { return w; },
          [&](std::int64_t, std::int64_t) HWY_ATTR { return b; });
    }
  }

  static C inverse_root(C x) {
    const hn::CappedTag<C, 1> one;
    return C{1} / hn::GetLane(hn::Sqrt(hn::Set(one, x)));
  }

  void join(const View& last, const View& next, std::int64_t number, C found) const {
    C running;
    gather(&running, last.as<const T>() + number * last.stride(0), last.type(), 1, last.type(), 1);
    running =
        static_cast<C>(1 - norm.running->momentum) * running + static_cast<C>(norm.running->momentum) * found;
    scatter(next.as<T>() + number * next.stride(0), next.type(), 1, &running, 1);
  }

  void statistics(const C* x, std::int64_t number, T* mean_at, T* rstd_at, C& mean, C& rstd) const {
    C variance, squares;
    if (norm.given) {
      gather(&mean, mean_at, norm.mean.type(), 1, norm.mean.type(), 1);
      gather(&variance, rstd_at, norm.rstd.type(), 1, norm.rstd.type(), 1);
      rstd = inverse_root(variance + eps);
      return;
    }
    measure(x, mean, squares);
    variance = squares / static_cast<C>(n);
    rstd = inverse_root(variance + eps);
    scatter(mean_at, norm.mean.type(), 1, &mean, 1);
    scatter(rstd_at, norm.rstd.type(), 1, &rstd, 1);
    if (norm.running == nullptr) return;
    join(norm.running->mean, norm.running->mean_out, number, mean);
    join(norm.running->var, norm.running->var_out, number, squares / static_cast<C>(n - 1));
  }

  // Parts without gaps of rows with one weight, given mean and variance: the first part of all rows, then the second, as
  // they lie in memory.
  void run_parts() const {
    const std::int64_t length = row.size[0], outer = n / length;
    parallel_for(outer * rows.count, 1 + kNormaliseGrain / length,
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   const D d;
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t number = i % rows.count;
                     const Runs part(row, i / rows.count * length, (i / rows.count + 1) * length);
                     const auto offset = [&](std::size_t k) { return number * rows.step(k); };
                     const C* const x = norm.input.template as<const C>() + offset(1) + part.offset[1];
                     C mean, rstd;
                     statistics(x, number, norm.mean.template as<T>() + offset(2),
                                norm.rstd.template as<T>() + offset(3), mean, rstd);
                     const auto c = static_cast<std::size_t>(number % norm.period);
                     const V w = weight.empty() ? hn::Zero(d) : hn::Set(d, weight[c]);
                     const V b = bias.empty() ? hn::Zero(d) : hn::Set(d, bias[c]);
                     finish(
                         x, norm.out.template as<C>() + offset(0) + part.offset[0], length, mean, rstd,
                         [&](std::int64_t, std::int64_t) HWY_ATTR { return w; },
                         [&](std::int64_t, std::int64_t) HWY_ATTR { return b; });
                   }
                 });
  }

  void run() const {
    constexpr bool direct = std::is_same_v<T, C>;
    const auto dense = [&](std::size_t operand) {
      return direct && (row.rank == 0 || (row.rank == 1 && row.stride[operand][0] == 1));
    };
    const bool writes = dense(0), reads = dense(1);
    if constexpr (direct)
      if (norm.given && norm.sharing == n && n > 1 && norm.first == 1 && row.step(0) == 1 && row.step(1) == 1)
        return run_parts();
    parallel_for(rows.count, 1 + kNormaliseGrain / (n + 1),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   std::vector<C> buffer(static_cast<std::size_t>(reads && writes ? 0 : n));
                   std::int64_t number = begin;
                   for (Runs run(rows, begin, end); !run.done(); run.next())
                     for (std::int64_t i = 0; i < run.length; ++i, ++number) {
                       const auto offset = [&](std::size_t k) { return run.offset[k] + i * rows.step(k); };
                       T* const y = norm.out.template as<T>() + offset(0);
                       T* const x = norm.input.template as<T>() + offset(1);
                       const C* from = buffer.data();
                       C* to = buffer.data();
                       if constexpr (direct) {
                         if (reads) from = x;
                         if (writes) to = y;
                       }
                       if (!reads)
                         move_in(buffer.data(), row, 1, 0, n, x, norm.input.type(), norm.input.type());
                       C mean, rstd;
                       statistics(from, number, norm.mean.template as<T>() + offset(2),
                                  norm.rstd.template as<T>() + offset(3), mean, rstd);
                       finish_row(from, to, mean, rstd, number);
                       if (!writes) move_out(to, row, 0, 0, n, y, norm.out.type());
                     }
                 });
  }
};

}  // namespace

void normalise(const Normalisation& n) { ASSAY_CPU_WITH_ELEMENT(n.input.type(), T, Rows<T>(n).run()); }

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
