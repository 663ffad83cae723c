#include "short_run.h"

#include <algorithm>
#include <utility>

#include "../registry/select.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using Seconds = Budget::Seconds;

constexpr Seconds kMost{120};
constexpr Seconds kLeast{10};
constexpr double kKernelsInTheLeast = 4;  // of somebody's library, of one operator

std::size_t all_operators_and_dtypes() {
  std::size_t n = 0;
  for (const Operator* op : operators())
    for (int d = 0; d < kDtypes; ++d) n += op->dtypes.contains(static_cast<Dtype>(d)) ? 1 : 0;
  return n;
}

}  // namespace

Seconds budget_for(std::size_t operators_and_dtypes, std::size_t plugin_kernels) {
  const auto all = static_cast<double>(std::max<std::size_t>(all_operators_and_dtypes(), 1));
  const Seconds least = kLeast * std::max(1.0, static_cast<double>(plugin_kernels) / kKernelsInTheLeast);
  return std::clamp(std::max(kMost * (static_cast<double>(operators_and_dtypes) / all), least), kLeast,
                    kMost);
}

bool is_left_out(const Kernel& kernel, const std::vector<std::string>& globs) {
  return is_cuda_on_the_processor(kernel) && !names(globs, kernel.name);
}

bool is_sampled(const Kernel& kernel, const std::vector<std::string>& globs) {
  return kernel.peer && !names(globs, kernel.name);
}

bool Budget::begins(std::uint64_t round, Seconds elapsed) {
  const Seconds before = elapsed - last_;
  last_ = elapsed;
  return std::exchange(first_, false) || round < kLeastRounds || elapsed + before <= budget_;
}

}  // namespace assay
