// `assay diagnose`: why a kernel's results are wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../diff/picture.h"
#include "../diff/rule.h"
#include "admitting.h"
#include "causes.h"
#include "deciding.h"
#include "evidence.h"
#include "inversion.h"
#include "nearer.h"
#include "reports/style.h"
#include "stages.h"
#include "strictest.h"
#include "whole.h"
#include "winograd.h"

namespace assay::diagnose {

inline constexpr std::size_t kMostSeparated = 8;

// Where the elements of one output diverge.
struct Where {
  std::string output;  // "out"
  std::uint64_t diverging = 0, elements = 0;
  std::optional<diff::Rule> rule;  // none: they are scattered, or none diverges
  std::optional<std::string>
      rearranged;  // what it is of the right result: "its dimensions in the order (0, 2, 3, 1)"
  std::optional<diff::Picture> small, large;  // for a terminal, and to be drawn
};

// A cause, free of what it was found with.
struct Named {
  std::string name;  // "formula.slope_of_the_last_dimension"
  std::string says;
  std::size_t explained = 0, broken = 0, discriminating = 0, matched = 0;  // of the elements that were tried
  bool explains_all = false;
  std::optional<Whole> whole{};  // what it makes of all elements
  bool beside_arithmetic =
      false;                 // it is two, one of which is arithmetic in fewer bits, with which much fits
  std::string definition{};  // whose definition of the operator it is, or empty
  // Whether some element tells it from the reference for certain, every element is as it says, and it does not stand beside arithmetic.
  bool proven = false;
};

// A fault that was read off the whole result, of which so many elements that were tried diverge.
Named read_off(std::string name, std::string says, std::size_t diverging);

struct Diagnosis {
  enum class Kind : std::uint8_t {
    no_fault,  // every element is inside its bound
    named,     // one cause explains all, or nobody could tell the others from it on many elements
    ambiguous,  // several causes explain all, or one that only promises less, and too few elements diverge to choose
    recovered,  // no known cause does, but parameters that do were recovered
    partly,     // causes explain a part
    unknown,
    no_results,  // there is nothing to look for causes in
    undecided,   // every element is inside a bound that acquits nearly anything
  };
  Kind kind = Kind::no_fault;
  bool fault = false;  // something diverges, or what was recorded was a fault
  std::string op;
  std::string case_text;  // or empty
  std::string impl;       // or empty
  std::string contract;   // under which it was judged
  std::uint64_t elements = 0, judged = 0, diverging = 0, undecidable = 0;
  std::size_t tried = 0, tried_diverging = 0;
  bool says_little = false;  // all elements are one number in place of another, or there are hardly any
  bool unrelated = false;  // results are no nearer to the right ones than in any other order
  std::string worst;       // "out[0,3] is 1.5, but must be [1.25, 1.2500001]"
  std::vector<Where> where;
  std::vector<Named> causes, same, weaker;
  std::vector<std::string> untestable;
  std::vector<std::string> blind;  // arguments whose faults none could show: "weight: .."
  std::vector<Inverted> inverted;
  std::optional<std::string>
      separating;  // a case on which the first cause and those of `same`, the first kMostSeparated of them, differ
  std::optional<std::string>
      showing;                       // where there is no fault: a case that shows most of the untestable ones
  std::size_t shown = 0;             // how many
  std::string advice;                // how to tell them apart where no case does
  std::vector<std::string> skipped;  // why some causes were not tried
  std::optional<ByWinograd> winograd;  // errors are those of this algorithm
  std::optional<Admitting> admitting;  // where no cause is proven: what a contract would have to say
  std::optional<Nearer> nearer;  // where the bound does not decide: the cause that results are nearest to
  std::optional<Deciding> deciding;  // and a call that does decide
  std::optional<Strictest> strictest;  // where there is no fault, by a kernel of which nothing is known
  std::optional<Staging> stages;       // if the call was recorded with them
  std::size_t tested = 0, pairs = 0;
  bool complete = true;  // false: the search ended before all causes were tried, or all was looked at
  double searched = 0;   // seconds
};

struct Options {
  Patience patience;
  // Of the kernel nothing is known: where nothing diverges, what it must be allowed is found out.
  bool stranger = false;
  bool separate =
      true;  // look for a case that tells the same ones apart, or that shows what this data cannot
};

// Of one call, or of several of one operator by one kernel, which must have one cause. Places are those of the call in which most
// elements diverge. What a StopScope ends is left out, and `complete` says so.
Diagnosis diagnose(std::span<Evidence* const> calls, const Options& options = {});
Diagnosis diagnose(Evidence& evidence, const Options& options = {});

// Of results of which none diverges, by a kernel of which nothing is known: what is not decided about them, or nothing where what the
// kernel needs is common or time did not suffice. It looks at fewer elements than a diagnosis, and tries no causes unless the bound says
// too little.
std::optional<Diagnosis> doubt_of(Evidence& evidence, std::chrono::milliseconds most);

// One line: the cause, or what else is known.
std::string summary(const Diagnosis& d);
std::string to_text(const Diagnosis& d, Style style);
// {"format": "assay.diagnosis/1", "diagnoses": [{"op", "kind", "elements", "diverging", "causes": [..], ..}]}
std::string to_json(const std::vector<Diagnosis>& all);
// Where results diverge.
std::string to_svg(const std::vector<Diagnosis>& all);

// strangers_contract() for people.
inline constexpr std::string_view kOfStrangers =
    "what common libraries do: sums in any order, functions within 4 ulp, divisions and roots within 2; "
    "name what your kernel promises with --contract to be judged by that";

}  // namespace assay::diagnose
