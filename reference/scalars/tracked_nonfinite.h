// Operations where an operand may be NaN, infinite, or a zero that divides: every combination of what the operands may
// be is looked at. Included by tracked.cpp.
#pragma once

#include "tracked.h"

namespace assay::detail {

// What a set contains, as bits.
enum Piece : std::uint8_t {
  kNegativeInfinity = 1,
  kNegative = 2,
  kNegativeZero = 4,
  kPositiveZero = 8,
  kPositive = 16,
  kPositiveInfinity = 32,
  kNan = 64
};
inline constexpr int kPieces = 7;
inline constexpr std::uint8_t kZeros = kNegativeZero | kPositiveZero;
inline constexpr std::uint8_t kFinite = kNegative | kZeros | kPositive;
inline constexpr double kPieceValues[kPieces] = {
    -std::numeric_limits<double>::infinity(), -1, -0.0, 0.0, 1, std::numeric_limits<double>::infinity(),
    std::numeric_limits<double>::quiet_NaN()};

template <class V>
std::uint8_t piece_of(const V& v) {
  using C = Carrier<V>;
  if (C::nan(v)) return kNan;
  if (!C::finite(v)) return C::negative(v) ? kNegativeInfinity : kPositiveInfinity;
  if (v == V{}) return C::negative(v) ? kNegativeZero : kPositiveZero;
  return C::negative(v) ? kNegative : kPositive;
}

// Of a closed number.
template <class V>
std::uint8_t pieces(const Tracked<V>& t) {
  std::uint8_t p = piece_of(t.value);
  if (t.error > 0 && !(Carrier<V>::finite(t.value) && Carrier<V>::least_size(t.value) > t.error))
    p |= kFinite;
  if ((p & kZeros) != 0 && t.free_sign) p |= kZeros;
  if ((t.may_be & kMayBeNan) != 0) p |= kNan;
  if ((t.may_be & kMayBePositiveInfinity) != 0) p |= kPositiveInfinity;
  if ((t.may_be & kMayBeNegativeInfinity) != 0) p |= kNegativeInfinity;
  return p;
}

inline std::uint8_t may_be(std::uint8_t pieces) {
  return static_cast<std::uint8_t>(((pieces & kNan) != 0 ? kMayBeNan : 0) |
                                   ((pieces & kPositiveInfinity) != 0 ? kMayBePositiveInfinity : 0) |
                                   ((pieces & kNegativeInfinity) != 0 ? kMayBeNegativeInfinity : 0));
}

// What op(a, b) may be beyond op(finite a, finite b).
template <class Op>
std::uint8_t combine(std::uint8_t a, std::uint8_t b, Op op) {
  std::uint8_t result = 0;
  for (int i = 0; i < kPieces; ++i)
    for (int k = 0; k < kPieces; ++k) {
      if ((a >> i & 1) == 0 || (b >> k & 1) == 0) continue;
      const double x = op(kPieceValues[i], kPieceValues[k]);
      const bool both_finite = std::isfinite(kPieceValues[i]) && std::isfinite(kPieceValues[k]);
      if (!both_finite || !std::isfinite(x)) result |= piece_of(x);
    }
  return result;
}

// Adds to r, whose value stands, what `extra` says: r's own piece is no alternative to itself.
template <class V>
void admit(Tracked<V>& r, std::uint8_t extra) {
  using C = Carrier<V>;
  if ((extra & kFinite) != 0) {  // only zeros: a finite number over an infinite one
    r.error = C::finite(r.value) ? std::max(r.error, C::size(r.value))
                                 : std::numeric_limits<typename Tracked<V>::Bound>::infinity();
    if (r.error != 0) r.grid = kNoGrid;
    r.free_sign = true;
  }
  r.may_be |= may_be(extra & ~piece_of(r.value));
}

// The result of an operation whose value or operands are not finite: `value`, what `extra` says, and, if the operands
// may also be such that the result is finite, any finite number.
template <class V>
Tracked<V> only(const V& value, bool finite_too, std::uint8_t extra) {
  if (finite_too) return Tracked<V>::anything(value);
  Tracked<V> r = Tracked<V>::exact(value);
  if (Carrier<V>::finite(value)) extra &= static_cast<std::uint8_t>(~piece_of(value));  // zero: x / infinity
  admit(r, extra);
  return r;
}

}  // namespace assay::detail
