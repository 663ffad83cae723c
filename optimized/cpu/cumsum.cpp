// Cumulative sums along one dimension: one addition after the other, whatever the layout, so that bits do not
// depend on it. A single row is a chain of dependent additions; so rows are taken a vector at a time, one in each
// lane, where there are several; rows without gaps change places with columns in registers for that (transpose.h). f16
// and bf16 are added in f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/cumsum.cpp"
#include "levels.h"

#include "../geometry/without.h"
#include "gather.h"
#include "integers.h"
#include "lanes.h"
#include "ops/cumsum.h"
#include "parallel.h"
#include "transpose.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kCumsumBlock = 512;      // elements of a row that are gathered at a time
constexpr std::int64_t kCumsumGrain = 1 << 13;  // elements that are worth another thread

template <class T>
struct Cumsum {
  using C = Compute<T>;
  static constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(C);

  const View& in;
  const View& out;
  std::int64_t n, in_step, out_step;  // of a row
  Space rows;                         // operand 0 is the output, operand 1 the input

  Cumsum(const View& x, const View& y, int dim) : in(x), out(y) {
    const View* const views[] = {&out, &in};
    rows = space_without(dim, views, 2);
    n = out.rank() == 0 ? 1 : out.size(dim);
    in_step = n == 1 ? 1 : in.stride(dim);
    out_step = n == 1 ? 1 : out.stride(dim);
  }

  const char* from(std::int64_t offset) const {
    return static_cast<const char*>(in.data) + offset * (in.dtype.bits / 8);
  }
  T* to(std::int64_t offset) const { return static_cast<T*>(out.data) + offset; }
  std::int64_t row_step(std::size_t operand) const { return rows.step(operand); }

  HWY_NOINLINE void one(std::int64_t y, std::int64_t x, C* buffer) const {
    C sum = 0;
    for (std::int64_t j = 0; j < n; j += kCumsumBlock) {
      const std::int64_t size = HWY_MIN(kCumsumBlock, n - j);
      gather(buffer, from(x + j * in_step), in.type(), in_step, out.type(), size);
      if (j == 0) sum = buffer[0];  // 0 + -0 would be 0
      for (std::int64_t k = j == 0 ? 1 : 0; k < size; ++k) buffer[k] = sum += buffer[k];
      scatter(to(y + j * out_step), out.type(), out_step, buffer, size);
    }
  }

  // `count` neighbouring rows, at most a vector of them.
  HWY_NOINLINE void side_by_side(std::int64_t y, std::int64_t x, std::int64_t count, C* buffer) const {
    const hn::ScalableTag<C> d;
    const bool dense = in.type() == out.type() && row_step(0) == 1 && row_step(1) == 1;
    for (std::int64_t i = 0; i < lanes; ++i) buffer[i] = 0;
    hn::Vec<decltype(d)> sum = hn::Zero(d);
    for (std::int64_t j = 0; j < n; ++j) {
      hn::Vec<decltype(d)> value;
      if (dense) {
        const T* const p = reinterpret_cast<const T*>(from(x + j * in_step));
        value = count < lanes ? load_n(d, p, count) : load(d, p);
      } else {
        gather(buffer, from(x + j * in_step), in.type(), row_step(1), out.type(), count);
        value = hn::Load(d, buffer);
      }
      sum = j == 0 ? value : hn::Add(sum, value);
      if (!dense) {
        hn::Store(sum, d, buffer);
        scatter(to(y + j * out_step), out.type(), row_step(0), buffer, count);
      } else if (count < lanes) {
        store_n(sum, d, to(y + j * out_step), count);
      } else {
        store(sum, d, to(y + j * out_step));
      }
    }
  }

  // As many neighbouring rows without gaps as transpose.h takes.
  HWY_NOINLINE void transposed(C* y, const C* x) const {
    const ColumnTag<C> d;
    constexpr std::int64_t width = kColumns<C>, height = kColumnRows<C>;
    hn::Vec<ColumnTag<C>> sum = hn::Zero(d);
    std::int64_t j = 0;
    for (; j + width <= n; j += width) {
      hn::Vec<ColumnTag<C>> column[width];
      load_columns(column, x + j, row_step(1));
      for (std::int64_t k = 0; k < width; ++k)
        sum = column[k] = j + k == 0 ? column[k] : hn::Add(sum, column[k]);  // 0 + -0 would be 0
      store_columns(column, y + j, row_step(0));
    }
    HWY_ALIGN C sums[height];
    hn::Store(sum, d, sums);
    for (; j < n; ++j)
      for (std::int64_t r = 0; r < height; ++r) {
        const C value = x[r * row_step(1) + j];
        y[r * row_step(0) + j] = sums[r] = j == 0 ? value : sums[r] + value;
      }
  }

  void run() const {
    if (n == 0) return;
    const bool along = std::is_same_v<T, C> && in.type() == out.type() && in_step == 1 && out_step == 1;
    parallel_for(rows.count, 1 + kCumsumGrain / n, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
      HWY_ALIGN C buffer[kCumsumBlock];
      for (Runs run(rows, begin, end); !run.done(); run.next())
        for (std::int64_t i = 0; i < run.length;) {
          std::int64_t count = HWY_MIN(lanes, run.length - i);
          const std::int64_t y = run.offset[0] + i * row_step(0), x = run.offset[1] + i * row_step(1);
          if (along && run.length - i >= kColumnRows<C>) {
            count = kColumnRows<C>;
            transposed(reinterpret_cast<C*>(to(y)), reinterpret_cast<const C*>(from(x)));
          } else if (count == 1)
            one(y, x, buffer);
          else
            side_by_side(y, x, count, buffer);
          i += count;
        }
    });
  }
};

void cumsum(const View& self, std::int64_t dim, std::optional<Dtype>, View& out) {
  const int axis = static_cast<int>(dim < 0 ? dim + out.rank() : dim);
  if (!is_float(out.type())) return running_sums_of_integers(self, out, axis);
  ASSAY_CPU_WITH_ELEMENT(out.type(), T, Cumsum<T>(self, out, axis).run());
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::cumsum, cumsum, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
