#include "arithmetic.h"

#include <cmath>

namespace assay {

Rounding::Rounding(const Format& f)
    : format(f),
      grid(f.min_exponent - f.precision + 1),
      overflow(static_cast<long double>(f.max) + std::ldexp(1.0L, std::ilogb(f.max) - f.precision)),
      half_subnormal(std::ldexp(1.0L, grid - 1)) {}

Arithmetic::Arithmetic(const Contract& c, Dtype computed_in, Dtype stored_as)
    : compute(c.compute_format(computed_in)),
      accumulate(c.accumulate_format(computed_in)),
      multiply(c.multiply_format(computed_in)),
      result(format(stored_as)),
      one_adder(accumulate == compute && c.chain.kind == Chain::Kind::any && c.cut_off == CutOff{}),
      accumulates_in_compute(accumulate == compute),
      accumulates_narrower(accumulate.format.precision < compute.format.precision ||
                           accumulate.grid > compute.grid),
      rounds_operands(multiply.format.precision < compute.format.precision || multiply.grid > compute.grid),
      stores_compute(compute == result),
      flushes(c.ftz || c.daz),
      faithful_store(c.faithful_store),
      ftz(c.ftz),
      daz(c.daz),
      signed_zero(c.signed_zero),
      nonfinite(c.nonfinite),
      integral(!is_float(stored_as)),
      first_tie(c.first_tie),
      updates_moments(c.moments == MomentsBy::updating),
      one_pass(c.moments == MomentsBy::one_pass),
      folds_affine(c.folded_affine),
      rewrites(c.rewritten),
      tiny(c.tiny),
      div_extra(c.div_extra),
      sqrt_extra(c.sqrt_extra),
      chain(c.chain),
      cut_off(c.cut_off),
      accuracy(c.accuracy) {}

double Arithmetic::roundings_of_sum(double terms) const {
  const double additions = chain.additions(terms);
  const auto at_once = static_cast<double>(cut_off.at_once);
  return at_once == 0 ? additions : additions + 2 * std::ceil((additions + 1) / at_once);
}

}  // namespace assay
