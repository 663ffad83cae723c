// The idea: a strided run is first collected into a small buffer of its own elements, a plain loop that any
// layout can use, and then converted a vector at a time with the loads and stores of lanes.h. So the bits of
// a conversion never depend on strides.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/gather.cpp"
#include "levels.h"

#include "gather.h"
#include "lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kChunk = 128;  // elements collected at a time: at most 1 KiB

// Without a second rounding: C holds every T, or T is double and C float.
template <class C, class T>
HWY_NOINLINE void convert(C* to, const T* from, std::int64_t n) {
  if constexpr (std::is_same_v<T, double> && std::is_same_v<C, float>) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
  } else {
    const hn::ScalableTag<C> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(load(d, from + i), d, to + i);
    if (i < n) store_n(load_n(d, from + i, n - i), d, to + i, n - i);
  }
}

// Values rounded to a half format, in place.
template <class Half>
HWY_NOINLINE void round_through(float* values, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(widen<Half>(d, narrow<Half>(d, hn::LoadU(d, values + i))), d, values + i);
  if (i < n) store_n(widen<Half>(d, narrow<Half>(d, load_n(d, values + i, n - i))), d, values + i, n - i);
}

template <class C, class T>
void convert_as(C* to, const T* from, Dtype as, std::int64_t n) {
  if constexpr (std::is_same_v<C, float>) {
    if (as != Dtype::f32) {
      if constexpr (std::is_same_v<T, double>) {  // by way of f32 it would be rounded twice
        for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(round_to(from[i], format(as)));
        return;
      }
      convert(to, from, n);
      if (!std::is_same_v<T, F16> && as == Dtype::f16) round_through<F16>(to, n);
      if (!std::is_same_v<T, BF16> && as == Dtype::bf16) round_through<BF16>(to, n);
      return;
    }
  }
  convert(to, from, n);
}

// Of from[0], from[2], ... as many as whole vectors can be read without what lies after the last one; returns how many.
template <class C>
HWY_NOINLINE std::int64_t gather_every_other(C* to, const C* from, std::int64_t n) {
  const hn::ScalableTag<C> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes < n; i += lanes)
    hn::StoreU(hn::ConcatEven(d, hn::LoadU(d, from + 2 * i + lanes), hn::LoadU(d, from + 2 * i)), d, to + i);
  return i;
}

template <class C, class T>
void gather_elements(C* to, const T* from, std::int64_t step, Dtype as, std::int64_t n) {
  if (step == 1) return convert_as(to, from, as, n);
  if constexpr (std::is_same_v<C, T>)
    if (step == 2 && bytes(as) == static_cast<int>(sizeof(C))) {
      const std::int64_t done = gather_every_other(to, from, n);
      to += done, from += done * step, n -= done;
    }
  if (step == 0) {
    C value;
    convert_as(&value, from, as, 1);
    for (std::int64_t i = 0; i < n; ++i) to[i] = value;
    return;
  }
  T chunk[kChunk];
  for (std::int64_t i = 0; i < n; i += kChunk) {
    const std::int64_t m = HWY_MIN(kChunk, n - i);
    for (std::int64_t j = 0; j < m; ++j) chunk[j] = from[(i + j) * step];
    convert_as(to + i, chunk, as, m);
  }
}

template <class C, class T>
void scatter_elements(T* to, std::int64_t step, const C* from, std::int64_t n) {
  const hn::ScalableTag<C> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (step == 1) {
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store(hn::LoadU(d, from + i), d, to + i);
    if (i < n) store_n(load_n(d, from + i, n - i), d, to + i, n - i);
    return;
  }
  T chunk[kChunk];
  for (std::int64_t i = 0; i < n; i += kChunk) {
    const std::int64_t m = HWY_MIN(kChunk, n - i);
    scatter_elements(chunk, 1, from + i, m);
    for (std::int64_t j = 0; j < m; ++j) to[(i + j) * step] = chunk[j];
  }
}

template <class C>
void gather_booleans(C* to, const std::uint8_t* from, std::int64_t step, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step] != 0 ? C{1} : C{0};
}

