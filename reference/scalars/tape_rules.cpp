#include "tape_rules.h"

#include <cmath>

#include "tracked.h"

namespace assay::detail {
namespace {

using T = Tracked<double>;
using C = Carrier<double>;

// A slope with what a few roundings lose of it.
SlopeRange about(double slope) {
  constexpr double kRoundings = 0x1p-48;
  return {.middle = slope, .radius = std::fabs(slope) * kRoundings + C::kLeast};
}

// One of two numbers: each of them, or the other.
constexpr SlopeRange kEither{.middle = 0.5, .radius = 0.5};

void product_on_tape(Tape& tape, T& r, const T& a, const T& b) {
  tape.write(r, {{tape.symbol_of(a), {b.value}}, {tape.symbol_of(b), {a.value}}},
             inflate(times(a.error, b.error) + r.magnitude * C::kUnit) + C::kLeast);
}

void quotient_on_tape(Tape& tape, T& r, const T& a, const T& b) {
  const double size = std::fabs(b.value), least_divisor = (size - b.error) * (1 - 0x1p-50);
  if (!(least_divisor > 0)) return;
  const double extra = arithmetic().div_extra * arithmetic().compute.format.unit;
  const double of_second_order =
      b.error / size * (a.error + (r.magnitude + C::kLeast) * b.error) / least_divisor;
  const double own = of_second_order + extra * (r.magnitude + r.error) + r.magnitude * C::kUnit + C::kLeast;
  tape.write(r, {{tape.symbol_of(a), about(1 / b.value)}, {tape.symbol_of(b), about(-r.value / b.value)}},
             inflate(own));
}

void root_on_tape(Tape& tape, T& r, const T& a, double own) {
  const double reach = inflate(a.error) + 2 * a.magnitude * C::kUnit, y = r.value;
  if (!(a.value > reach)) return;
  const double sum = y + std::sqrt(a.value - reach);
  tape.write(r, {{tape.symbol_of(a), about(1 / (2 * y))}},
             inflate(own + reach * reach / (2 * y * sum * sum)));
}

void hull_on_tape(Tape& tape, T& r, const T& likely, const T& other) {
  r.symbol = Tape::kNone;
  if (!std::isfinite(likely.value) || !std::isfinite(other.value)) return;
  tape.write(r, {{tape.symbol_of(likely), kEither}, {tape.symbol_of(other), kEither}},
             inflate(std::fabs(other.value - likely.value)));
}

void maximum_on_tape(Tape& tape, T& r, const T& a, const T& b, bool sure) {
  if (sure)
    tape.write(r, {{tape.symbol_of(a.value > b.value ? a : b)}}, 0);
  else
    tape.write(r, {{tape.symbol_of(a), kEither}, {tape.symbol_of(b), kEither}}, 0);
}

}  // namespace

template <class V>
void write_product(Tracked<V>& r, const Tracked<V>& a, const Tracked<V>& b) {
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) product_on_tape(*on, r, a, b);
}
template <class V>
void write_quotient(Tracked<V>& r, const Tracked<V>& a, const Tracked<V>& b) {
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) quotient_on_tape(*on, r, a, b);
}
template <class V>
void write_root(Tracked<V>& r, const Tracked<V>& a, typename Tracked<V>::Bound own) {
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) root_on_tape(*on, r, a, own);
}
template <class V>
void write_hull(Tracked<V>& r, const Tracked<V>& likely, const Tracked<V>& other) {
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) hull_on_tape(*on, r, likely, other);
}
template <class V>
void write_maximum(Tracked<V>& r, const Tracked<V>& a, const Tracked<V>& b, bool sure) {
  if constexpr (std::is_same_v<V, double>)
    if (Tape* const on = tape<V>()) maximum_on_tape(*on, r, a, b, sure);
}

#define ASSAY_INSTANTIATE(V)                                                            \
  template void write_product(Tracked<V>&, const Tracked<V>&, const Tracked<V>&);       \
  template void write_quotient(Tracked<V>&, const Tracked<V>&, const Tracked<V>&);      \
  template void write_root(Tracked<V>&, const Tracked<V>&, typename Tracked<V>::Bound); \
  template void write_hull(Tracked<V>&, const Tracked<V>&, const Tracked<V>&);          \
  template void write_maximum(Tracked<V>&, const Tracked<V>&, const Tracked<V>&, bool);

ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)
#undef ASSAY_INSTANTIATE

}  // namespace assay::detail
