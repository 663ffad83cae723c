#include "declared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "farthest.h"

namespace assay {
namespace {

constexpr std::size_t kOddOnes = 8;  // zeros of the other sign, and as many of which any result would pass
constexpr std::size_t kWorstOnes = 16;

// The contract without one of the fields that it states.
Contract without(const Contract& contract, std::string_view field, Dtype dtype) {
  std::string clauses;
  for (const Contract::Stated& s : contract.stated)
    if (s.field != field) clauses += fmt::format("{}={} -- {}\n", s.field, s.value, s.source);
  return parse_contract(clauses, dtype);
}

struct Weakness {
  std::string text;  // "moments=updating"
  Contract without;  // all that is declared but this
  Contract alone;    // nothing but this
};

std::vector<Weakness> weaknesses(const Contract& contract, Dtype dtype) {
  std::vector<Weakness> all;
  std::set<std::string> seen;
  for (const Contract::Stated& s : contract.stated)
    if (s.field != "chain" && seen.insert(s.field).second)  // of which the strict contract allows any
      if (Contract rest = without(contract, s.field, dtype); !same_arithmetic(rest, contract))
        all.push_back({fmt::format("{}={}", s.field, s.value), std::move(rest),
                       parse_contract(fmt::format("{}={} -- {}", s.field, s.value, s.source), dtype)});
  return all;
}

// One output, element by element.
class Looked {
 public:
  Looked(const Contract& contract, Expectation& expectation, int output, const std::vector<std::byte>& packed)
      : expectation_(expectation), output_(output), packed_(packed) {
    const std::vector<double>& values = expectation.values(output);
    std::vector<std::size_t> others;
    for (std::size_t e = 0; e < values.size(); ++e)
      if (differs(e)) others.push_back(e);
    if (others.size() > kMostLooked) keep_farthest(others, packed, values, dtype(), kMostLooked);
    choose(others, contract);
  }

  // Those that this contract does not allow, of those looked at or, once there are some, of these.
  std::vector<std::size_t> outside(const Contract& contract, std::span<const std::size_t> of) const {
    const Expectation::Intervals& intervals = expectation_.intervals(output_, of, contract);
    std::vector<std::size_t> found;
    for (const std::size_t e : of)
      if (!intervals[e].contains(result(e))) found.push_back(e);
    return found;
  }

  std::span<const std::size_t> elements() const { return elements_; }

 private:
  static constexpr std::size_t kMostLooked = 4096;  // those whose intervals the verdict needed, too

  Dtype dtype() const { return expectation_.call().outputs[static_cast<std::size_t>(output_)].dtype; }
  double result(std::size_t e) const {
    return load(packed_.data() + e * static_cast<std::size_t>(bytes(dtype())), dtype());
  }
  bool differs(std::size_t e) const {
    const double x = result(e),
                 y = load(expectation_.rounded(output_).data() + e * static_cast<std::size_t>(bytes(dtype())),
                          dtype());
    return std::isnan(x) ? !std::isnan(y) : x != y || std::signbit(x) != std::signbit(y);
  }

  void choose(const std::vector<std::size_t>& others, const Contract& contract) {
    if (others.empty()) return;
    const Expectation::Intervals& intervals = expectation_.intervals(output_, others, contract);
    std::set<std::size_t> chosen;
    std::size_t zeros = 0, free = 0;
    std::vector<std::pair<double, std::size_t>> used;
    for (const std::size_t e : others) {
      const Interval& i = intervals[e];
      if (i.undecidable() || std::isnan(i.value)) {
        if (free++ < kOddOnes) chosen.insert(e);
      } else if (result(e) == 0 && i.value == 0) {
        if (zeros++ < kOddOnes) chosen.insert(e);
      } else {
        used.emplace_back(i.error_over_bound(result(e)), e);
      }
    }
    const std::size_t n = std::min(used.size(), kWorstOnes);
    std::ranges::partial_sort(used, used.begin() + static_cast<std::ptrdiff_t>(n), std::greater<>());
    for (std::size_t k = 0; k < n; ++k) chosen.insert(used[k].second);
    std::vector<std::size_t> far = others;
    if (far.size() > kWorstOnes)
      keep_farthest(far, packed_, expectation_.values(output_), dtype(), kWorstOnes);
    chosen.insert(far.begin(), far.end());
    elements_.assign(chosen.begin(), chosen.end());
  }

  Expectation& expectation_;
  int output_;
  const std::vector<std::byte>& packed_;
  std::vector<std::size_t> elements_;
};

}  // namespace

std::vector<std::string> needed_weaknesses(const Contract& contract, Expectation& expectation,
                                           std::span<const std::vector<std::byte>> outputs) {
  const Contract strict;
  if (same_arithmetic(contract, strict)) return {};
  const std::vector<Weakness> declared = weaknesses(contract, expectation.call().outputs[0].computed_in);
  std::vector<std::string> needed;
  std::string any_of;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    if (expectation.integers(output) != nullptr) continue;
    const Looked looked(contract, expectation, output, outputs[o]);
    const std::vector<std::size_t> failing = looked.outside(strict, looked.elements());
    if (failing.empty()) continue;
    bool one_alone = false;
    for (const Weakness& w : declared) {
      if (looked.outside(w.without, failing).empty()) continue;
      one_alone = true;
      if (std::ranges::find(needed, w.text) == needed.end()) needed.push_back(w.text);
    }
    if (one_alone || !any_of.empty()) continue;
    for (const Weakness& w : declared)
      if (looked.outside(w.alone, failing).empty()) any_of += (any_of.empty() ? "" : " or ") + w.text;
    if (any_of.empty()) any_of = "several together";
  }
  if (!any_of.empty()) needed.push_back(any_of);
  return needed;
}

}  // namespace assay
