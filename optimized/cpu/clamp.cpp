// Numbers brought between two bounds: compares and selects, so that NaN and -0 stay; no arithmetic. A bound that
// is not given is an infinity, which no number crosses.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/clamp.cpp"
#include "levels.h"

#include <cmath>

#include "../geometry/wrap.h"
#include "elementwise.h"
#include "ops/clamp.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

struct Clamp {
  static constexpr bool cheap = true;
  double min, max;
  bool all_nan;  // of two bounds one is
  std::int64_t integer_min, integer_max;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V least = hn::Set(d, static_cast<hn::TFromD<D>>(min)),
            most = hn::Set(d, static_cast<hn::TFromD<D>>(max));
    if (all_nan) return hn::NaN(d);
    x = hn::IfThenElse(hn::Lt(x, least), least, x);
    return hn::IfThenElse(hn::Gt(x, most), most, x);
  }
  HWY_INLINE std::int64_t integers(std::int64_t x) const {
    return HWY_MIN(HWY_MAX(x, integer_min), integer_max);
  }
};

void run(const View& self, std::optional<Scalar> min, std::optional<Scalar> max, View& out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Dtype type = out.type();
  elementwise(Clamp{min ? min->real : -infinity, max ? max->real : infinity,
                    min && max && (std::isnan(min->real) || std::isnan(max->real)),
                    min ? wrapped_to(type, min->integer) : INT64_MIN,
                    max ? wrapped_to(type, max->integer) : INT64_MAX},
              out, self);
}

// A bound that is not given is passed as self, and not looked at.
struct ClampBetween {
  static constexpr bool cheap = true;
  bool has_min, has_max;
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V min, V max) const {
    if (has_min) x = hn::IfThenElse(hn::Or(hn::IsNaN(min), hn::Lt(x, min)), min, x);
    return has_max ? hn::IfThenElse(hn::Or(hn::IsNaN(max), hn::Gt(x, max)), max, x) : x;
  }
  HWY_INLINE std::int64_t integers(std::int64_t x, std::int64_t min, std::int64_t max) const {
    if (has_min) x = HWY_MAX(x, min);
    return has_max ? HWY_MIN(x, max) : x;
  }
};

void between(const View& self, const View* min, const View* max, View& out) {
  elementwise(ClampBetween{min != nullptr, max != nullptr}, out, self, min ? *min : self, max ? *max : self);
}

}  // namespace
}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {
namespace {
constexpr assay_kernel kernels[] = {ASSAY_CPU_LEVELS(ops::clamp, run, ASSAY_CPU_IN_PLACE),
                                    ASSAY_CPU_LEVELS(ops::clamp_tensor, between, ASSAY_CPU_IN_PLACE)};
const Enrolled enrolled{kernels};
}  // namespace
}  // namespace assay::cpu
#endif
