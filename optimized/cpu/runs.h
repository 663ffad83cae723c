// Stretches of a space, of one operand, as buffers without gaps, and back. Compiled for each level.
#include <vector>

#include "../geometry/space.h"
#include "gather.h"

#if defined(ASSAY_CPU_RUNS_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_RUNS_H
#undef ASSAY_CPU_RUNS_H
#else
#define ASSAY_CPU_RUNS_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// Elements [begin, end) of the space, converted as gather() does. `first` is where its element 0 lies.
template <class C>
void move_in(C* to, const Space& space, std::size_t operand, std::int64_t begin, std::int64_t end,
             const void* first, Dtype type, Dtype as) {
  if (begin == end) return;
  for (Runs run(space, begin, end); !run.done(); to += run.length, run.next())
    gather(to, static_cast<const char*>(first) + run.offset[operand] * bytes(type), type, space.step(operand),
           as, run.length);
}

// The same way back, as scatter() does.
template <class C>
void move_out(const C* from, const Space& space, std::size_t operand, std::int64_t begin, std::int64_t end,
              void* first, Dtype type) {
  if (begin == end) return;
  for (Runs run(space, begin, end); !run.done(); from += run.length, run.next())
    scatter(static_cast<char*>(first) + run.offset[operand] * bytes(type), type, space.step(operand), from,
            run.length);
}

// The elements of a view in row-major order, and zeros up to a multiple.
template <class C>
std::vector<C> numbers(const View& view, std::int64_t multiple = 1) {
  const std::int64_t count = view.numel();
  std::vector<C> all(static_cast<std::size_t>((count + multiple - 1) / multiple * multiple));
  const View* const views[] = {&view};
  move_in(all.data(), row_major_space(views, 1, 0, view.rank()), 0, 0, count, view.data, view.type(),
          view.type());
  return all;
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
