#include "arithmetic.h"

#include <algorithm>
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
      one_adder(accumulate == compute && c.chain.kind == Chain::Kind::any),
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
      folds_affine(c.folded_affine),
      tiny(c.tiny),
      div_extra(c.div_extra),
      sqrt_extra(c.sqrt_extra),
      chain(c.chain),
      accuracy(c.accuracy) {}

bool same_arithmetic(const Contract& a, const Contract& b) {
  return a.compute == b.compute && a.accumulate == b.accumulate && a.multiply == b.multiply &&
         a.faithful_store == b.faithful_store && a.chain.kind == b.chain.kind &&
         a.chain.block == b.chain.block && a.div_extra == b.div_extra && a.sqrt_extra == b.sqrt_extra &&
         a.ftz == b.ftz && a.daz == b.daz && a.tiny == b.tiny && a.signed_zero == b.signed_zero &&
         a.nonfinite == b.nonfinite && a.first_tie == b.first_tie && a.moments == b.moments &&
         a.folded_affine == b.folded_affine &&
         std::ranges::equal(a.accuracy, b.accuracy, [](const Accuracy& x, const Accuracy& y) {
           return x.ulp == y.ulp && x.absolute == y.absolute;
         });
}

}  // namespace assay
