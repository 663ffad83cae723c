// Rows of u8 numbers times rows of i8 weights, in integers: what products of quantised tensors share. Compiled for each
// level.
//
// The idea: sum (x - zx)(w - zw) = sum x w - zx sum w - zw sum x + K zx zw, so that the inner loop multiplies bytes as
// they are: widened to 16 bits, pairs of products are added into 32 (VPMADDWD). Products are below 2^15, so sums of
// kMostTerms of them fit; they are put together in 64 bits. All of that is exact. What is rounded is the factor, the
// product of the sum as f32 with it, and the result, to nearest even before the zero point is added. A row of the
// input meets kColumns rows of the weight at a time.
#include <cstdint>

#include "element.h"
#include "hwy/highway.h"

#if defined(ASSAY_CPU_QUANTIZED_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_QUANTIZED_H
#undef ASSAY_CPU_QUANTIZED_H
#else
#define ASSAY_CPU_QUANTIZED_H
#endif

#ifndef ASSAY_CPU_QUANTIZED_WEIGHTS
#define ASSAY_CPU_QUANTIZED_WEIGHTS
namespace assay::cpu {

// What the results of one row of weights have in common; `sum` is of its numbers.
struct QuantizedColumn {
  std::int64_t zero_point, bias, sum;
  float factor;
};

// columns x terms, row-major, and what belongs to each row.
struct QuantizedWeights {
  const std::int8_t* rows;
  const QuantizedColumn* column;
  std::int64_t columns, terms, input_zero_point, output_zero_point;
};

template <class T>
std::int64_t sum_of(const T* x, std::int64_t n) {
  std::int64_t total = 0;
  for (std::int64_t k = 0; k < n; ++k) total += x[k];
  return total;
}

// Of column j, whose numbers are `row`. Scales and zero points are one for all columns, or one for each.
inline QuantizedColumn quantized_column(std::int64_t j, const std::int8_t* row, std::int64_t terms,
                                        const View& scale, const View& zero_point, const View* bias,
                                        double input_scale, double output_scale) {
  const std::int64_t c = scale.size(0) == 1 ? 0 : j;
  const float own = scale.as<const float>()[c * scale.stride(0)];
  return {zero_point.as<const std::int32_t>()[c * zero_point.stride(0)],
          bias == nullptr ? 0 : bias->as<const std::int32_t>()[j * bias->stride(0)], sum_of(row, terms),
          static_cast<float>(input_scale) * own / static_cast<float>(output_scale)};
}

inline std::uint8_t requantize(std::int64_t total, float factor, std::int64_t zero_point) {
  float steps = static_cast<float>(total) * factor;
  steps = steps > -1024.0f ? steps : -1024.0f;  // NaN, too
  steps = steps < 1024.0f ? steps : 1024.0f;
  const std::int64_t q = __builtin_lrintf(steps) + zero_point;
  return static_cast<std::uint8_t>(q < 0 ? 0 : q > 255 ? 255 : q);
}

}  // namespace assay::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// sums[c] = sum over k of x[k] * w[c * terms + k]
template <std::int64_t columns>
HWY_NOINLINE void quantized_dot(std::int64_t* sums, const std::uint8_t* x, const std::int8_t* w,
                                std::int64_t terms) {
  constexpr std::int64_t kMostTerms = 1 << 15;
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

// y[j * step] = x times row j of the weights, for all rows.
HWY_INLINE void multiply_quantized(std::uint8_t* y, std::int64_t step, const std::uint8_t* x,
                                   const QuantizedWeights& w) {
  constexpr std::int64_t kColumns = 4;
  const std::int64_t sum_of_x = sum_of(x, w.terms);
  for (std::int64_t j = 0; j < w.columns; j += kColumns) {
    const std::int64_t some = HWY_MIN(kColumns, w.columns - j);
    std::int64_t sums[kColumns];
    if (some == kColumns)
      quantized_dot<kColumns>(sums, x, w.rows + j * w.terms, w.terms);
    else
      for (std::int64_t c = 0; c < some; ++c)
        quantized_dot<1>(sums + c, x, w.rows + (j + c) * w.terms, w.terms);
    for (std::int64_t c = 0; c < some; ++c) {
      const QuantizedColumn& to = w.column[j + c];
      const std::int64_t total = to.bias + sums[c] - w.input_zero_point * to.sum - to.zero_point * sum_of_x +
                                 w.terms * w.input_zero_point * to.zero_point;
      y[(j + c) * step] = requantize(total, to.factor, w.output_zero_point);
    }
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
