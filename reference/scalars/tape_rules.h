// What the operations of Tracked write on the tape: adjoint.md derives each line. Without a tape they do nothing.
#pragma once

#include "tape.h"

namespace assay::detail {

// r = a * b, of closed numbers.
template <class V>
void write_product(Tracked<V>& r, const Tracked<V>& a, const Tracked<V>& b);
// r = a / b, of closed numbers.
template <class V>
void write_quotient(Tracked<V>& r, const Tracked<V>& a, const Tracked<V>& b);
// r = sqrt(a), of a closed number, with all that the operation itself may be off by.
template <class V>
void write_root(Tracked<V>& r, const Tracked<V>& a, typename Tracked<V>::Bound own);
// r is either of them.
template <class V>
void write_hull(Tracked<V>& r, const Tracked<V>& likely, const Tracked<V>& other);
// r is the larger of them; `sure` says that this is the same one for all kernels.
template <class V>
void write_maximum(Tracked<V>& r, const Tracked<V>& a, const Tracked<V>& b, bool sure);

}  // namespace assay::detail
