// Functions of one number: elementary*.h, or one instruction, over any layout.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/functions.cpp"
#include "levels.h"

#include "elementary.h"
#include "elementary_acos.h"
#include "elementary_angles.h"
#include "elementary_erf.h"
#include "elementary_log.h"
#include "elementary_powers.h"
#include "elementary_tanh.h"
#include "elementwise.h"
#include "ops/functions.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Exp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp(d, x);
  }
};

struct Log {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log(d, x);
  }
};

struct Sqrt {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Sqrt(x);
  }
};

// A root and a division, each rounded once.
struct Rsqrt {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), hn::Sqrt(x));
  }
};

struct Erf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return erf(d, x);
  }
};

struct Acos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return acos(d, x);
  }
};

struct Sin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return sin(d, x);
  }
};

struct Cos {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return cos(d, x);
  }
};

struct Asin {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return asin(d, x);
  }
};

struct Atan {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return atan(d, x);
  }
};

struct Exp2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return exp2(d, x);
  }
};

struct Expm1 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return expm1(d, x);
  }
};

struct Log2 {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log2(d, x);
  }
};

struct Log1p {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return log1p_anywhere(d, x);
  }
};

struct Reciprocal {
  static constexpr bool cheap = true;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), x);
  }
};

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_UNARY(ops::exp, Exp, ASSAY_CPU_EXP),
                                    ASSAY_CPU_UNARY(ops::log, Log, ASSAY_CPU_LOG),
                                    ASSAY_CPU_UNARY(ops::sqrt, Sqrt),
                                    ASSAY_CPU_UNARY(ops::rsqrt, Rsqrt),
                                    ASSAY_CPU_UNARY(ops::erf, Erf, ASSAY_CPU_ERF),
                                    ASSAY_CPU_UNARY(ops::acos, Acos, ASSAY_CPU_ACOS),
                                    ASSAY_CPU_UNARY(ops::sin, Sin, ASSAY_CPU_SIN),
                                    ASSAY_CPU_UNARY(ops::cos, Cos, ASSAY_CPU_COS),
                                    ASSAY_CPU_UNARY(ops::asin, Asin, ASSAY_CPU_ASIN),
                                    ASSAY_CPU_UNARY(ops::atan, Atan, ASSAY_CPU_ATAN),
                                    ASSAY_CPU_UNARY(ops::exp2, Exp2, ASSAY_CPU_EXP2),
                                    ASSAY_CPU_UNARY(ops::expm1, Expm1, ASSAY_CPU_EXPM1),
                                    ASSAY_CPU_UNARY(ops::log2, Log2, ASSAY_CPU_LOG2),
                                    ASSAY_CPU_UNARY(ops::log1p, Log1p, ASSAY_CPU_LOG1P),
                                    ASSAY_CPU_UNARY(ops::reciprocal, Reciprocal)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
