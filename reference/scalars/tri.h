// A comparison of values that are known up to an error: yes, no, or unknown.
#pragma once

namespace assay {

// There is no conversion to bool: a reference that branches on a Tri does not compile, it says select() instead.
struct Tri {
  bool value = false;  // what the reference's own values say
  bool sure = true;    // every conforming kernel says the same
};

// Kleene's three-valued logic.
constexpr Tri operator!(Tri a) { return {!a.value, a.sure}; }
constexpr Tri operator&&(Tri a, Tri b) {
  return {a.value && b.value, (a.sure && b.sure) || (a.sure && !a.value) || (b.sure && !b.value)};
}
constexpr Tri operator||(Tri a, Tri b) { return !(!a && !b); }

}  // namespace assay
