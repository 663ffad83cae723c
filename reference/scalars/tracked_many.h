// What the loops of tracked_many.cpp and tracked_squares.cpp have in common.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "tracked.h"

// Loops of independent numbers: by vectors, and by wider ones where the machine has them.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define ASSAY_MANY_AT_ONCE __attribute__((target_clones("avx2", "default")))
#else
#define ASSAY_MANY_AT_ONCE
#endif

namespace assay {

// Each of the numbers is exact, so that all there is to say of them on the tape is by how much they let the sum be off.
template <class V>
template <class Loop>
void OpenSum<V>::add_many(const Loop& loop) {
  if constexpr (std::is_same_v<V, double>) {
    if (tape<V>() != nullptr) {
      const double error = sum_.error, own = own_ + (any_ ? detail::settling_moves(sum_) : 0);
      const std::size_t origins = origins_.size();
      {
        const TapeScope none(nullptr);
        loop();
      }
      origins_.resize(origins);
      own_ = own + std::max(sum_.error - error, 0.0) + 0x1p-49 * (sum_.magnitude + sum_.error);
      return;
    }
  }
  loop();
}

}  // namespace assay

namespace assay::many {

using T = Tracked<double>;
using C = Carrier<double>;

// A double of this many bits is exact, and so is a product of two.
inline bool is_f32(double x) { return static_cast<double>(static_cast<float>(x)) == x; }

inline bool is_of(const Format& f, double x) { return f.precision == 24 ? is_f32(x) : round_to(x, f) == x; }

// detail::add_settled, of a term that has an error or is not on the sum's grid: its residual is 0 where the sum is exact.
inline void add_settled(T& sum, double value, double error, double magnitude) {
  const double next = sum.value + value;
  sum.error += error;
  sum.error += C::residual(sum.value, value, next);
  sum.value = next;
  sum.magnitude += magnitude;
  sum.terms += 1;
}

inline constexpr int kGridOfF32 = -149;

// Whether every kernel has this number exactly, on a grid of its compute format.
inline bool is_exact(double x, int least_grid) {
  return std::isfinite(x) && is_f32(x) && (least_grid <= kGridOfF32 || x == 0 || C::grid(x) >= least_grid);
}

inline constexpr std::size_t kBlock = 64;  // numbers that are looked at before they are added

struct Looks {
  bool exact;  // each of them is; false is no answer
  std::size_t zeros;
};
// No answer for grids above that of f32.
Looks look_at(std::span<const double> x, int least_grid);

bool none_is_negative_zero(std::span<const double> x);

// add_settled() of one number after the other. `error` is null where they have none.
void add_all(T& sum, std::span<const double> value, const double* error);

// Exact numbers that are not zero.
void add_exact(T& sum, std::span<const double> x);

}  // namespace assay::many
