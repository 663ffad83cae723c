// Reductions and running sums of integers, of any dtype and layout. Compiled for each level.
//
// The idea: elements are gathered into blocks of 64-bit integers (gather.h), which a plain loop goes through: it has no
// rounding whose order would matter, so that the compiler may vectorise it as it likes.
#include "../geometry/without.h"
#include "../geometry/wrap.h"
#include "gather.h"
#include "parallel.h"
#include "reduced.h"

#if defined(ASSAY_CPU_INTEGERS_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_INTEGERS_H
#undef ASSAY_CPU_INTEGERS_H
#else
#define ASSAY_CPU_INTEGERS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kIntegersBlock = 512;
inline constexpr std::int64_t kIntegersGrain = 1 << 13;  // elements that are worth another thread

// What a reduction keeps: begin(), then look() at blocks in row-major order, then result().
struct IntegerSum {
  std::int64_t total;
  void begin() { total = 0; }
  HWY_INLINE void look(const std::int64_t* x, std::int64_t n, std::int64_t /*first*/) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum = wrapping_add(sum, x[i]);
    total = wrapping_add(total, sum);
  }
  std::int64_t result() const { return total; }
};

struct LargestInteger {
  std::int64_t largest;
  void begin() { largest = INT64_MIN; }
  HWY_INLINE void look(const std::int64_t* x, std::int64_t n, std::int64_t /*first*/) {
    std::int64_t most = largest;
    for (std::int64_t i = 0; i < n; ++i) most = HWY_MAX(most, x[i]);
    largest = most;
  }
  std::int64_t result() const { return largest; }
};

struct PlaceOfLargestInteger {
  std::int64_t largest, place;
  void begin() { largest = INT64_MIN, place = 0; }
  HWY_INLINE void look(const std::int64_t* x, std::int64_t n, std::int64_t first) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (x[i] <= largest) continue;
      largest = x[i];
      place = first + i;
    }
  }
  std::int64_t result() const { return place; }
};

inline const char* address(const View& view, std::int64_t offset) {
  return static_cast<const char*>(view.data) + offset * (view.dtype.bits / 8);
}
inline char* address(View& view, std::int64_t offset) {
  return static_cast<char*>(view.data) + offset * (view.dtype.bits / 8);
}

template <class State>
void reduce_integers(const View& in, View& out, const Axes& axes, bool keepdim) {
  const ReducedSpace space = reduced_space(out, in, axes, keepdim);
  const auto step = [&](std::size_t k) { return space.kept.step(k); };
  parallel_for(
      space.kept.count, 1 + kIntegersGrain / (space.count + 1),
      [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
        std::int64_t block[kIntegersBlock];
        for (Runs run(space.kept, begin, end); !run.done(); run.next())
          for (std::int64_t i = 0; i < run.length; ++i) {
            State state;
            state.begin();
            std::int64_t seen = 0;
            for (Walk walk(space); !walk.done(); walk.next())
              for (std::int64_t j = 0; j < space.size[0]; j += kIntegersBlock) {
                const std::int64_t n = HWY_MIN(kIntegersBlock, space.size[0] - j);
                gather(block, address(in, run.offset[1] + i * step(1) + walk.offset() + j * space.stride[0]),
                       in.type(), space.stride[0], out.type(), n);
                state.look(block, n, seen);
                seen += n;
              }
            const std::int64_t result = state.result();
            scatter(address(out, run.offset[0] + i * step(0)), out.type(), 1, &result, 1);
          }
      });
}

template <class... None>
void running_sums_of_integers(const View& in, View& out, int dim) {
  const View* const views[] = {&out, &in};
  const Space rows = space_without(dim, views, 2);
  const std::int64_t size = out.rank() == 0 ? 1 : out.size(dim);
  if (size == 0) return;
  const std::int64_t out_step = size == 1 ? 1 : out.stride(dim), in_step = size == 1 ? 1 : in.stride(dim);
  const auto step = [&](std::size_t k) { return rows.step(k); };
  parallel_for(rows.count, 1 + kIntegersGrain / size, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    std::int64_t block[kIntegersBlock];
    for (Runs run(rows, begin, end); !run.done(); run.next())
      for (std::int64_t i = 0; i < run.length; ++i) {
        std::int64_t sum = 0;
        for (std::int64_t j = 0; j < size; j += kIntegersBlock) {
          const std::int64_t n = HWY_MIN(kIntegersBlock, size - j);
          gather(block, address(in, run.offset[1] + i * step(1) + j * in_step), in.type(), in_step,
                 out.type(), n);
          for (std::int64_t k = 0; k < n; ++k) block[k] = sum = wrapping_add(sum, block[k]);
          scatter(address(out, run.offset[0] + i * step(0) + j * out_step), out.type(), out_step, block, n);
        }
      }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
