// What a kernel gave, element by element: which results no right kernel can give, and some of either kind to try hypotheses on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../diff/compare.h"
#include "../judge/expectation.h"
#include "../judge/judge.h"
#include "rounding.h"

namespace assay::diagnose {

// Of a larger output so many elements are judged, evenly spread, and those that are farthest from the reference.
inline constexpr std::uint64_t kMostJudged = std::uint64_t{1} << 15;
// Elements that hypotheses are tried on: so many that diverge, and as many that do not.
inline constexpr std::size_t kMostTried = 192;

// One element of a result.
struct Element {
  int output = 0;
  std::int64_t at = 0;       // row-major
  double actual = 0;         // what came; of integers beyond 2^53 not to the bit
  std::int64_t integer = 0;  // what came, where the operator is computed in integers
  Interval right;            // what may come
  bool diverges = false;     // it is outside
};

class Evidence {
 public:
  // `actual`: packed results, as the call's outputs are. `rounding`: what they lost on their way here. The call must outlive this
  // object.
  // Precondition: call.error is empty, and each result has the size of its output.
  Evidence(const Call& call, Contract contract, ExpectedOutputs actual, Rounding rounding = {});

  const Call& call() const { return expectation_.call(); }
  const Contract& contract() const { return contract_; }
  const Rounding& rounding() const { return rounding_; }
  Expectation& expectation() { return expectation_; }
  // What may have come.
  Interval interval(int output, std::int64_t at);
  // Finds those of all these elements at once, which is cheaper than one after the other.
  void look_up(int output, std::span<const std::int64_t> elements);
  bool has(int output) const { return actual_[static_cast<std::size_t>(output)].has_value(); }
  double actual(int output, std::int64_t at) const;
  Element element(int output, std::int64_t at);
  const std::vector<std::byte>& packed(int output) const {
    return *actual_[static_cast<std::size_t>(output)];
  }
  // The same in the dtype that they were stored in.
  std::vector<std::byte> as_stored(int output, const std::vector<std::byte>& packed) const;
  Dtype stored(int output) const;

  std::uint64_t elements() const { return elements_; }    // of the results that are there
  std::uint64_t judged() const { return judged_; }        // all, or of large ones some
  std::uint64_t diverging() const { return diverging_; }  // among those judged
  std::uint64_t undecidable() const { return undecidable_; }
  const std::optional<Element>& worst() const { return worst_; }  // farthest outside its interval

  // Those that diverge first; each kind row by row.
  const std::vector<Element>& tried() const { return tried_; }
  // Of each output a few, of either kind and the denser the nearer to its beginning: where results run along a row, their bounds are
  // tight there.
  const std::vector<Element>& beginnings() const { return beginnings_; }
  std::size_t tried_diverging() const { return tried_diverging_; }
  // Which elements of an output diverge. Of those that are not judged: that differ from the reference by more than
  // any judged one may.
  const diff::Mask& mask(int output) const { return masks_[static_cast<std::size_t>(output)]; }

 private:
  void judge(int output);
  std::vector<Element> sampled(std::vector<std::pair<int, std::int64_t>> places);

  Expectation expectation_;
  Contract contract_;
  ExpectedOutputs actual_;
  Rounding rounding_;
  std::vector<diff::Mask> masks_;
  std::vector<Element> tried_;
  std::size_t tried_diverging_ = 0;
  std::vector<Element> beginnings_;
  std::uint64_t elements_ = 0, judged_ = 0, diverging_ = 0, undecidable_ = 0;
  std::optional<Element> worst_;
};

}  // namespace assay::diagnose
