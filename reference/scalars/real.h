// Real: a 191-bit MPFR number as a plain scalar. The truth that intervals are tested against, and the carrier of
// values where double has no bits to spare.
#pragma once

#include <mpfr.h>

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>

#include "scalar.h"

namespace assay {

class Real {
 public:
  // MPFR adds and multiplies numbers of three limbs, not quite filled, by code of their own.
  static constexpr int kBits = 191;

  Real() { mpfr_custom_init_set(&number_, MPFR_ZERO_KIND, 0, kBits, limbs_.data()); }
  explicit Real(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<int>(bits >> 52 & 0x7FF);
    if (exponent == 0 || exponent == 0x7FF) {  // zero, subnormal, NaN or infinite
      mpfr_custom_init_set(&number_, MPFR_ZERO_KIND, 0, kBits, limbs_.data());
      mpfr_set_d(&number_, x, MPFR_RNDN);
      return;
    }
    limbs_.back() = (bits | std::uint64_t{1} << 52) << 11;
    const int kind = x < 0 ? -MPFR_REGULAR_KIND : MPFR_REGULAR_KIND;
    mpfr_custom_init_set(&number_, kind, exponent - 1022, kBits, limbs_.data());
  }
  explicit Real(long double x) : Real() { mpfr_set_ld(&number_, x, MPFR_RNDN); }
  template <class Integer>
  requires std::is_integral_v<Integer>
  explicit Real(Integer x) : Real() {
    static_assert(sizeof(Integer) <= sizeof(long), "MPFR takes a long");
    if constexpr (std::is_signed_v<Integer>)
      mpfr_set_si(&number_, x, MPFR_RNDN);
    else
      mpfr_set_ui(&number_, x, MPFR_RNDN);
  }
  Real(const Real& x) : limbs_(x.limbs_), number_(x.number_) { mpfr_custom_move(&number_, limbs_.data()); }
  Real& operator=(const Real& x) {
    limbs_ = x.limbs_;
    number_ = x.number_;
    mpfr_custom_move(&number_, limbs_.data());
    return *this;
  }

  mpfr_ptr data() { return &number_; }
  mpfr_srcptr data() const { return &number_; }
  std::span<const mp_limb_t> limbs() const { return limbs_; }
  explicit operator double() const { return mpfr_get_d(&number_, MPFR_RNDN); }  // rounded once

  friend Real operator+(const Real& a, const Real& b) { return of(mpfr_add, a, b); }
  friend Real operator-(const Real& a, const Real& b) { return of(mpfr_sub, a, b); }
  friend Real operator*(const Real& a, const Real& b) { return of(mpfr_mul, a, b); }
  friend Real operator/(const Real& a, const Real& b) { return of(mpfr_div, a, b); }
  friend Real operator-(const Real& a) {
    Real r;
    mpfr_neg(r.data(), a.data(), MPFR_RNDN);
    return r;
  }
  friend bool operator<(const Real& a, const Real& b) { return mpfr_less_p(a.data(), b.data()) != 0; }
  friend bool operator>(const Real& a, const Real& b) { return b < a; }
  friend bool operator<=(const Real& a, const Real& b) { return mpfr_lessequal_p(a.data(), b.data()) != 0; }
  friend bool operator>=(const Real& a, const Real& b) { return b <= a; }
  friend bool operator==(const Real& a, const Real& b) { return mpfr_equal_p(a.data(), b.data()) != 0; }

 private:
  template <class Function>
  static Real of(Function f, const Real& a, const Real& b) {
    Real r;
    f(r.data(), a.data(), b.data(), MPFR_RNDN);
    return r;
  }

  // MPFR's custom interface: the significand lies here, in memory of ours, so that copies allocate nothing. The last limb
  // has the first bits.
  static_assert(GMP_NUMB_BITS == 64);
  std::array<mp_limb_t, (kBits + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS> limbs_{};
  __mpfr_struct number_;
};

inline Real select(bool condition, const Real& a, const Real& b) { return condition ? a : b; }
inline Real group(const Real& x) { return x; }
inline bool is_nan(const Real& x) { return mpfr_nan_p(x.data()) != 0; }
inline bool is_finite(const Real& x) { return mpfr_nan_p(x.data()) == 0 && mpfr_inf_p(x.data()) == 0; }
inline bool finite_for_certain(const Real& x) { return is_finite(x); }
inline bool is_negative(const Real& x) { return mpfr_signbit(x.data()) != 0; }  // of the sign bit: -0 is
Real abs(const Real& x);
Real sqrt(const Real& x);
Real trunc(const Real& x);
Real floor(const Real& x);
Real rint(const Real& x);
Real fmod(const Real& x, const Real& y);
Real exp(const Real& x);
Real log(const Real& x);
Real tanh(const Real& x);
Real erf(const Real& x);
Real sin(const Real& x);
Real cos(const Real& x);
Real asin(const Real& x);
Real acos(const Real& x);
Real atan(const Real& x);
Real exp2(const Real& x);
Real log2(const Real& x);
Real expm1(const Real& x);
Real log1p(const Real& x);
Real pow(const Real& x, const Real& y);
Real atan2(const Real& y, const Real& x);
Real maximum(const Real& a, const Real& b);
Real minimum(const Real& a, const Real& b);

// A double that every format of at most 51 bits, and every directed rounding to one, rounds as it rounds x: x itself,
// or else the neighbour whose last bit is one (rounding to odd, Boldo and Melquiond 2008).
double round_to_odd(const Real& x);

// x rounded once, as the functions of dtype.h of these names.
double round_to(const Real& x, const Format& f);
double round_down(const Real& x, const Format& f);
double round_up(const Real& x, const Format& f);

template <>
struct ScalarOps<Real> {
  static Real input(double x) { return Real(x); }
  static Real parameter(double x) { return Real(x); }
  static Real cast(const Real& x, Dtype d) { return Real(round_to(x, format(d))); }
  template <class Term>
  static Real sum(std::int64_t n, Term&& term) {
    Real s;
    for (std::int64_t k = 0; k < n; ++k) s = s + term(k);
    return s;
  }
};

}  // namespace assay
