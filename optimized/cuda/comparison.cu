// Comparisons, and what is true of numbers, over any layout and broadcasting: bytes that are 0 or 1.
#include "ops/comparison.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"
#include "geometry/wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Eq {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C self, C other) const {
    return self == other;
  }
  __device__ bool integers(std::int64_t self, std::int64_t other) const { return self == other; }
};

struct Ne {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C self, C other) const {
    return self != other;
  }
  __device__ bool integers(std::int64_t self, std::int64_t other) const { return self != other; }
};

struct Lt {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C self, C other) const {
    return self < other;
  }
  __device__ bool integers(std::int64_t self, std::int64_t other) const { return self < other; }
};

struct Le {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C self, C other) const {
    return self <= other;
  }
  __device__ bool integers(std::int64_t self, std::int64_t other) const { return self <= other; }
};

struct Gt {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C self, C other) const {
    return self > other;
  }
  __device__ bool integers(std::int64_t self, std::int64_t other) const { return self > other; }
};

struct Ge {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C self, C other) const {
    return self >= other;
  }
  __device__ bool integers(std::int64_t self, std::int64_t other) const { return self >= other; }
};

struct LogicalAnd {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C self, C other) const {
    return self != C(0) && other != C(0);
  }
  __device__ bool integers(std::int64_t self, std::int64_t other) const { return self != 0 && other != 0; }
};

struct LogicalOr {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C self, C other) const {
    return self != C(0) || other != C(0);
  }
  __device__ bool integers(std::int64_t self, std::int64_t other) const { return self != 0 || other != 0; }
};

struct LogicalXor {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C self, C other) const {
    return (self != C(0)) != (other != C(0));
  }
  __device__ bool integers(std::int64_t self, std::int64_t other) const {
    return (self != 0) != (other != 0);
  }
};

struct LogicalNot {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C x) const {
    return x == C(0);
  }
  __device__ bool integers(std::int64_t x) const { return x == 0; }
};

struct IsNan {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C x) const {
    return is_nan(x);
  }
};

struct IsInf {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C x) const {
    return is_infinite(x);
  }
};

struct IsFinite {
  static constexpr bool truth = true;
  template <class C>
  __device__ bool operator()(C x) const {
    return !is_nan(x) && !is_infinite(x);
  }
};

// With a number that has the tensor's dtype.
template <class Comparison>
struct WithNumber {
  static constexpr bool truth = true;
  double real;
  std::int64_t integer;
  template <class C>
  __device__ bool operator()(C self) const {
    return Comparison{}(self, static_cast<C>(real));
  }
  __device__ bool integers(std::int64_t self) const { return Comparison{}.integers(self, integer); }
};

template <class Comparison>
void with_number(const View& self, Scalar other, View& out) {
  const Dtype type = self.type();
  if (is_float(type))
    elementwise(WithNumber<Comparison>{cpu::rounded_to(type, other.real), 0}, out, self);
  else
    elementwise(WithNumber<Comparison>{0, cpu::wrapped_to(type, other.integer)}, out, self);
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

constexpr assay_kernel comparison_kernels[] = {ASSAY_CUDA(ops::eq_tensor, binary<Eq>, nullptr),
                                               ASSAY_CUDA(ops::eq_scalar, with_number<Eq>, nullptr),
                                               ASSAY_CUDA(ops::ne_tensor, binary<Ne>, nullptr),
                                               ASSAY_CUDA(ops::ne_scalar, with_number<Ne>, nullptr),
                                               ASSAY_CUDA(ops::lt_tensor, binary<Lt>, nullptr),
                                               ASSAY_CUDA(ops::lt_scalar, with_number<Lt>, nullptr),
                                               ASSAY_CUDA(ops::le_tensor, binary<Le>, nullptr),
                                               ASSAY_CUDA(ops::le_scalar, with_number<Le>, nullptr),
                                               ASSAY_CUDA(ops::gt_tensor, binary<Gt>, nullptr),
                                               ASSAY_CUDA(ops::gt_scalar, with_number<Gt>, nullptr),
                                               ASSAY_CUDA(ops::ge_tensor, binary<Ge>, nullptr),
                                               ASSAY_CUDA(ops::ge_scalar, with_number<Ge>, nullptr),
                                               ASSAY_CUDA(ops::logical_and, binary<LogicalAnd>, nullptr),
                                               ASSAY_CUDA(ops::logical_or, binary<LogicalOr>, nullptr),
                                               ASSAY_CUDA(ops::logical_xor, binary<LogicalXor>, nullptr),
                                               ASSAY_CUDA(ops::logical_not, unary<LogicalNot>, nullptr),
                                               ASSAY_CUDA(ops::isnan, unary<IsNan>, nullptr),
                                               ASSAY_CUDA(ops::isinf, unary<IsInf>, nullptr),
                                               ASSAY_CUDA(ops::isfinite, unary<IsFinite>, nullptr)};
const Enrolled comparison_enrolled{comparison_kernels};

}  // namespace
}  // namespace assay::cuda
