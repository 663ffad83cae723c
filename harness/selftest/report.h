// What a self-test found, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reports/style.h"
#include "selftest.h"

namespace assay {

// How many of the variants that can be told from a right kernel were found.
struct Score {
  std::uint64_t planted = 0;
  std::uint64_t unobservable = 0;
  std::uint64_t found = 0;
  std::array<std::uint64_t, kRivals> by_rivals{};

  std::uint64_t observable() const { return planted - unobservable; }
  void add(const Planted& p);
};

// A line for each operator, what survived, what took further cases, what nobody can observe, false alarms, and the sum. It says
// PASSED only where all was planted and something of it can be observed.
std::string selftest_table(const SelftestResult& result, const Style& style);

// {"format": "assay.selftest/1", "seed", "complete", "seconds", "planted": [{"op", "dtype", "variant", "says", "found",
// "verdict", "case", "cases", "further", "by": {rival: bool}, "unobservable"}],
// "not_planted": [{"op", "dtype", "variant", "says"}], "controls": [{"op", "dtype", "kernel", "alarm", "by"}],
// "score": {"planted", "unobservable", "found", "by": {rival: number}}}
std::string selftest_json(const SelftestResult& result);

// What a run of one operator and dtype found, as a journal keeps it: what it adds to the lists of selftest_json(), and back.
nlohmann::json kept_selftest(const SelftestResult& part);
SelftestResult selftest_of(const nlohmann::json& kept);

// 0, or 1 if an observable variant survived, one was found that is said to be unobservable, or a right kernel was called wrong.
int selftest_exit_code(const SelftestResult& result);

}  // namespace assay
