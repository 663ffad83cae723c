// What one call should give: the reference in double, and intervals for the elements where that is not enough.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "../call.h"
#include "vocabulary/contract.h"
#include "vocabulary/reference.h"

namespace assay {

// Shared by all kernels that run the call: the reference is evaluated once, and intervals are kept for each contract.
class Expectation {
 public:
  // Precondition: call.error is empty. The call must outlive the expectation.
  explicit Expectation(const Call& call);

  const Call& call() const { return call_; }
  const std::vector<double>& values(int output);
  // The output, to the bit, where it is computed in integers; else nullptr.
  const std::vector<std::int64_t>* integers(int output);
  // The output as the reference has it, rounded to its dtype; packed.
  std::vector<std::byte> rounded(int output);
  const Interval& interval(int output, std::int64_t element, const Contract& contract);

  // Whether the data could not show a fault: zeros, the first input and the output shifted by one element would all
  // have passed under this contract.
  bool vacuous(const Contract& contract);

 private:
  std::size_t elements(int output) const;
  // Whether results `substitute` (one for each element) would pass; it looks at the elements that differ most.
  bool would_pass(int output, const std::vector<double>& substitute, const Contract& contract);

  const Call& call_;
  Arguments arguments_;
  std::unique_ptr<Evaluation> evaluation_;
  std::vector<std::vector<double>> values_;
  std::vector<std::optional<std::vector<std::int64_t>>> integers_;  // empty where it is not in integers
  // What is known under contracts of one arithmetic.
  struct Known {
    Contract contract;
    std::vector<std::unordered_map<std::int64_t, Interval>> intervals;  // of each output, by element
    std::optional<bool> vacuous;
  };
  Known& known(const Contract& contract);

  std::deque<Known> known_;
};

}  // namespace assay
