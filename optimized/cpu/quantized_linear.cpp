// Matrix products of u8 inputs and i8 weights, in integers: see quantized.h. Rows that have gaps are copied first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/quantized_linear.cpp"
#include "levels.h"

#include "../geometry/without.h"
#include "copy.h"
#include "ops/quantized_linear.h"
#include "parallel.h"
#include "quantized.h"
#include "scratch.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kGrain = 1 << 18;  // products that are worth another thread

void run(const View& input, const View& weight, const View& weight_scale, const View& weight_zero_point,
         const View* bias, double input_scale, std::int64_t input_zero_point, double output_scale,
         std::int64_t output_zero_point, View& out) {
  if (out.numel() == 0) return;
  const std::int64_t columns = weight.size(0), terms = weight.size(1);
  Scratch scratch(scratch_bytes<std::int8_t>(columns * terms) + scratch_bytes<QuantizedColumn>(columns));
  auto* const packed = scratch.take<std::int8_t>(columns * terms);
  auto* const column = scratch.take<QuantizedColumn>(columns);
  for (std::int64_t j = 0; j < columns; ++j) {
    std::int8_t* const row = packed + j * terms;
    copy_row(row, 1, weight.as<const std::int8_t>() + j * weight.stride(0), weight.stride(1), terms);
    column[j] =
        quantized_column(j, row, terms, weight_scale, weight_zero_point, bias, input_scale, output_scale);
  }
  const QuantizedWeights weights{packed, column, columns, terms, input_zero_point, output_zero_point};

  const int last = input.rank() - 1;
  const View* const views[] = {&out, &input};
  const Space rows = space_without(last, views, 2);
  const std::int64_t out_row = rows.step(0);
  const std::int64_t in_row = rows.step(1);
  const auto work = HWY_MAX(std::int64_t{1}, columns * terms);
  parallel_for(rows.count, 1 + kGrain / work, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    Scratch own(scratch_bytes<std::uint8_t>(terms));
    auto* const x = own.take<std::uint8_t>(terms);
    for (Runs at(rows, begin, end); !at.done(); at.next())
      for (std::int64_t r = 0; r < at.length; ++r) {
        copy_row(x, 1, input.as<const std::uint8_t>() + at.offset[1] + r * in_row, input.stride(last), terms);
        multiply_quantized(out.as<std::uint8_t>() + at.offset[0] + r * out_row, out.stride(last), x, weights);
      }
  });
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::quantized_linear, run, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
