// Vectors of the compute type, to and from memory of any element type. Compiled for each level.
//
//   load(d, p)        as many elements as d has lanes, converted exactly
//   load_n(d, p, n)   n < lanes elements, the other lanes 0; touches no memory after them
//   store(v, d, p), store_n(v, d, p, n)   the same way back, rounded once to nearest even
//
// d is a tag of the compute type; memory needs the alignment of its elements only. f16 and bf16 keep
// subnormals, signed zeros, infinities and NaN, and overflow to infinity. Highway's own conversions without
// F16C truncate, and lose f16's NaN and bf16's rounding on every target; those here are compared with dtype.h
// over all 65536 codes and over every f32 in the tests.
#include "element.h"
#include "hwy/highway.h"

#if defined(ASSAY_CPU_LANES_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_LANES_H
#undef ASSAY_CPU_LANES_H
#else
#define ASSAY_CPU_LANES_H
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The vector of u16 that holds the bits of d's lanes in a 16-bit format.
template <class D>
using Bits16 = hn::Rebind<std::uint16_t, D>;

template <class T, class D>
HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<Bits16<D>> bits) {
  const hn::RebindToUnsigned<D> du;
  if constexpr (std::is_same_v<T, BF16>) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
  } else {
#if HWY_TARGET == HWY_EMU128
    // Exponent and fraction move into place; 112 = 127 - 15. A subnormal is an integer times 2^-24: with the
    // exponent field of 2^-14 in front it is a float from which 2^-14 is subtracted exactly (F. Giesen,
    // "half_to_float_fast5").
    const auto half = hn::PromoteTo(du, bits);
    const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(du, 0x7FFFu)));
    const auto exponent = hn::And(magnitude, hn::Set(du, 0x0F800000u));
    const auto normal = hn::Add(magnitude, hn::Set(du, 112u << 23));
    const auto special = hn::Add(normal, hn::Set(du, 112u << 23));
    const auto tiny = hn::BitCast(du, hn::Sub(hn::BitCast(d, hn::Add(normal, hn::Set(du, 1u << 23))),
                                              hn::BitCast(d, hn::Set(du, 113u << 23))));
    auto result = hn::IfThenElse(hn::Eq(exponent, hn::Zero(du)), tiny, normal);
    result = hn::IfThenElse(hn::Eq(exponent, hn::Set(du, 0x0F800000u)), special, result);
    return hn::BitCast(d, hn::Or(result, hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000u)))));
#else
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
#endif
  }
}

template <class T, class D>
HWY_INLINE hn::Vec<Bits16<D>> narrow([[maybe_unused]] D d, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const Bits16<D> d16;
  if constexpr (std::is_same_v<T, BF16>) {
    // Half a unit less one, plus the lowest bit that stays: ties go to even, and carries run into the
    // exponent.
    const auto bits = hn::BitCast(du, v);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto rounded =
        hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::And(upper, hn::Set(du, 1u)), hn::Set(du, 0x7FFFu))));
    const auto nan = hn::Gt(hn::And(bits, hn::Set(du, 0x7FFFFFFFu)), hn::Set(du, 0x7F800000u));
    return hn::TruncateTo(d16, hn::IfThenElse(nan, hn::Or(upper, hn::Set(du, 0x40u)), rounded));
  } else {
#if HWY_TARGET == HWY_EMU128
    // As above, in reverse. A result that is subnormal in f16 is rounded by adding 0.5, whose unit in the
    // last place is 2^-24, f16's smallest number (F. Giesen, "float_to_half_fast3_rtne").
    const auto bits = hn::BitCast(du, v);
    const auto sign = hn::And(bits, hn::Set(du, 0x80000000u));
    const auto magnitude = hn::Xor(bits, sign);
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
    const auto normal = hn::ShiftRight<13>(
        hn::Sub(hn::Add(magnitude, hn::Add(odd, hn::Set(du, 0xFFFu))), hn::Set(du, 112u << 23)));
    const auto half = hn::Set(d, 0.5f);
    const auto tiny =
        hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), half)), hn::BitCast(du, half));
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 113u << 23)), tiny, normal);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x477FEFFFu)), hn::Set(du, 0x7C00u), result);
    const auto payload =
        hn::Or(hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x3FFu)), hn::Set(du, 0x7E00u));
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7F800000u)), payload, result);
    return hn::TruncateTo(d16, hn::Or(result, hn::ShiftRight<16>(sign)));
