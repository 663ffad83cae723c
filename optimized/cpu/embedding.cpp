// Rows of a table, chosen by index: whole rows are copied, a vector at a time where neither the table's nor the
// result's rows have gaps. Memory decides the speed. Elements are moved as bits, so there is no error, and the
// dtype matters by its size alone. Indices were checked before the kernel is called.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/embedding.cpp"
#include "levels.h"

#include "../geometry/without.h"
#include "copy.h"
#include "ops/embedding.h"
#include "parallel.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kBytesEach = 1 << 16;  // that are worth another thread

std::int64_t row_at(const View& indices, std::int64_t offset) {
  return indices.type() == Dtype::i32 ? indices.as<const std::int32_t>()[offset]
                                      : indices.as<const std::int64_t>()[offset];
}

template <class T>
HWY_NOINLINE void copy_rows(const View& weight, const View& indices, const Space& rows, View& out,
                            std::int64_t begin, std::int64_t end) {
  const int last = out.rank() - 1;
  for (Runs run(rows, begin, end); !run.done(); run.next())
    for (std::int64_t i = 0; i < run.length; ++i) {
      const std::int64_t out_step = rows.step(0);
      const std::int64_t index_step = rows.step(1);
      const std::int64_t row = row_at(indices, run.offset[1] + i * index_step);
      copy_row(out.as<T>() + run.offset[0] + i * out_step, out.stride(last),
               weight.as<const T>() + row * weight.stride(0), weight.stride(1), out.size(last));
    }
}

void run(const View& weight, const View& indices, std::int64_t, bool, bool, View& out) {
  if (out.numel() == 0) return;
  const int last = out.rank() - 1;
  const detail::Without chosen(out, last);
  const View* const views[] = {&chosen.view, &indices};
  const Space rows = make_space(views, 2);
  const std::int64_t row_bytes = out.size(last) * (out.dtype.bits / 8);
  parallel_for(rows.count, 1 + kBytesEach / row_bytes, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    switch (out.dtype.bits) {
      case 64:
        return copy_rows<std::uint64_t>(weight, indices, rows, out, begin, end);
      case 32:
        return copy_rows<std::uint32_t>(weight, indices, rows, out, begin, end);
      case 16:
        return copy_rows<std::uint16_t>(weight, indices, rows, out, begin, end);
      default:
        return copy_rows<std::uint8_t>(weight, indices, rows, out, begin, end);
    }
  });
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::embedding, run, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
