// Real numbers as integers with a scale and a zero point, and back.
//
// The idea: rows without gaps are read and written where they lie; others, and short ones, go through buffers, a block of
// elements at a time, so that any layout is one code. The quotient is
// a division, rounded once, and not a product with the reciprocal, which moves some of it across a tie. It is cut to
// a range that an integer holds before it is converted, and the conversion rounds ties to even, as the formula does;
// the zero point is added after that, in integers, where it cannot move a tie. NaN fails the comparison that keeps a
// number. The way back has one rounding, that of the product.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/quantize.cpp"
#include "levels.h"

#include <bit>

#include "lanes.h"
#include "ops/quantize.h"
#include "parallel.h"
#include "runs.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kBlock = 512;  // elements
constexpr std::int64_t kShort = 64;   // elements of a row, below which rows are collected into blocks
constexpr std::int64_t kGrain = 32768;

struct Affine {
  float scale;
  std::int32_t zero_point, least, greatest;
};

// The low bits are those of either dtype.
HWY_NOINLINE void quantize(Affine a, std::uint8_t* to, const float* from, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // The last bit of a number of this size is 1: adding it rounds to an integer, ties to even.
  const float unit = 12582912.0f;
  const std::int32_t offset = a.zero_point - std::bit_cast<std::int32_t>(unit);
  const auto quantized = [&](auto x) HWY_ATTR {
    const auto steps =
        hn::Min(hn::Max(hn::Div(x, hn::Set(d, a.scale)), hn::Set(d, -1024.0f)), hn::Set(d, 1024.0f));
    const auto integer = hn::Add(hn::IfThenElse(hn::Eq(x, x), steps, hn::Set(d, -1024.0f)), hn::Set(d, unit));
    const auto q = hn::Add(hn::BitCast(di, integer), hn::Set(di, offset));
    const auto in_range = hn::Min(hn::Max(q, hn::Set(di, a.least)), hn::Set(di, a.greatest));
    return hn::TruncateTo(bytes, hn::BitCast(du, in_range));
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(quantized(hn::LoadU(d, from + i)), bytes, to + i);
  if (i < n) store_lanes(quantized(load_n(d, from + i, n - i)), bytes, to + i, n - i);
}

template <class I>
HWY_NOINLINE void dequantize(Affine a, float* to, const I* from, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<I, decltype(d)> bytes;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto real = [&](auto stored) HWY_ATTR {
    const auto integers = hn::PromoteTo(di, stored);
    return hn::Mul(hn::ConvertTo(d, hn::Sub(integers, hn::Set(di, a.zero_point))), hn::Set(d, a.scale));
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(real(hn::LoadU(bytes, from + i)), d, to + i);
  if (i < n) store_lanes(real(load_lanes(bytes, from + i, n - i)), d, to + i, n - i);
}

// Calls dense(to, from, n) for stretches of both views, or, if these have gaps, block(at, n) for stretches of the space, on
// several threads.
template <class Dense, class Block>
void each_stretch(const Space& space, const Dense& dense, const Block& block) {
  const bool direct = space.step(0) == 1 && space.step(1) == 1 && space.size[0] >= kShort;
  parallel_for(space.count, kGrain, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    if (direct)
      for (Runs run(space, begin, end); !run.done(); run.next())
        dense(run.offset[0], run.offset[1], run.length);
    else
      for (std::int64_t at = begin; at < end; at += kBlock) block(at, HWY_MIN(kBlock, end - at));
  });
}

template <class T>
HWY_NOINLINE void copy_stretch(T* to, std::int64_t to_step, const T* from, std::int64_t from_step,
                               std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
}

void quantize_per_tensor(const View& self, double scale, std::int64_t zero_point, Dtype, View& out) {
  const View* const views[] = {&out, &self};
  const Space space = make_space(views, 2);
  const bool is_signed = out.type() == Dtype::i8;
  const Affine affine{static_cast<float>(scale), static_cast<std::int32_t>(zero_point), is_signed ? -128 : 0,
                      is_signed ? 127 : 255};
  each_stretch(
      space,
      [&](std::int64_t to, std::int64_t from, std::int64_t n)
          HWY_ATTR { quantize(affine, out.as<std::uint8_t>() + to, self.as<const float>() + from, n); },
      [&](std::int64_t at, std::int64_t n) HWY_ATTR {
        HWY_ALIGN float real[kBlock];
        HWY_ALIGN std::uint8_t integer[kBlock];
        move_in(real, space, 1, at, at + n, self.data, Dtype::f32, Dtype::f32);
        quantize(affine, integer, real, n);
        const std::uint8_t* from = integer;
        for (Runs run(space, at, at + n); !run.done(); from += run.length, run.next())
          copy_stretch(out.as<std::uint8_t>() + run.offset[0], space.step(0), from, 1, run.length);
      });
}

// I is the input's type.
template <class I>
void dequantize(const View& self, const Affine& affine, const Space& space, View& out) {
  each_stretch(
      space,
      [&](std::int64_t to, std::int64_t from, std::int64_t n)
          HWY_ATTR { dequantize(affine, out.as<float>() + to, self.as<const I>() + from, n); },
      [&](std::int64_t at, std::int64_t n) HWY_ATTR {
        HWY_ALIGN float real[kBlock];
        HWY_ALIGN I integer[kBlock];
        I* to = integer;
        for (Runs run(space, at, at + n); !run.done(); to += run.length, run.next())
          copy_stretch(to, 1, self.as<const I>() + run.offset[1], space.step(1), run.length);
        dequantize(affine, real, integer, n);
        move_out(real, space, 0, at, at + n, out.data, Dtype::f32);
      });
}

void dequantize_per_tensor(const View& self, double scale, std::int64_t zero_point, View& out) {
  const View* const views[] = {&out, &self};
  const Space space = make_space(views, 2);
  const Affine affine{static_cast<float>(scale), static_cast<std::int32_t>(zero_point), 0, 0};
  if (self.type() == Dtype::i8)
    dequantize<std::int8_t>(self, affine, space, out);
  else
    dequantize<std::uint8_t>(self, affine, space, out);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {
    ASSAY_CPU_LEVELS(ops::quantize_per_tensor, quantize_per_tensor, nullptr),
    ASSAY_CPU_LEVELS(ops::dequantize_per_tensor, dequantize_per_tensor, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