#else
    return hn::BitCast(d16, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
#endif
  }
}

// One lane's type that moves in memory: u16 for the half formats.
template <class T>
using Stored = std::conditional_t<is_half<T>, std::uint16_t, T>;

template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* p) {
  if constexpr (std::is_same_v<T, hn::TFromD<D>>) {
    return hn::LoadU(d, p);
  } else if constexpr (is_half<T> && std::is_same_v<hn::TFromD<D>, float>) {
    return widen<T>(d, hn::LoadU(Bits16<D>(), reinterpret_cast<const std::uint16_t*>(p)));
  } else {  // to f64
    return hn::PromoteTo(d, load(hn::Rebind<float, D>(), p));
  }
}

template <class D, class T>
HWY_INLINE void store(hn::Vec<D> v, D d, T* p) {
  if constexpr (std::is_same_v<T, hn::TFromD<D>>) {
    hn::StoreU(v, d, p);
  } else {
    static_assert(is_half<T> && std::is_same_v<hn::TFromD<D>, float>);
    hn::StoreU(narrow<T>(d, v), Bits16<D>(), reinterpret_cast<std::uint16_t*>(p));
  }
}

// The first n < N lanes, by halves: before AVX-512 processors take long for masked stores.
template <class D>
HWY_INLINE void store_halves(hn::Vec<D> v, D /*d*/, hn::TFromD<D>* p, std::int64_t n) {
  constexpr auto half = static_cast<std::int64_t>(hn::MaxLanes(D()) / 2);
  if constexpr (half > 0) {
    const hn::Half<D> dh;
    auto rest = hn::LowerHalf(dh, v);
    if (n >= half) {
      hn::StoreU(rest, dh, p);
      rest = hn::UpperHalf(dh, v);
      p += half;
      n -= half;
    }
    store_halves(rest, dh, p, n);
  }
}

#if HWY_TARGET == HWY_AVX3
// Masked moves do not touch the memory of lanes that are off.
template <class D>
HWY_INLINE hn::Vec<D> load_lanes(D d, const hn::TFromD<D>* p, std::int64_t n) {
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(n)), d, p);
}
template <class D>
HWY_INLINE void store_lanes(hn::Vec<D> v, D d, hn::TFromD<D>* p, std::int64_t n) {
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(n)), d, p);
}
#else
template <class D>
HWY_INLINE hn::Vec<D> load_lanes(D d, const hn::TFromD<D>* p, std::int64_t n) {
  if constexpr (HWY_TARGET == HWY_AVX2 && sizeof(*p) >= 4) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(n)), d, p);
  } else {
    HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(*p)] = {};
    for (std::int64_t i = 0; i < n; ++i) lanes[i] = p[i];
    return hn::Load(d, lanes);
  }
}
template <class D>
HWY_INLINE void store_lanes(hn::Vec<D> v, D d, hn::TFromD<D>* p, std::int64_t n) {
  if constexpr (HWY_TARGET == HWY_AVX2) {
    store_halves(v, d, p, n);
  } else {
    HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(*p)];
    hn::Store(v, d, lanes);
    for (std::int64_t i = 0; i < n; ++i) p[i] = lanes[i];
  }
}
#endif

template <class D, class T>
HWY_INLINE hn::Vec<D> load_n(D d, const T* p, std::int64_t n) {
  if constexpr (std::is_same_v<T, hn::TFromD<D>>) {
    return load_lanes(d, p, n);
  } else if constexpr (is_half<T> && std::is_same_v<hn::TFromD<D>, float>) {
    return widen<T>(d, load_lanes(Bits16<D>(), reinterpret_cast<const std::uint16_t*>(p), n));
  } else {  // to f64
    return hn::PromoteTo(d, load_n(hn::Rebind<float, D>(), p, n));
  }
}

template <class D, class T>
HWY_INLINE void store_n(hn::Vec<D> v, D d, T* p, std::int64_t n) {
  if constexpr (std::is_same_v<T, hn::TFromD<D>>) {
    store_lanes(v, d, p, n);
  } else {
    store_lanes(narrow<T>(d, v), Bits16<D>(), reinterpret_cast<std::uint16_t*>(p), n);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
