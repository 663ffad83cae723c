// Parameters, what changed them later, or the algorithm: a call's tensors as they were at several moments.
//
// A case file may hold, beside what the call was made with, how its tensors were elsewhere on their way:
//
//   stages/source/ARGUMENT     in the model's file, or as the call before gave it
//   stages/received/ARGUMENT   as the operator was handed it; without it, inputs/ARGUMENT is that
//   stages/packed/ARGUMENT     as the engine keeps it for its kernel, put back into the argument's shape if that is another
//   stages/executed/ARGUMENT   as the kernel read it
//   stages/after/ARGUMENT      when the kernel had returned
//   stages/read/OUTPUT         a result, as its consumer read it; actual/OUTPUT is how the kernel returned it
//
// If `received` is there and `source` is not, inputs/ARGUMENT is the source: a trace of PyTorch's, to which an engine's stages were
// added.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../files/case_file.h"
#include "../judge/judge.h"
#include "change.h"

namespace assay::diagnose {

// What is at fault when a tensor is another one at the next moment.
enum class Blame : std::uint8_t {
  parameters,  // the operator was handed others than the model has
  input,       // it was handed another input than the call before gave
  packing,     // the engine packed or converted it wrongly
  changed,     // something wrote to it later
};
std::string_view token(Blame b);  // "parameters"

struct Snapshot {
  std::string moment;  // "source"
  std::string phrase;  // "the source", of a sentence
  Blame blame;         // if it is not what the snapshot before it is
  TensorData data;
};

// A tensor that was changed between two moments.
struct Step {
  std::string tensor;    // "weight"
  std::string from, to;  // "source", "received"
  Blame blame;
  std::string says;  // "weight: what was received is not the source: 3 of 3 elements differ: .."
};

// From each snapshot to the next. A packed form of another shape is compared as a collection of numbers, and what comes after it with
// what was before it; anything else in another shape is another tensor.
std::vector<Step> steps(const std::string& tensor, std::span<const Snapshot> snapshots,
                        const std::vector<Source>& writers);

// A recorded call that has stages.
struct StagedCall {
  Call source;    // on what it should have been given
  Call executed;  // on what the kernel computed with, as far as the stages show
  std::vector<Step> steps;
  std::vector<bool> is_parameter;   // by argument
  std::vector<std::string> unused;  // stages that say nothing: of no argument, or of another shape
};

// Nothing if it has no stages. `parameters`: arguments that are parameters; if there are none, all tensors but the first.
std::optional<StagedCall> staged(const Call& call, const std::map<std::string, RecordedTensor>& stages,
                                 const ExpectedOutputs& actual, std::vector<std::string> parameters,
                                 const std::vector<Source>& writers);

// Results with parameters, inputs and kernel each as they should be or as they were, against the bound of right ones.
struct Swap {
  struct Row {
    bool parameters, inputs, kernel;  // as they were
    std::uint64_t diverging = 0;
    bool run_here = false;  // of the kernel: these results were not recorded
  };
  std::vector<Row> rows;
  std::uint64_t elements = 0;
  std::uint64_t of_kernel = 0;  // that no right kernel gives for what it was given
};

// Runs the kernel; nothing if it cannot be.
using RunKernel = std::function<std::optional<ExpectedOutputs>(const Call&)>;

// With `run`, all eight; without, those that the reference and the recorded results give.
Swap swap(const StagedCall& call, const Contract& contract, const ExpectedOutputs& actual,
          const RunKernel& run);

// What the stages of a call say, for a diagnosis.
struct Staging {
  std::vector<Step> steps;
  Swap swap;
  std::vector<std::string> unused;
};

// Who is to blame, without repetition and in the order of a call: tokens of Blame, and "algorithm" for the kernel.
std::vector<std::string> verdict(const Staging& s);
std::string heading(const Staging& s);  // "Parameters, and algorithm"; precondition: there is a verdict
std::string to_text(const Staging& s);
// {"verdict": ["parameters"], "steps": [{"tensor", "from", "to", "verdict", "says"}], "elements", "of_kernel",
// "swap": [{"parameters": "source" or "executed", "inputs", "kernel": "reference" or "actual", "diverging"}], "unused"}
nlohmann::json to_json(const Staging& s);

}  // namespace assay::diagnose
