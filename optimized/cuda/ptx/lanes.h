// Registers as numbers of a type, and loops over the lanes of a mask.
//
// A register holds 64 bits. What is read are as many low bits as the type has; what is written is the number, extended by
// its sign if it has one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "../emulation/types.h"
#include "warp.h"

namespace assay::cuda::ptx {

struct Binary16 {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

template <class T>
T get(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else if constexpr (std::is_class_v<T>)
    return T{static_cast<std::uint16_t>(bits)};
  else
    return static_cast<T>(bits);
}

template <class T>
std::uint64_t put(T x) {
  if constexpr (std::is_same_v<T, float>)
    return x != x ? 0x7fffffffu : std::bit_cast<std::uint32_t>(x);  // the NaN of f32 instructions
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<std::uint64_t>(x);
  else if constexpr (std::is_class_v<T>)
    return x.bits;
  else if constexpr (std::is_signed_v<T>)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
  else
    return x;
}

// What moves a number and does not compute moves its bits, of a NaN too: through this type.
template <class T>
using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t,
                                std::conditional_t<std::is_same_v<T, double>, std::uint64_t, T>>;

// f of each lane of the mask, one after another.
template <class F>
void each_lane(std::uint32_t lanes, F f) {
  if (lanes == ~0u) {
    for (std::uint32_t lane = 0; lane < kWarp; ++lane) f(lane);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) f(static_cast<std::uint32_t>(std::countr_zero(lanes)));
  }
}

// The same where f does no more than compute registers of its lane, so that several may be computed at once. Rows are one
// or apart.
template <class F>
void in_vectors(std::uint32_t lanes, F f) {
  if (lanes == ~0u) {
#ifndef __clang__
#pragma GCC ivdep
#endif
    for (std::uint32_t lane = 0; lane < kWarp; ++lane) f(lane);
  } else {
    each_lane(lanes, f);
  }
}

template <class R, class A, R (*op)(A)>
void unary(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *d = warp.row(i.row[0]), *a = warp.row(i.row[1]);
  in_vectors(lanes, [=](std::uint32_t l) { d[l] = put<R>(op(get<A>(a[l]))); });
}

template <class R, class T, R (*op)(T, T)>
void binary(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *d = warp.row(i.row[0]), *a = warp.row(i.row[1]), *b = warp.row(i.row[2]);
  in_vectors(lanes, [=](std::uint32_t l) { d[l] = put<R>(op(get<T>(a[l]), get<T>(b[l]))); });
}

template <class R, class T, class C, R (*op)(T, T, C)>
void ternary(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  std::uint64_t *d = warp.row(i.row[0]), *a = warp.row(i.row[1]), *b = warp.row(i.row[2]),
                *c = warp.row(i.row[3]);
  in_vectors(lanes, [=](std::uint32_t l) { d[l] = put<R>(op(get<T>(a[l]), get<T>(b[l]), get<C>(c[l]))); });
}

// Whether handlers that are chosen from now on are those for AVX2 and FMA, as they are where the processor has both: their
// loops are compiled to vectors, and a fused multiply-add is one instruction, not a call. Tests turn it off.
bool& in_avx2();

#if defined(__x86_64__)
template <Handler handler>
[[gnu::target("avx2,fma"), gnu::flatten]] void with_avx2(Warp& warp, const Instruction& i,
                                                         std::uint32_t lanes) {
  handler(warp, i, lanes);
}
#endif

// `handler` as it is compiled for this processor.
template <Handler handler>
Handler best() {
#if defined(__x86_64__)
  if (in_avx2()) return &with_avx2<handler>;
#endif
  return handler;
}
template <class R, class A, R (*op)(A)>
Handler best_unary() {
  return best<&unary<R, A, op>>();
}
template <class R, class T, R (*op)(T, T)>
Handler best_binary() {
  return best<&binary<R, T, op>>();
}
template <class R, class T, class C, R (*op)(T, T, C)>
Handler best_ternary() {
  return best<&ternary<R, T, C, op>>();
}

}  // namespace assay::cuda::ptx
