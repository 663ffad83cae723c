// From a number of steps to an integer, as quantisation rounds, and as people get it wrong.
#pragma once

#include "scalars/scalar.h"

namespace assay {

struct ToNearestEven {
  template <class S>
  static S rounded(const S& x) {
    return cast<S>(x, Dtype::i32);
  }
};

// To integers otherwise than to nearest, ties to even.
struct TiesUpwards {
  template <class S>
  static S rounded(const S& x) {
    return floor(x + S(0.5));
  }
};
struct TiesAway {
  template <class S>
  static S rounded(const S& x) {
    return select(x < S(0), -floor(-x + S(0.5)), floor(x + S(0.5)));
  }
};
struct Truncated {
  template <class S>
  static S rounded(const S& x) {
    return trunc(x);
  }
};
struct Floored {
  template <class S>
  static S rounded(const S& x) {
    return floor(x);
  }
};

}  // namespace assay
