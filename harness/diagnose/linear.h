// What parts of a tensor contribute to results, where these depend linearly on it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "evidence.h"
#include "vocabulary/reference.h"

namespace assay::diagnose {

// For each search that uses these.
#ifdef ASSAY_SANITIZED
inline constexpr std::chrono::seconds kMostForLinear{60};
#else
inline constexpr std::chrono::seconds kMostForLinear{3};
#endif

// An element of a result that diverges, or does not: what it has more than is right.
struct Surplus {
  std::int64_t at = 0;  // row-major
  double more = 0;
  double within = 0;  // how far off `more` may be
  bool diverges = false;
};
// Nothing of an element whose bound does not decide, or that is no number.
std::optional<Surplus> surplus(Evidence& evidence, int output, std::int64_t at);

// The first result that is there, is of floats, and diverges.
std::optional<int> first_wrong_output(const Evidence& evidence);

// Which arguments are tensors of floats, and no indices.
std::vector<std::size_t> tensors_of_numbers(const Call& call);

// Derivatives of results with respect to one tensor.
class Contributions {
 public:
  Contributions(const Call& call, std::size_t argument, int output);

  // One number for each element of the tensor, row-major; zeros at first. The derivative is in this direction.
  std::vector<double>& direction() { return direction_[argument_]; }
  double along(std::int64_t at) { return evaluation_->derivative(output_, at, direction_); }

 private:
  Arguments arguments_;
  std::unique_ptr<Evaluation> evaluation_;
  std::size_t argument_;
  int output_;
  std::vector<std::vector<double>> direction_;
};

}  // namespace assay::diagnose
