// x * scale + (shift - mean * scale): what a kernel has in place of (x - mean) * scale + shift.
#include <algorithm>

#include "tracked.h"

namespace assay {
namespace {

// As it is written. The error of `scale` is in both products with all of its size, as if it were another one in each.
template <class V>
Tracked<V> as_written(const Tracked<V>& x, const Tracked<V>& mean, const Tracked<V>& scale,
                      const Tracked<V>& shift, const Tracked<V>& more) {
  return closed(more + x * scale + (shift + -mean * scale));
}

template <class V>
auto greatest(const Tracked<V>& t) {
  return Carrier<V>::size(t.value) + t.error;
}

}  // namespace

// One scale and one mean are in both products: without roundings the two are (x - mean) * scale + shift, of whose set the errors of
// x, mean and scale are a part. Each product is rounded once, and the three sums of the four terms, in whatever order, are not
// larger than the terms together.
template <class V>
Tracked<V> tracked_line(const Tracked<V>& x, const Tracked<V>& mean, const Tracked<V>& scale,
                        const Tracked<V>& shift, const Tracked<V>& more) {
  using C = Carrier<V>;
  using Bound = typename Tracked<V>::Bound;
  const Arithmetic& a = arithmetic();
  const Tracked<V> written = as_written(x, mean, scale, shift, more);
  const Tracked<V> all[] = {closed(x), mean, scale, closed(shift), closed(more)};
  const auto least = static_cast<Bound>(a.flushes ? a.compute.format.min_normal : a.compute.half_subnormal);
  const bool plain = std::ranges::all_of(all, [&](const Tracked<V>& t) {
    const bool flushed = a.flushes && !t.is_exact_zero() && C::least_size(t.value) <= t.error + 2 * least;
    return C::finite(t.value) && t.may_be == 0 && !flushed;
  });
  if (!plain || !a.accumulates_in_compute || written.error == 0) return written;
  Tracked<V> line = closed((all[0] - mean) * scale + all[3] + all[4]);
  const Bound products = (greatest(all[0]) + greatest(mean)) * greatest(scale);
  const Bound sums = products + greatest(all[3]) + greatest(all[4]);
  if (!C::finite(line.value) || line.may_be != 0 || !(4 * sums < static_cast<Bound>(a.compute.overflow)))
    return written;
  const auto u = static_cast<Bound>(a.compute.format.unit);
  const Bound of_operands = a.rounds_operands ? 2 * static_cast<Bound>(a.multiply.format.unit) : 0;
  const Bound roundings =
      detail::inflate(((u + of_operands) * products + 3 * u * sums) * (1 + 16 * u) + 6 * least);
  const Tape::Symbol as_a_line = symbol_on_tape(line);
  line.error = detail::inflate(line.error + roundings);
  if (!(line.error < written.error)) return written;
  line.grid = kNoGrid;
  line.free_sign = detail::may_be_zero(line);
  write_on_tape(line, {{as_a_line}}, roundings);
  return line;
}

#define ASSAY_INSTANTIATE(V)                                                                \
  template Tracked<V> tracked_line(const Tracked<V>&, const Tracked<V>&, const Tracked<V>&, \
                                   const Tracked<V>&, const Tracked<V>&);
ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Real)
#undef ASSAY_INSTANTIATE

}  // namespace assay
