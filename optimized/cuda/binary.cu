// Arithmetic of two tensors.
#include "ops/binary.h"

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"
#include "wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// A difference is a sum with -alpha, to the bit. alpha is rounded once to the compute type, then one fused multiply-add an
// element.
struct Add {
  double alpha;
  std::int64_t integer;
  template <class C>
  __device__ C operator()(C self, C other) const {
    return fma_of(static_cast<C>(alpha), other, self);
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_add(self, wrapping_multiply(integer, other));
  }
};

struct Mul {
  template <class C>
  __device__ C operator()(C self, C other) const {
    return self * other;
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_multiply(self, other);
  }
};

struct Div {
  template <class C>
  __device__ C operator()(C self, C other) const {
    return self / other;
  }
};

struct DivTrunc {
  template <class C>
  __device__ C operator()(C self, C other) const {
    return trunc_of(self / other);
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_divide(self, other);
  }
};

// The floor of the rounded quotient, and one less where that was rounded up to an integer: where self - floor * other, which
// a fused multiply-add gives the right sign, is beyond 0 on the side away from other. As in Python, 1.0 // 0.1 is 9 and
// not 10.
struct DivFloor {
  template <class C>
  __device__ C operator()(C self, C other) const {
    const C quotient = self / other;
    if (other == C(0)) return quotient;
    if (is_infinite(self)) return static_cast<C>(NAN);
    const C floor = floor_of(quotient);
    if (is_infinite(floor)) return floor;
    // 0 * infinity has no sign to compare: there it is that of self.
    const C left = is_infinite(other) ? self : fma_of(-floor, other, self);
    if (!((left < C(0) && other > C(0)) || (left > C(0) && other < C(0)))) return floor;
    return is_infinite(other) ? C(-1) : floor - C(1);
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    const std::int64_t quotient = wrapping_divide(self, other);
    const bool above = wrapping_multiply(quotient, other) != self && (self < 0) != (other < 0);
    return above ? quotient - 1 : quotient;
  }
};

// NaN where either is: of equal numbers only zeros differ, in a sign that their sum settles.
struct Maximum {
  template <class C>
  __device__ C operator()(C self, C other) const {
    if (self == other) return self == C(0) ? self + other : self;
    return is_nan(self) || self > other ? self : other;
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return self > other ? self : other;
  }
};

// The same, and -0 of two zeros.
struct Minimum {
  template <class C>
  __device__ C operator()(C self, C other) const {
    if (self == other) return self == C(0) ? -(-self - other) : self;
    return is_nan(self) || self < other ? self : other;
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return self < other ? self : other;
  }
};

struct Fmod {
  template <class C>
  __device__ C operator()(C self, C other) const {
    return fmod_of(self, other);
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    return wrapping_rest(self, other);
  }
};

// Where the signs differ, other more, rounded once.
struct Remainder {
  template <class C>
  __device__ C operator()(C self, C other) const {
    const C r = fmod_of(self, other);
    return (r < C(0) && other > C(0)) || (r > C(0) && other < C(0)) ? r + other : r;
  }
  __device__ std::int64_t integers(std::int64_t self, std::int64_t other) const {
    const std::int64_t r = wrapping_rest(self, other);
    return r != 0 && (r < 0) != (other < 0) ? wrapping_add(r, other) : r;
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void add(const View& self, const View& other, Scalar alpha, View& out) {
  elementwise(Add{alpha.real, alpha.integer}, out, self, other);
}
void sub(const View& self, const View& other, Scalar alpha, View& out) {
  elementwise(Add{-alpha.real, wrapping_multiply(-1, alpha.integer)}, out, self, other);
}

void div_mode(const View& self, const View& other, std::optional<std::string_view> rounding_mode, View& out) {
  if (!rounding_mode) return elementwise(Div{}, out, self, other);
  if (*rounding_mode == "trunc") return elementwise(DivTrunc{}, out, self, other);
  elementwise(DivFloor{}, out, self, other);
}

constexpr assay_kernel binary_kernels[] = {
    ASSAY_CUDA(ops::add_tensor, add, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::sub_tensor, sub, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::mul_tensor, binary<Mul>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::div_tensor, binary<Div>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::div_tensor_mode, div_mode, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::maximum, binary<Maximum>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::minimum, binary<Minimum>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::fmod_tensor, binary<Fmod>, ASSAY_CUDA_IN_PLACE),
    ASSAY_CUDA(ops::remainder_tensor, binary<Remainder>, ASSAY_CUDA_IN_PLACE)};
const Enrolled binary_enrolled{binary_kernels};

}  // namespace
}  // namespace assay::cuda
