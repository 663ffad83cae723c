// Rows of numbers brought to mean 0 and variance 1: what layer, group and batch norm share. Compiled for each level.
#include "element.h"
#include "hwy/highway.h"

#if defined(ASSAY_CPU_NORMALISE_H) == defined(ASSAY_CPU_TOGGLE)
#ifdef ASSAY_CPU_NORMALISE_H
#undef ASSAY_CPU_NORMALISE_H
#else
#define ASSAY_CPU_NORMALISE_H
#endif

#ifndef ASSAY_CPU_NORMALISATION
#define ASSAY_CPU_NORMALISATION
namespace assay::cpu {

// Statistics of earlier batches, one number for each row, which those of this one join: (1 - momentum) * last + momentum *
// new, where n - 1 is the divisor of the new variance.
struct RunningStatistics {
  View mean, var, mean_out, var_out;
  double momentum;
};

struct Normalisation {
  View input, out;  // of one shape: the first `first` dimensions number rows, the others are a row
  int first;
  View mean, rstd;  // of those dimensions: the results; if `given`, the mean and the variance to take
  bool given = false;
  const View* weight = nullptr;  // in row-major order
  const View* bias = nullptr;
  std::int64_t sharing = 1;  // neighbours in a row that have one weight
  std::int64_t period = 1;   // rows after which weights begin anew
  double eps = 0;
  const RunningStatistics* running = nullptr;
};

// The first dimensions of a view.
inline View leading(const View& v, int dimensions) {
  View front = v;
  front.ndim = dimensions;
  return front;
}

}  // namespace assay::cpu
#endif

namespace assay::cpu::HWY_NAMESPACE {

// out = (input - mean) * rstd * weight + bias, rstd = 1 / sqrt(mean((input - mean)^2) + eps).
void normalise(const Normalisation& n);

}  // namespace assay::cpu::HWY_NAMESPACE

#endif
