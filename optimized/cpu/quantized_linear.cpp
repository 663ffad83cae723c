// Matrix products of u8 inputs and i8 weights, in integers.
//
// The idea: sum (x - zx)(w - zw) = sum x w - zx sum w - zw sum x + K zx zw, so that the inner loop multiplies bytes as
// they are: widened to 16 bits, pairs of products are added into 32 (VPMADDWD). Products are below 2^15, so sums of
// kMostTerms of them fit; they are put together in 64 bits. All of that is exact. What is rounded is the factor, the
// product of the sum as f32 with it, and the result, to nearest even before the zero point is added. A row of the
// input meets kColumns rows of the weight at a time. Rows that have gaps are copied first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/quantized_linear.cpp"
#include "levels.h"

#include "copy.h"
#include "ops/quantized_linear.h"
#include "parallel.h"
#include "scratch.h"
#include "without.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kMostTerms = 1 << 15;
constexpr std::int64_t kColumns = 4;
constexpr std::int64_t kGrain = 1 << 18;  // products that are worth another thread

// sums[c] = sum over k of x[k] * w[c * terms + k]
template <std::int64_t columns>
HWY_NOINLINE void dot(std::int64_t* sums, const std::uint8_t* x, const std::int8_t* w, std::int64_t terms) {
  const hn::ScalableTag<std::int16_t> d16;
  const hn::Repartition<std::int32_t, decltype(d16)> d32;
  const hn::Rebind<std::uint8_t, decltype(d16)> du8;
  const hn::Rebind<std::int8_t, decltype(d16)> di8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d16));
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = 0;
  for (std::int64_t begin = 0; begin < terms; begin += kMostTerms) {
    const std::int64_t end = HWY_MIN(terms, begin + kMostTerms);
    hn::Vec<decltype(d32)> low[columns], high[columns];
    for (std::int64_t c = 0; c < columns; ++c) low[c] = high[c] = hn::Zero(d32);
    std::int64_t k = begin;
    for (; k + lanes <= end; k += lanes) {
      const auto input = hn::PromoteTo(d16, hn::LoadU(du8, x + k));
      for (std::int64_t c = 0; c < columns; ++c)
        low[c] = hn::ReorderWidenMulAccumulate(
            d32, input, hn::PromoteTo(d16, hn::LoadU(di8, w + c * terms + k)), low[c], high[c]);
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      std::int32_t sum = hn::GetLane(hn::SumOfLanes(d32, hn::Add(low[c], high[c])));
      for (std::int64_t rest = k; rest < end; ++rest) sum += x[rest] * w[c * terms + rest];
      sums[c] += sum;
    }
  }
}

template <class T>
std::int64_t sum(const T* x, std::int64_t n) {
  std::int64_t total = 0;
  for (std::int64_t k = 0; k < n; ++k) total += x[k];
  return total;
}

// What a column of the result has to itself.
struct Column {
  std::int64_t zero_point, bias, sum;
  float factor;
};

std::uint8_t requantize(std::int64_t total, float factor, std::int32_t zero_point) {
  float steps = static_cast<float>(total) * factor;
  steps = steps > -1024.0f ? steps : -1024.0f;  // NaN, too
  steps = steps < 1024.0f ? steps : 1024.0f;
  const std::int32_t q = static_cast<std::int32_t>(__builtin_lrintf(steps)) + zero_point;
  return static_cast<std::uint8_t>(HWY_MIN(HWY_MAX(q, 0), 255));
}

void run(const View& input, const View& weight, const View& weight_scale, const View& weight_zero_point,
         const View* bias, double input_scale, std::int64_t input_zero_point, double output_scale,
         std::int64_t output_zero_point, View& out) {
  if (out.numel() == 0) return;
  const std::int64_t columns = weight.size(0), terms = weight.size(1);
  Scratch scratch(scratch_bytes<std::int8_t>(columns * terms) + scratch_bytes<Column>(columns));
  auto* const packed = scratch.take<std::int8_t>(columns * terms);
  auto* const column = scratch.take<Column>(columns);
  for (std::int64_t j = 0; j < columns; ++j) {
    std::int8_t* const row = packed + j * terms;
    copy_row(row, 1, weight.as<const std::int8_t>() + j * weight.stride(0), weight.stride(1), terms);
    const std::int64_t c = weight_scale.size(0) == 1 ? 0 : j;
    column[j].zero_point = weight_zero_point.as<const std::int32_t>()[c * weight_zero_point.stride(0)];
    column[j].bias = bias == nullptr ? 0 : bias->as<const std::int32_t>()[j * bias->stride(0)];
    column[j].sum = sum(row, terms);
    column[j].factor = static_cast<float>(input_scale) *
                       weight_scale.as<const float>()[c * weight_scale.stride(0)] /
                       static_cast<float>(output_scale);
  }

  const int last = input.rank() - 1;
  const View* const views[] = {&out, &input};
  const Space rows = space_without(last, views, 2);
  const std::int64_t out_row = rows.rank == 0 ? 0 : rows.stride[0][0];
  const std::int64_t in_row = rows.rank == 0 ? 0 : rows.stride[1][0];
  const auto work = HWY_MAX(std::int64_t{1}, columns * terms);
  parallel_for(rows.count, 1 + kGrain / work, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    Scratch own(scratch_bytes<std::uint8_t>(terms));
    auto* const x = own.take<std::uint8_t>(terms);
    for (Runs at(rows, begin, end); !at.done(); at.next())
      for (std::int64_t r = 0; r < at.length; ++r) {
        copy_row(x, 1, input.as<const std::uint8_t>() + at.offset[1] + r * in_row, input.stride(last), terms);
        std::uint8_t* const y = out.as<std::uint8_t>() + at.offset[0] + r * out_row;
        const std::int64_t sum_of_x = sum(x, terms);
        for (std::int64_t j = 0; j < columns; j += kColumns) {
          const std::int64_t some = HWY_MIN(kColumns, columns - j);
          std::int64_t sums[kColumns];
          if (some == kColumns)
            dot<kColumns>(sums, x, packed + j * terms, terms);
          else
            for (std::int64_t c = 0; c < some; ++c) dot<1>(sums + c, x, packed + (j + c) * terms, terms);
          for (std::int64_t c = 0; c < some; ++c) {
            const Column& to = column[j + c];
            const std::int64_t total = to.bias + sums[c] - input_zero_point * to.sum -
                                       to.zero_point * sum_of_x + terms * input_zero_point * to.zero_point;
            y[(j + c) * out.stride(last)] =
                requantize(total, to.factor, static_cast<std::int32_t>(output_zero_point));
          }
        }
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
