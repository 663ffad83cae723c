#include "rivals.h"

#include <cmath>

namespace assay {
namespace {

struct Tolerances {
  double relative, absolute;
};

// torch/testing/_comparison.py, _DTYPE_PRECISIONS.
Tolerances defaults_of_assert_close(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return {1e-7, 1e-7};
    case Dtype::f32:
      return {1.3e-6, 1e-5};
    case Dtype::f16:
      return {1e-3, 1e-5};
    case Dtype::bf16:
      return {1.6e-2, 1e-5};
    default:
      return {0, 0};
  }
}

bool close(double e, double a, Tolerances t) {
  if (std::isnan(e) || std::isnan(a)) return std::isnan(e) && std::isnan(a);
  return e == a || (std::isfinite(e) && std::fabs(a - e) <= t.absolute + t.relative * std::fabs(e));
}

bool all_close(const std::vector<double>& expected, const std::vector<double>& actual, Tolerances t) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!close(expected[i], actual[i], t)) return false;
  return true;
}

bool nmse(const std::vector<double>& expected, const std::vector<double>& actual) {
  constexpr double kMost = 1e-7;
  double error = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i], a = actual[i];
    if (!std::isfinite(e) || !std::isfinite(a)) {
      if (!close(e, a, {})) return false;
      continue;
    }
    error += (a - e) * (a - e);
    size += e * e;
  }
  return error <= kMost * size;
}

}  // namespace

bool accepts(Rival rival, Dtype dtype, const std::vector<double>& expected,
             const std::vector<double>& actual) {
  switch (rival) {
    case Rival::assert_close:
      return all_close(expected, actual, defaults_of_assert_close(dtype));
    case Rival::allclose:
      return all_close(expected, actual, {1e-2, 1e-2});
    case Rival::nmse:
      return nmse(expected, actual);
  }
  return false;
}

}  // namespace assay
