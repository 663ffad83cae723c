// Where an engine's numbers leave those of a recorded PyTorch program, and why: parameters, what happened in between, or the operator.
//
// Every call is computed again by its reference on the engine's own numbers: the results that the engine gave for earlier calls,
// and its own parameters, where the dump has them. What is wrong in spite of that is the operator's own fault; what differs from
// PyTorch's numbers and is right so, comes from before. So several faults are found, not only the first.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../diagnose/diagnosis.h"
#include "../diagnose/stages.h"
#include "../diff/match.h"
#include "../files/case_file.h"
#include "../tensors/tensor_file.h"
#include "known.h"
#include "reports/style.h"

namespace assay {

class Journal;  // reports/journal.h

struct BisectedCall {
  enum class Status : std::uint8_t {
    right,       // what the engine gave is right, and what PyTorch gave is inside the same bound
    inherited,   // right for the engine's own inputs, which are not PyTorch's
    parameters,  // the engine's parameters are not those recorded; with its own the operator is right
    packing,     // the engine packed or converted them wrongly
    changed,     // a tensor is not what it was before: something wrote to it in between
    wrong,  // the operator is wrong on the engine's own inputs and parameters, or its result has another shape
    not_dumped,    // the dump has nothing of it: its reference's result stands for it
    no_reference,  // Assay does not have the operator
    not_judged,  // its arguments are none that Assay's operator takes, or nobody knows what they were in the engine
    undecided,  // inside a bound that is far wider than kernels err, and far from what they give
  };
  Status status = Status::not_dumped;
  std::string name, op, source, case_text;
  std::string dumped_as;  // the dump's name of its first result, and how it was found if not by name
  std::uint64_t elements = 0;  // of its results
  bool has_reference = true;
  bool compared = false;               // what it was given, with what came before
  std::string stored_as, computed_in;  // dtypes, if the dump's is the narrower one: "f16", "f32"
  std::set<diagnose::Blame> blames;    // what became of parameters and inputs, whatever else is wrong
  std::vector<std::string>
      says;  // about parameters and inputs: "conv.weight: that of the dump is not the one that was recorded: .."
  std::vector<std::string> quantised;  // what the engine keeps as integers, as near as they allow: "weight: i8, one step of 0.01"
  std::optional<double> signal_to_noise;  // of its first result beside PyTorch's, in dB; infinite where they are the same
  // Calls before it that the dump does not have, any of which may be at fault in its place: it was judged on what those should have
  // given.
  Assumed one_of;
  // The graph of operators that it was judged as, with those calls before it that the dump does not have.
  struct Together {
    std::vector<std::string> calls;  // in order, itself the last
    std::vector<std::string>
        folded;         // batch norms among them that were taken as folded into the convolution before them
    std::string graph;  // its text
    std::uint64_t elements = 0, judged = 0, diverging = 0, undecidable = 0;
    double width = 0;  // of the bound of half of the elements at most, for each unit of their value
    std::string at;    // the part of it that the cause is about, or empty
  };
  std::optional<Together> together;
  std::string not_together;                      // why it was judged without them
  std::optional<diagnose::Diagnosis> diagnosis;  // of a wrong operator, or of one that is not decided
  // What is said of that, where it was found before the run went on.
  struct Shown {
    std::string text, summary, json;
  };
  std::optional<Shown> shown;
  bool is_finding() const {
    return status == Status::parameters || status == Status::packing || status == Status::changed ||
           status == Status::wrong;
  }
};

struct Bisection {
  std::string trace, dump;
  std::vector<BisectedCall> calls;  // in the order in which they were made
  std::vector<std::string>
      written;  // parameters of the dump that the program writes to, and that say nothing therefore
  std::vector<std::string> unused;  // tensors of the dump that nothing was compared with
  std::vector<std::string> unread;  // of the dump, which Assay cannot read, with the reason
  std::string engine;               // "onnxruntime 1.32.0", where the dump came with its nodes
  std::map<std::string, std::string> settings;  // of the engine
  std::size_t by_module = 0, by_numbers = 0, by_place = 0;  // results that were matched without names

  // How much of the program was judged: by results, by what was given to the next call, or in a region. Copies that the dump does not have are left out.
  struct Share {
    std::size_t calls = 0, of_calls = 0;
    std::uint64_t elements = 0, of_elements = 0;
    bool is_most() const { return elements > 0 && 2 * elements >= of_elements && 2 * calls >= of_calls; }
  };
  Share judged() const;
  bool any_finding() const;
  // Whether some call is not decided, and the last result that the dump has is not what PyTorch's inputs give: one of these calls may be
  // the reason.
  bool any_doubt() const;
};

struct BisectOptions {
  diff::NameMap map;     // names of the trace -> names of the dump
  std::string nodes;     // a file of the engine's nodes (engine_nodes.h), or empty
  std::string contract;  // of the engine's kernels; empty: what common libraries do
  diagnose::Options diagnosis;
  Journal* journal =
      nullptr;  // where calls that are done are kept, and were before this run went on; or none
};

// The dump's names: a call's ("features.0/convolution"), or that of its module ("features.0") if it made one call; ":out1" after it
// for another result, ":self" for what the kernel received as an argument, ":packed/weight", ":executed/weight", ":after/self" and
// ":read/out" for what diagnose/stages.h calls so; and parameters' ("features.0.weight"). Results that are not found so are looked for
// by shape, if there is one alone and half of its numbers are nearly those that were recorded. Throws FileError, and CaseError for a
// map that names no call.
Bisection bisect(const CaseFile& trace, const TensorFile& dump, const BisectOptions& options,
                 const std::function<void(const std::string&)>& progress);

std::string to_text(const Bisection& b, Style style);
// {"format": "assay.bisect/1", "trace", "dump", "first", "calls": [{"name", "op", "case", "source", "status", "blames", "one_of", "dumped_as",
// "stored_as", "says", "diagnosis", "together", "not_together"}], "written", "unused", "unread"}
std::string to_json(const Bisection& b);

// A call as a journal keeps it: what it adds to `calls`, and what going on needs besides; and back.
nlohmann::json kept_call(const BisectedCall& c);
nlohmann::json more_of(const BisectedCall& c);
BisectedCall call_of(const nlohmann::json& kept, const nlohmann::json& more);

}  // namespace assay
