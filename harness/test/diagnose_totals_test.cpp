// What is said of all calls of a file together.
#include "harness/diagnose/totals.h"

#include <gtest/gtest.h>

namespace assay::diagnose {
namespace {

Diagnosis of(Diagnosis::Kind kind, bool fault, std::uint64_t elements = 10, std::string why = "") {
  Diagnosis d;
  d.kind = kind;
  d.fault = fault;
  d.elements = d.judged = elements;
  if (!why.empty()) d.skipped.push_back(std::move(why));
  return d;
}

TEST(Totals, CountEachCallOnce) {
  using Kind = Diagnosis::Kind;
  std::vector<Diagnosis> all{of(Kind::no_fault, false),
                             of(Kind::named, true),
                             of(Kind::undecided, false),
                             of(Kind::no_results, false, 0, "Assay has no reference for exp2."),
                             of(Kind::no_results, false, 0, "Assay has no reference for exp2."),
                             of(Kind::no_results, true, 0, "The file has no results of this call."),
                             of(Kind::no_fault, false, 0),
                             of(Kind::no_fault, false)};
  all.back().undecidable = 10;
  const Totals t = totals_of(all, {"0", "call 1, act", "2", "3", "4", "call 5, relu", "6", "7"});
  EXPECT_EQ(t.right, 1u);
  EXPECT_EQ(t.at_fault, (std::vector<std::string>{"call 1, act", "call 5, relu"}));
  EXPECT_EQ(
      to_text(t, 0),
      "Of 8 calls 1 is right, 2 at fault (call 1, act; call 5, relu), 1 not decided, 4 could not be judged: Assay has no\n"
      "  reference for exp2 (2 calls); any result would pass; its results have no elements.\n");
  EXPECT_EQ(to_text(totals_of({all[0]}, {"0"}), 2),
            "Of 1 call 1 is right, 0 at fault. 2 calls not looked at: it was interrupted.\n");
}

}  // namespace
}  // namespace assay::diagnose
