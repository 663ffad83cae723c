// What one call should give: the reference in double, and intervals for the elements where that is not enough.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "../model/call.h"
#include "vocabulary/contract.h"
#include "vocabulary/reference.h"

namespace assay {

// Shared by all kernels that run the call: the reference is evaluated once, and intervals are kept for each contract.
class Expectation {
 public:
  // The intervals of one output that have been computed so far.
  class Intervals {
   public:
    const Interval& operator[](std::size_t element) const { return found_[of_[element]]; }

   private:
    friend class Expectation;
    static constexpr std::uint32_t kUnknown = ~0u;
    std::vector<std::uint32_t> of_;  // element: its number in `found`
    std::deque<Interval> found_;
  };

  // Precondition: call.error is empty. The call must outlive the expectation.
  explicit Expectation(const Call& call);

  const Call& call() const { return call_; }
  Evaluation& evaluation() { return *evaluation_; }
  const std::vector<double>& values(int output);
  // The output, to the bit, where it is computed in integers; else nullptr.
  const std::vector<std::int64_t>* integers(int output);
  // The output as the reference has it, rounded to its dtype; packed.
  const std::vector<std::byte>& rounded(int output);
  // Of these elements; what is returned stays where it is while the expectation lives.
  const Intervals& intervals(int output, std::span<const std::size_t> elements, const Contract& contract);
  const Interval& interval(int output, std::int64_t element, const Contract& contract) {
    const auto e = static_cast<std::size_t>(element);
    return intervals(output, {&e, 1}, contract)[e];
  }

  // Elements of which this is the same share work.
  std::int64_t row(int output, std::int64_t element) { return evaluation_->row(output, element); }

  // Whether the data could not show a fault: zeros, the first input and the output shifted by one element would all
  // have passed under this contract.
  bool vacuous(const Contract& contract);

 private:
  std::size_t elements(int output) const;
  // Whether results substitute(e) would pass, one for each element; it looks at the elements that differ most.
  template <class Substitute>
  bool would_pass(int output, const Substitute& substitute, const Contract& contract);

  const Call& call_;
  Arguments arguments_;
  std::unique_ptr<Evaluation> evaluation_;
  std::vector<std::vector<double>> values_;
  std::vector<std::optional<std::vector<std::int64_t>>> integers_;  // empty where it is not in integers
  std::vector<std::optional<std::vector<std::byte>>> rounded_;
  // What is known under contracts of one arithmetic.
  struct Known {
    Contract contract;
    std::vector<Intervals> intervals;  // of each output
    std::optional<bool> vacuous;
  };
  Known& known(const Contract& contract);

  std::deque<Known> known_;
};

}  // namespace assay
