// Of results inside their bound: what their kernel must be allowed to do, at the least, so that they are; and whether the bound is so
// wide that it says little.
//
// A bound holds for the worst kernel that the contract allows. Of a kernel that nobody knows, it allows much: sums one term after the
// other, moments by updating, functions within 4 ulp. So one allowance after the other is taken away as long as the results fit.
// What is left is what they need: "moments=updating: without it they would be a fault by 2,000 bounds". Then kernels that do all this
// are run on the same data (the reference's adversary, which rounds to nearest). Where these use a hundredth of the bound, and the
// results much more, the bound acquits whom it does not know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence.h"

namespace assay::diagnose {

struct Allowance {
  std::string clause;     // "moments=updating"
  std::string says;       // "updates or merges the mean and the squares"
  std::string otherwise;  // what kernels are taken to do first: "without it", "in 16 partial sums"
  double excess = 0;  // how many bounds from the right result the farthest one is without it; may be infinite
};

struct Strictest {
  std::string contract;          // "chain=partial(16)", with what is needed
  std::vector<Allowance> needs;  // none: each operation rounded once, and 16 partial sums or more
  std::size_t looked_at = 0;     // elements
  double used = 0;               // of the bound, by the results: 1 at its end
  double typical = 0;            // of it, by kernels that were run
  bool decided() const;
  bool is_narrow() const;  // the bound, beside what kernels err
};

// Elements of each output that are looked at: those farthest from the reference, by their difference and by their ratio, and as many
// that are spread.
inline constexpr std::size_t kMostLookedAt = 1024;

// Empty where nothing was there to look at, or inputs are known within a rounding only. Precondition: nothing diverges.
std::optional<Strictest> strictest(Evidence& evidence, std::size_t looked_at = kMostLookedAt);

// What a kernel of strangers, of which nothing is known, may do: what compilers and common libraries of functions do.
std::string strangers_contract(const Operator& op);

// What an inference engine's kernel may do besides.
inline constexpr std::string_view kOfEngines = "+form=rewritten";

// `contract`, for the dtype in which the call computes. Where it is empty, that of strangers; one that begins with "+" adds to that.
Contract contract_or_strangers(const std::string& contract, const Call& call);

}  // namespace assay::diagnose