template <class C, class T>
HWY_NOINLINE void gather_integers(C* to, const T* from, std::int64_t step, Dtype as, std::int64_t n) {
  if constexpr (std::is_same_v<C, float>) {
    if (as != Dtype::f32) {
      for (std::int64_t i = 0; i < n; ++i)
        to[i] = static_cast<float>(round_to(static_cast<double>(from[i * step]), format(as)));
      return;
    }
  }
  if (step == 1)
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<C>(from[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<C>(from[i * step]);
}

template <class T>
HWY_NOINLINE void scatter_integers(T* to, std::int64_t step, const std::int64_t* from, std::int64_t n) {
  if (step == 1)
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i * step] = static_cast<T>(from[i]);
}

// Values brought into the range of a dtype, in place.
void wrap(std::int64_t* values, Dtype dtype, std::int64_t n) {
  const auto keep = [&](auto low) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<decltype(low)>(values[i]);
  };
  switch (dtype) {
    case Dtype::i32:
      return keep(std::int32_t{});
    case Dtype::i16:
      return keep(std::int16_t{});
    case Dtype::i8:
      return keep(std::int8_t{});
    case Dtype::u8:
      return keep(std::uint8_t{});
    case Dtype::boolean:
      for (std::int64_t i = 0; i < n; ++i) values[i] = values[i] != 0 ? 1 : 0;
      return;
    default:
      return;
  }
}

// Whether it was of integers.
template <class C>
bool gather_if_integers(C* to, const void* from, Dtype type, std::int64_t step, Dtype as, std::int64_t n) {
  switch (type) {
    case Dtype::i64:
      gather_integers(to, static_cast<const std::int64_t*>(from), step, as, n);
      return true;
    case Dtype::i32:
      gather_integers(to, static_cast<const std::int32_t*>(from), step, as, n);
      return true;
    case Dtype::i16:
      gather_integers(to, static_cast<const std::int16_t*>(from), step, as, n);
      return true;
    case Dtype::i8:
      gather_integers(to, static_cast<const std::int8_t*>(from), step, as, n);
      return true;
    case Dtype::u8:
      gather_integers(to, static_cast<const std::uint8_t*>(from), step, as, n);
      return true;
    case Dtype::boolean:
      gather_booleans(to, static_cast<const std::uint8_t*>(from), step, n);
      return true;
    default:
      return false;
  }
}

}  // namespace

void gather(float* to, const void* from, Dtype type, std::int64_t step, Dtype as, std::int64_t n) {
  if (gather_if_integers(to, from, type, step, as, n)) return;
  ASSAY_CPU_WITH_ELEMENT(type, T, gather_elements(to, static_cast<const T*>(from), step, as, n));
}

void gather(double* to, const void* from, Dtype type, std::int64_t step, Dtype as, std::int64_t n) {
  if (gather_if_integers(to, from, type, step, as, n)) return;
  ASSAY_CPU_WITH_ELEMENT(type, T, gather_elements(to, static_cast<const T*>(from), step, as, n));
}

void gather(std::int64_t* to, const void* from, Dtype type, std::int64_t step, Dtype as, std::int64_t n) {
  gather_if_integers(to, from, type, step, as, n);
  if (bytes(type) > bytes(as) || (bytes(type) == bytes(as) && type != as)) wrap(to, as, n);
}

void scatter(void* to, Dtype type, std::int64_t step, const float* from, std::int64_t n) {
  switch (type) {
    case Dtype::f16:
      return scatter_elements(static_cast<F16*>(to), step, from, n);
    case Dtype::bf16:
      return scatter_elements(static_cast<BF16*>(to), step, from, n);
    default:
      return scatter_elements(static_cast<float*>(to), step, from, n);
  }
}

void scatter(void* to, Dtype, std::int64_t step, const double* from, std::int64_t n) {
  scatter_elements(static_cast<double*>(to), step, from, n);
}

void scatter(void* to, Dtype type, std::int64_t step, const std::int64_t* from, std::int64_t n) {
  switch (type) {
    case Dtype::i64:
      return scatter_integers(static_cast<std::int64_t*>(to), step, from, n);
    case Dtype::i32:
      return scatter_integers(static_cast<std::int32_t*>(to), step, from, n);
    case Dtype::i16:
      return scatter_integers(static_cast<std::int16_t*>(to), step, from, n);
    case Dtype::boolean:
      for (std::int64_t i = 0; i < n; ++i) static_cast<std::uint8_t*>(to)[i * step] = from[i] != 0 ? 1 : 0;
      return;
    default:  // i8 and u8 have the same bits
      return scatter_integers(static_cast<std::uint8_t*>(to), step, from, n);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
