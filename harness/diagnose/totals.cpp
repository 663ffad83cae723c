#include "totals.h"

#include <fmt/format.h>

#include <string_view>

#include "reports/text.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostAtFault = 6, kMostReasons = 6;

// Why a call that has no fault is not said to be right; empty if it is.
std::string why_not_right(const Diagnosis& d) {
  if (d.kind == Diagnosis::Kind::no_results) return d.skipped.empty() ? "there are no results" : d.skipped[0];
  if (d.elements == 0) return "its results have no elements";
  return d.undecidable >= d.judged ? "any result would pass" : "";
}

// "Assay has no reference for exp2." is a reason in a list.
std::string_view without_stop(std::string_view sentence) {
  if (sentence.ends_with('.')) sentence.remove_suffix(1);
  return sentence;
}

std::string_view is_or_are(std::size_t n) { return n == 1 ? "is" : "are"; }

}  // namespace

Totals totals_of(const std::vector<Diagnosis>& all, const std::vector<std::string>& names) {
  Totals t;
  t.calls = all.size();
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Diagnosis& d = all[n];
    if (d.fault)
      t.at_fault.push_back(names[n]);
    else if (d.kind == Diagnosis::Kind::undecided)
      ++t.undecided;
    else if (const std::string why = why_not_right(d); !why.empty())
      ++t.not_judged[std::string(without_stop(why))];
    else
      ++t.right;
  }
  return t;
}

std::string to_text(const Totals& t, std::size_t left) {
  std::string s =
      fmt::format("Of {} {} {} right", counted(t.calls, "call"), grouped(t.right), is_or_are(t.right));
  s += fmt::format(", {} at fault", grouped(t.at_fault.size()));
  if (!t.at_fault.empty()) s += fmt::format(" ({})", first_of(t.at_fault, kMostAtFault, "; "));
  if (t.undecided > 0) s += fmt::format(", {} not decided", grouped(t.undecided));
  std::size_t not_judged = 0;
  std::vector<std::string> reasons;
  for (const auto& [reason, n] : t.not_judged) {
    not_judged += n;
    reasons.push_back(n == 1 ? reason : fmt::format("{} ({} calls)", reason, grouped(n)));
  }
  if (not_judged > 0)
    s += fmt::format(", {} could not be judged: {}", grouped(not_judged),
                     first_of(reasons, kMostReasons, "; "));
  s += ".";
  if (left > 0) s += fmt::format(" {} not looked at: it was interrupted.", counted(left, "call"));
  return paragraph(s, "", "  ");
}

}  // namespace assay::diagnose
