// Comparisons, and what is true of numbers, over any layout and broadcasting: functors give masks, of which the driver makes bytes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/comparison.cpp"
#include "levels.h"

#include "../geometry/wrap.h"
#include "elementwise.h"
#include "ops/comparison.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

// Highway's Ne is false of NaN on some targets.
template <class D>
HWY_INLINE hn::Mask<D> is_true(D d, hn::Vec<D> x) {
  return hn::Not(hn::Eq(x, hn::Zero(d)));
}

struct Eq {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V self, V other) const {
    return hn::Eq(self, other);
  }
  HWY_INLINE bool integers(std::int64_t self, std::int64_t other) const { return self == other; }
};

struct Ne {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V self, V other) const {
    return hn::Not(hn::Eq(self, other));
  }
  HWY_INLINE bool integers(std::int64_t self, std::int64_t other) const { return self != other; }
};

struct Lt {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V self, V other) const {
    return hn::Lt(self, other);
  }
  HWY_INLINE bool integers(std::int64_t self, std::int64_t other) const { return self < other; }
};

struct Le {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V self, V other) const {
    return hn::Le(self, other);
  }
  HWY_INLINE bool integers(std::int64_t self, std::int64_t other) const { return self <= other; }
};

struct Gt {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V self, V other) const {
    return hn::Gt(self, other);
  }
  HWY_INLINE bool integers(std::int64_t self, std::int64_t other) const { return self > other; }
};

struct Ge {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V self, V other) const {
    return hn::Ge(self, other);
  }
  HWY_INLINE bool integers(std::int64_t self, std::int64_t other) const { return self >= other; }
};

struct LogicalAnd {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V self, V other) const {
    return hn::And(is_true(d, self), is_true(d, other));
  }
  HWY_INLINE bool integers(std::int64_t self, std::int64_t other) const { return self != 0 && other != 0; }
};

struct LogicalOr {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V self, V other) const {
    return hn::Or(is_true(d, self), is_true(d, other));
  }
  HWY_INLINE bool integers(std::int64_t self, std::int64_t other) const { return self != 0 || other != 0; }
};

struct LogicalXor {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V self, V other) const {
    return hn::Xor(is_true(d, self), is_true(d, other));
  }
  HWY_INLINE bool integers(std::int64_t self, std::int64_t other) const {
    return (self != 0) != (other != 0);
  }
};

struct LogicalNot {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V x) const {
    return hn::Eq(x, hn::Zero(d));
  }
  HWY_INLINE bool integers(std::int64_t x) const { return x == 0; }
};

struct IsNan {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V x) const {
    return hn::IsNaN(x);
  }
};

struct IsInf {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V x) const {
    return hn::IsInf(x);
  }
};

struct IsFinite {
  static constexpr bool cheap = true, truth = true;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D, V x) const {
    return hn::IsFinite(x);
  }
};

// With a number that has the tensor's dtype.
template <class Comparison>
struct WithNumber {
  static constexpr bool cheap = true, truth = true;
  double real;
  std::int64_t integer;
  template <class D, class V>
  HWY_INLINE hn::Mask<D> operator()(D d, V self) const {
    return Comparison{}(d, self, hn::Set(d, static_cast<hn::TFromD<D>>(real)));
  }
  HWY_INLINE bool integers(std::int64_t self) const { return Comparison{}.integers(self, integer); }
};

template <class Comparison>
void with_number(const View& self, Scalar other, View& out) {
  const Dtype type = self.type();
  if (is_float(type))
    elementwise(WithNumber<Comparison>{rounded_to(type, other.real), 0}, out, self);
  else
    elementwise(WithNumber<Comparison>{0, wrapped_to(type, other.integer)}, out, self);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_FUNCTOR(ops::eq_tensor, binary, Eq, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::eq_scalar, with_number, Eq, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::ne_tensor, binary, Ne, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::ne_scalar, with_number, Ne, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::lt_tensor, binary, Lt, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::lt_scalar, with_number, Lt, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::le_tensor, binary, Le, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::le_scalar, with_number, Le, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::gt_tensor, binary, Gt, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::gt_scalar, with_number, Gt, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::ge_tensor, binary, Ge, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::ge_scalar, with_number, Ge, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::logical_and, binary, LogicalAnd, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::logical_or, binary, LogicalOr, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::logical_xor, binary, LogicalXor, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::logical_not, unary, LogicalNot, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::isnan, unary, IsNan, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::isinf, unary, IsInf, nullptr),
                                    ASSAY_CPU_FUNCTOR(ops::isfinite, unary, IsFinite, nullptr)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
