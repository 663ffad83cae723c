// Normalisation of the last dimensions.
//
// The idea: three passes over a row that is brought into the compute type first (or lies so), the sum, the squared
// distances from the mean, the results: (x - mean) * rstd * weight + bias. One pass that keeps sums of x and x^2 would lose
// the variance where the mean is far from zero. Sums are those of chains.h. Rows are read and written as their strides say.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/layer_norm.cpp"
#include "levels.h"

#include <vector>

#include "chains.h"
#include "gather.h"
#include "ops/layer_norm.h"
#include "parallel.h"
#include "space.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kLayerNormGrain = 1 << 13;  // elements that are worth another thread

View leading(const View& v, int dimensions) {
  View front = v;
  front.ndim = dimensions;
  return front;
}

template <class T>
struct LayerNorm {
  using C = Compute<T>;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);

  const View &out, &mean, &rstd, &input;
  C eps;
  std::vector<C> weight, bias;  // empty where there is none
  Space rows;                   // operands 0 to 3 are out, mean, rstd, input
  Space row;                    // operands 0 and 1 are out and input
  std::int64_t n = 0;

  LayerNorm(const View& o, const View& m, const View& r, const View& in, const View* w, const View* b,
            int first, double epsilon)
      : out(o), mean(m), rstd(r), input(in), eps(static_cast<C>(epsilon)) {
    if (input.rank() > kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
    const View fronts[] = {leading(out, first), leading(mean, first), leading(rstd, first),
                           leading(input, first)};
    const View* const of_rows[] = {&fronts[0], &fronts[1], &fronts[2], &fronts[3]};
    rows = make_space(of_rows, 4);
    const View* const of_row[] = {&out, &input};
    row = row_major_space(of_row, 2, first, input.rank());
    n = row.count;
    if (w != nullptr) weight = parameters(*w);
    if (b != nullptr) bias = parameters(*b);
  }

  // In row-major order.
  std::vector<C> parameters(const View& p) const {
    std::vector<C> all(static_cast<std::size_t>(n));
    const View* const views[] = {&p};
    const Space space = row_major_space(views, 1, 0, p.rank());
    if (n > 0) move_in(space, 0, p, p.as<const T>(), all.data());
    return all;
  }

  // The elements of a space, of an operand that starts at `from`, side by side.
  static void move_in(const Space& space, std::size_t operand, const View& view, const T* from, C* to) {
    std::int64_t at = 0;
    for (Runs run(space, 0, space.count); !run.done(); at += run.length, run.next())
      gather(to + at, from + run.offset[operand], view.type(), space.rank == 0 ? 0 : space.stride[operand][0],
             view.type(), run.length);
  }
  void move_out(const C* from, T* to) const {
    std::int64_t at = 0;
    for (Runs run(row, 0, n); !run.done(); at += run.length, run.next())
      scatter(to + run.offset[0], out.type(), row.rank == 0 ? 0 : row.stride[0][0], from + at, run.length);
  }

  static HWY_INLINE V at(const C* p, std::int64_t m) {
    return m < lanes ? load_n(D(), p, m) : hn::LoadU(D(), p);
  }

  // One row from x to y, which may be one memory.
  HWY_NOINLINE void normalise(const C* x, C* y, C& centre, C& scale) const {
    const D d;
    const auto count = static_cast<C>(n);
    centre = chained_sum<C>(n, [&](std::int64_t i, std::int64_t m) HWY_ATTR { return at(x + i, m); }) / count;
    const V middle = hn::Set(d, centre);
    const C squares = chained_sum<C>(n, [&](std::int64_t i, std::int64_t m) HWY_ATTR {
      const V distance = hn::Sub(at(x + i, m), middle);
      return hn::Mul(distance, distance);
    });
    const hn::CappedTag<C, 1> one;
    scale = C{1} / hn::GetLane(hn::Sqrt(hn::Set(one, squares / count + eps)));
    const V factor = hn::Set(d, scale);
    for (std::int64_t i = 0; i < n; i += lanes) {
      const std::int64_t m = HWY_MIN(lanes, n - i);
      V value = hn::Mul(hn::Sub(at(x + i, m), middle), factor);
      if (!weight.empty()) value = hn::Mul(value, at(weight.data() + i, m));
      if (!bias.empty()) value = hn::Add(value, at(bias.data() + i, m));
      if (m < lanes)
        store_n(value, d, y + i, m);
      else
        hn::StoreU(value, d, y + i);
    }
  }

  void run() const {
    constexpr bool direct = std::is_same_v<T, C>;
    const auto dense = [&](std::size_t operand) {
      return direct && (row.rank == 0 || (row.rank == 1 && row.stride[operand][0] == 1));
    };
    const bool reads = dense(1), writes = dense(0);
    parallel_for(rows.count, 1 + kLayerNormGrain / (n + 1),
                 [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                   std::vector<C> buffer(static_cast<std::size_t>(reads && writes ? 0 : n));
                   for (Runs run(rows, begin, end); !run.done(); run.next())
                     for (std::int64_t i = 0; i < run.length; ++i) {
                       const auto offset = [&](std::size_t k) {
                         return run.offset[k] + (rows.rank == 0 ? 0 : i * rows.stride[k][0]);
                       };
                       T* const y = out.as<T>() + offset(0);
                       const T* const x = input.as<const T>() + offset(3);
                       const C* from = buffer.data();
                       C* to = buffer.data();
                       if constexpr (direct) {
                         if (reads) from = x;
                         if (writes) to = y;
                       }
                       if (!reads && n > 0) move_in(row, 1, input, x, buffer.data());
                       C centre, scale;
                       normalise(reads ? from : buffer.data(), to, centre, scale);
                       if (!writes && n > 0) move_out(to, y);
                       scatter(mean.as<T>() + offset(1), mean.type(), 1, &centre, 1);
                       scatter(rstd.as<T>() + offset(2), rstd.type(), 1, &scale, 1);
                     }
                 });
  }
};

void native_layer_norm(const View& input, std::span<const std::int64_t> normalized_shape, const View* weight,
                       const View* bias, double eps, View& out, View& mean, View& rstd) {
  const int first = input.rank() - static_cast<int>(normalized_shape.size());
  ASSAY_CPU_WITH_ELEMENT(input.type(), T,
                         LayerNorm<T>(out, mean, rstd, input, weight, bias, first, eps).run());
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr const char* kContract = "chain=blocked(16) -- optimized/cpu/chains.h: sixteen chains, then a tree";
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::native_layer_norm, native_layer_norm, kContract)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
