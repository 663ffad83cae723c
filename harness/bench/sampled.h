// Whether results are right, judged by a sample of their elements: the tensors of a benchmark are too large to prove each
// one every time, which is what `assay verify` is for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../model/call.h"
#include "vocabulary/contract.h"
#include "vocabulary/reference.h"

namespace assay {

class SampledJudge {
 public:
  // Reads the call's data once. The call must outlive the judge. Which elements it looks at, follows from the seed: a kernel that
  // knows it need compute no others.
  explicit SampledJudge(const Call& call, std::uint64_t seed = 1);

  // Empty if all elements that were looked at are ones that the contract allows, else a sentence about the first that is not.
  // Results are packed, one for each output. At most `most` elements of each, first and last among them, or as many as half a
  // second is enough for. Without `most`: 256 of each, and more as long as that takes a few milliseconds, all of a small output.
  std::string fault(const Contract& contract, const std::vector<std::vector<std::byte>>& results,
                    std::optional<std::size_t> most = std::nullopt);
  // The same of some elements of each output.
  std::string fault_of(const Contract& contract, const std::vector<std::vector<std::byte>>& results,
                       const std::vector<std::vector<std::size_t>>& elements) {
    return fault_of(contract, results, elements, kPatience);
  }

  // Elements that the last judgement looked at.
  std::size_t looked_at() const { return looked_at_; }

 private:
  static constexpr std::chrono::milliseconds kPatience{500};
  // Ends after so long, once it has looked at a least number of each.
  std::string fault_of(const Contract& contract, const std::vector<std::vector<std::byte>>& results,
                       const std::vector<std::vector<std::size_t>>& elements,
                       std::chrono::milliseconds patience, std::size_t least = 8);

  const Call& call_;
  Arguments arguments_;
  std::unique_ptr<Evaluation> evaluation_;
  std::uint64_t seed_;
  std::size_t looked_at_ = 0;
};

}  // namespace assay
