// Calls whose results a dump does not have, and whose results it has under the name of another: what a bisection judges as one graph.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dump.h"
#include "folded.h"
#include "inputs.h"
#include "known.h"
#include "readers.h"
#include "regions.h"

namespace assay {

class Absent {
 public:
  // All must outlive this object.
  Absent(const CaseFile& trace, Dump& dump, KnownResults& results, SeenInputs& inputs, const Readers& readers,
         const Foldings& foldings, const std::string& contract, const diagnose::Options& diagnosis);

  // What the engine gave a call, as each of its tensor arguments is there: of one that comes before others of its region.
  void keep(std::size_t call, const std::string& argument, const TensorData& t,
            const SeenInputs::Given& given);
  // The dump has all that it gave.
  void forget(std::size_t call) { given_.erase(call); }

  // With the calls before it that the dump does not have; nothing if they are not judged as one, and why is said. Precondition: what it
  // was given is kept.
  std::optional<JudgedRegion> judged(std::size_t call, const diagnose::Evidence& own,
                                     const ExpectedOutputs& dumped, BisectedCall& result) const;
  // What a call gave that only moves numbers.
  std::optional<KnownResult> moved(std::size_t call) const;
  // Why a call that only joins tensors gave this, as joined_otherwise() says it.
  std::optional<std::string> joined(std::size_t call, const TensorData& came) const;
  RegionSources sources() const { return {trace_, given_, results_, foldings_}; }

  // A kernel that computes this call and some after it may have its result in the dump under this call's name. Then the dump has
  // nothing of this call from now on, and that result is the last one's: where it is right so, or much nearer to being right.
  // Precondition: what the call was given is kept, and its results are known.
  bool forget_named_for_another(std::size_t call, diagnose::Evidence& own, ExpectedOutputs& dumped,
                                BisectedCall& result);

 private:
  std::optional<std::size_t> last_call_of(std::size_t call, const DumpedResults::One& dumped,
                                          const TensorData& right);
  struct Step {
    std::size_t call = 0;
    std::string output;
  };
  std::optional<Step> after(const Step& step, std::size_t first, const DumpedResults::One& dumped);
  bool keep_later(std::size_t call, std::size_t first, const std::string& read, const TensorData& t);

  const CaseFile& trace_;
  Dump& dump_;
  KnownResults& results_;
  SeenInputs& inputs_;
  const Readers& readers_;
  const Foldings& foldings_;
  const std::string& contract_;
  const diagnose::Options& diagnosis_;
  GivenCalls given_;
};

}  // namespace assay
