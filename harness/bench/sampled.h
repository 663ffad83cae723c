// Whether results are right, judged by a sample of their elements: the tensors of a benchmark are too large to prove each
// one every time, which is what `assay verify` is for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "../call.h"
#include "vocabulary/contract.h"
#include "vocabulary/reference.h"

namespace assay {

class SampledJudge {
 public:
  // Reads the call's data once. The call must outlive the judge.
  explicit SampledJudge(const Call& call);

  // Empty if all elements that were looked at are ones that the contract allows, else a sentence about the first that is not.
  // Results are packed, one for each output. At most `most` elements of each, first and last among them, or as many as half a
  // second is enough for.
  std::string fault(const Contract& contract, const std::vector<std::vector<std::byte>>& results,
                    std::size_t most = 256);

  // Elements that the last judgement looked at.
  std::size_t looked_at() const { return looked_at_; }

 private:
  const Call& call_;
  Arguments arguments_;
  std::unique_ptr<Evaluation> evaluation_;
  std::size_t looked_at_ = 0;
};

}  // namespace assay
