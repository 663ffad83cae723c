// Numbers brought between two bounds: compares and selects, so that NaN and -0 stay; no arithmetic. A bound
// that is not given is an infinity, which no number crosses.
#include "ops/clamp.h"

#include <cmath>

#include "contracts.h"
#include "elementary.h"
#include "elementwise.h"
#include "geometry/wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct Clamp {
  double min, max;
  bool all_nan;  // of two bounds one is
  std::int64_t integer_min, integer_max;
  template <class C>
  __device__ C operator()(C x) const {
    if (all_nan) return static_cast<C>(NAN);
    const C least = static_cast<C>(min), most = static_cast<C>(max);
    x = x < least ? least : x;
    return x > most ? most : x;
  }
  __device__ std::int64_t integers(std::int64_t x) const {
    x = x < integer_min ? integer_min : x;
    return x > integer_max ? integer_max : x;
  }
};

// A bound that is not given is passed as self, and not looked at.
struct ClampBetween {
  bool has_min, has_max;
  template <class C>
  __device__ C operator()(C x, C min, C max) const {
    if (has_min && (is_nan(min) || x < min)) x = min;
    return has_max && (is_nan(max) || x > max) ? max : x;
  }
  __device__ std::int64_t integers(std::int64_t x, std::int64_t min, std::int64_t max) const {
    if (has_min && x < min) x = min;
    return has_max && x > max ? max : x;
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void clamp(const View& self, std::optional<Scalar> min, std::optional<Scalar> max, View& out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Dtype type = out.type();
  elementwise(Clamp{min ? min->real : -infinity, max ? max->real : infinity,
                    min && max && (std::isnan(min->real) || std::isnan(max->real)),
                    min ? cpu::wrapped_to(type, min->integer) : INT64_MIN,
                    max ? cpu::wrapped_to(type, max->integer) : INT64_MAX},
              out, self);
}

void between(const View& self, const View* min, const View* max, View& out) {
  elementwise(ClampBetween{min != nullptr, max != nullptr}, out, self, min ? *min : self, max ? *max : self);
}

constexpr assay_kernel clamp_kernels[] = {ASSAY_CUDA(ops::clamp, clamp, ASSAY_CUDA_IN_PLACE),
                                          ASSAY_CUDA(ops::clamp_tensor, between, ASSAY_CUDA_IN_PLACE)};
const Enrolled clamp_enrolled{clamp_kernels};

}  // namespace
}  // namespace assay::cuda
