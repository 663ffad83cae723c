#include "real.h"

#include <bit>
#include <cmath>

namespace assay {
namespace {

// MPFR keeps constants and memory for each thread, and leaves it to the thread to free them.
struct ThreadCache {
  ~ThreadCache() { mpfr_free_cache(); }
  static void freed_at_the_end() { thread_local const ThreadCache cache; }
};

template <class F>
Real apply(F function, const Real& x) {
  ThreadCache::freed_at_the_end();
  Real r;
  function(r.data(), x.data(), MPFR_RNDN);
  return r;
}

}  // namespace

Real abs(const Real& x) { return is_negative(x) ? -x : x; }
Real sqrt(const Real& x) { return apply(mpfr_sqrt, x); }
Real exp(const Real& x) { return apply(mpfr_exp, x); }
Real log(const Real& x) { return apply(mpfr_log, x); }
Real tanh(const Real& x) { return apply(mpfr_tanh, x); }
Real erf(const Real& x) { return apply(mpfr_erf, x); }
Real sin(const Real& x) { return apply(mpfr_sin, x); }
Real cos(const Real& x) { return apply(mpfr_cos, x); }
Real asin(const Real& x) { return apply(mpfr_asin, x); }
Real acos(const Real& x) { return apply(mpfr_acos, x); }
Real atan(const Real& x) { return apply(mpfr_atan, x); }
Real exp2(const Real& x) { return apply(mpfr_exp2, x); }
Real log2(const Real& x) { return apply(mpfr_log2, x); }
Real expm1(const Real& x) { return apply(mpfr_expm1, x); }
Real log1p(const Real& x) { return apply(mpfr_log1p, x); }

Real pow(const Real& x, const Real& y) {
  ThreadCache::freed_at_the_end();
  Real r;
  mpfr_pow(r.data(), x.data(), y.data(), MPFR_RNDN);
  return r;
}

Real atan2(const Real& y, const Real& x) {
  ThreadCache::freed_at_the_end();
  Real r;
  mpfr_atan2(r.data(), y.data(), x.data(), MPFR_RNDN);
  return r;
}

Real fmod(const Real& x, const Real& y) {
  Real r;
  mpfr_fmod(r.data(), x.data(), y.data(), MPFR_RNDN);
  return r;
}

Real rint(const Real& x) {
  Real r;
  mpfr_rint(r.data(), x.data(), MPFR_RNDN);
  return r;
}

Real trunc(const Real& x) {
  Real r;
  mpfr_trunc(r.data(), x.data());
  return r;
}

Real floor(const Real& x) {
  Real r;
  mpfr_floor(r.data(), x.data());
  return r;
}

Real maximum(const Real& a, const Real& b) {
  if (is_nan(a) || is_nan(b)) return a + b;
  if (a == b) return is_negative(a) ? b : a;
  return a > b ? a : b;
}

Real minimum(const Real& a, const Real& b) { return -maximum(-a, -b); }

double round_to_odd(const Real& x) {
  const double towards_zero = mpfr_get_d(x.data(), MPFR_RNDZ);
  if (!is_finite(x) || mpfr_cmp_d(x.data(), towards_zero) == 0) return towards_zero;
  if ((std::bit_cast<std::uint64_t>(towards_zero) & 1) != 0) return towards_zero;
  const double away = is_negative(x) ? -HUGE_VAL : HUGE_VAL;
  // Above the largest double, which is odd, nothing is left to do; below the smallest one, zero is even.
  return std::nextafter(towards_zero, away);
}

double round_to(const Real& x, const Format& f) {
  if (f.precision >= 53) return mpfr_get_d(x.data(), MPFR_RNDN);
  return round_to(round_to_odd(x), f);
}

double round_down(const Real& x, const Format& f) {
  if (f.precision < 53) return round_down(round_to_odd(x), f);
  return mpfr_get_d(x.data(), MPFR_RNDD);
}

double round_up(const Real& x, const Format& f) {
  if (f.precision < 53) return round_up(round_to_odd(x), f);
  return mpfr_get_d(x.data(), MPFR_RNDU);
}

}  // namespace assay
