// Real numbers as integers with a scale and a zero point, and back.
//
// The idea: blocks of elements go through a buffer of f32 and one of i32, so any layout is one code. The quotient is
// a division, rounded once, and not a product with the reciprocal, which moves some of it across a tie. It is cut to
// a range that an integer holds before it is converted, and the conversion rounds ties to even, as the formula does;
// the zero point is added after that, in integers, where it cannot move a tie. NaN fails the comparison that keeps a
// number. The way back has one rounding, that of the product.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/quantize.cpp"
#include "levels.h"

#include "ops/quantize.h"
#include "parallel.h"
#include "runs.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kBlock = 512;  // elements: a multiple of every vector
constexpr std::int64_t kGrain = 32768;

struct Affine {
  float scale;
  std::int32_t zero_point, least, greatest;
};

HWY_NOINLINE void quantize(const Affine& a, std::int32_t* to, const float* from, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < n; i += lanes) {
    const auto x = hn::LoadU(d, from + i);
    const auto steps =
        hn::Min(hn::Max(hn::Div(x, hn::Set(d, a.scale)), hn::Set(d, -1024.0f)), hn::Set(d, 1024.0f));
    const auto q = hn::Add(hn::NearestInt(hn::IfThenElse(hn::Eq(x, x), steps, hn::Set(d, -1024.0f))),
                           hn::Set(di, a.zero_point));
    hn::StoreU(hn::Min(hn::Max(q, hn::Set(di, a.least)), hn::Set(di, a.greatest)), di, to + i);
  }
}

HWY_NOINLINE void dequantize(const Affine& a, float* to, const std::int32_t* from, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < n; i += lanes)
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::Sub(hn::LoadU(di, from + i), hn::Set(di, a.zero_point))),
                       hn::Set(d, a.scale)),
               d, to + i);
}

template <class T>
HWY_NOINLINE void spread(T* to, std::int64_t step, const std::int32_t* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i * step] = static_cast<T>(from[i]);
}
template <class T>
HWY_NOINLINE void collect(std::int32_t* to, const T* from, std::int64_t step, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}

// Calls block(at, n) for stretches of the output's space, on several threads.
template <class Block>
void each_block(const Space& space, const Block& block) {
  parallel_for(space.count, kGrain, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    for (std::int64_t at = begin; at < end; at += kBlock) block(at, HWY_MIN(kBlock, end - at));
  });
}

void quantize_per_tensor(const View& self, double scale, std::int64_t zero_point, Dtype, View& out) {
  const View* const views[] = {&out, &self};
  const Space space = make_space(views, 2);
  const bool is_signed = out.type() == Dtype::i8;
  const Affine affine{static_cast<float>(scale), static_cast<std::int32_t>(zero_point), is_signed ? -128 : 0,
                      is_signed ? 127 : 255};
  each_block(space, [&](std::int64_t at, std::int64_t n) HWY_ATTR {
    HWY_ALIGN float real[kBlock] = {};
    HWY_ALIGN std::int32_t integer[kBlock];
    move_in(real, space, 1, at, at + n, self.data, Dtype::f32, Dtype::f32);
    quantize(affine, integer, real, n);
    const std::int32_t* from = integer;
    for (Runs run(space, at, at + n); !run.done(); from += run.length, run.next())
      spread(out.as<std::uint8_t>() + run.offset[0], space.step(0), from, run.length);
  });
}

void dequantize_per_tensor(const View& self, double scale, std::int64_t zero_point, View& out) {
  const View* const views[] = {&out, &self};
  const Space space = make_space(views, 2);
  const Affine affine{static_cast<float>(scale), static_cast<std::int32_t>(zero_point), 0, 0};
  each_block(space, [&](std::int64_t at, std::int64_t n) HWY_ATTR {
    HWY_ALIGN float real[kBlock];
    HWY_ALIGN std::int32_t integer[kBlock] = {};
    std::int32_t* to = integer;
    for (Runs run(space, at, at + n); !run.done(); to += run.length, run.next())
      if (self.type() == Dtype::i8)
        collect(to, self.as<const std::int8_t>() + run.offset[1], space.step(1), run.length);
      else
        collect(to, self.as<const std::uint8_t>() + run.offset[1], space.step(1), run.length);
    dequantize(affine, real, integer, n);
    move_out(real, space, 0, at, at + n, out.data, Dtype::f32);
  });
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
