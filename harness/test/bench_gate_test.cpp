// `assay bench --against` as a user runs it: whose fault it is, what could not be compared, and how it ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "test/effort.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class GateCommand : public ::testing::Test {
 protected:
  using Json = nlohmann::json;

  static std::string plugin(const std::string& variant) {
    return std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_test_plugin" + variant + ".so";
  }
  static std::vector<std::string> words(const std::string& candidate, const std::string& base,
                                        const std::string& impls, const std::vector<std::string>& more,
                                        const std::string& timeout = kSanitized ? "10" : "1") {
    std::vector<std::string> all{
        "bench",  "--case", "relu:f32:self=1000", "--plugin", candidate, "--against", base, "--impl", impls,
        "--time", "0.2",    "--timeout",          timeout};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Finished gate(const std::string& candidate, const std::string& base, const std::string& impls,
                       const std::vector<std::string>& more = {"--json", "-"}) {
    return run_program(ASSAY_PROGRAM, words(candidate, base, impls, more));
  }
  static Json ours(const Json& run, const std::string& impl) {
    for (const Json& b : run["benchmarks"])
      if (b["assay"]["impl"] == impl) return b["assay"];
    throw std::runtime_error("no row of " + impl + " in " + run.dump());
  }
  // Ctrl-C, while a kernel hangs that may do so for long.
  static Finished interrupted(std::vector<std::string> more) {
    std::vector<std::string> all{"--preserve-status", "--signal=INT", kSanitized ? "25" : "5", ASSAY_PROGRAM};
    const std::string hangs = plugin("_hangs");
    more.emplace_back("--all");
    for (const std::string& word : words(hangs, hangs, "hangs", more, "1000")) all.push_back(word);
    return run_program("/usr/bin/timeout", all);
  }

  TemporaryFolder folder_;
};

TEST_F(GateCommand, WhatIsWrongWithTheBaselineIsNoFaultOfTheCandidate) {
  const Finished f = gate(plugin("_mended"), plugin(""), "wrong,wrong_later,crashes,refuses");
  EXPECT_EQ(f.status, 3) << "nothing could be compared: " << f.err;
  const Json run = Json::parse(f.out);
  const auto reason = [&](const char* impl) {
    const Json row = ours(run, impl);
    EXPECT_EQ(row["status"], "not_run") << row;
    return row["reason"].get<std::string>();
  };
  EXPECT_THAT(reason("wrong"), HasSubstr("the baseline fails: out[0] is -1"));
  EXPECT_THAT(reason("wrong_later"), HasSubstr("the baseline fails: "));
  EXPECT_THAT(reason("crashes"), HasSubstr("the baseline fails: the timing process was killed by signal 6"));
  EXPECT_THAT(reason("refuses"), HasSubstr("the baseline refuses it: not on Mondays"));
  const Finished hung = gate(plugin("_mended"), plugin("_hangs"), "hangs");
  EXPECT_EQ(hung.status, 3) << hung.err;
  EXPECT_THAT(ours(Json::parse(hung.out), "hangs")["reason"].get<std::string>(),
              HasSubstr("the baseline fails: did not return within"));
}

// A crash after hundreds of calls, a fork, an answer in the process's place.
TEST_F(GateCommand, WhatEndsTheProcessIsTheFaultOfTheSideThatRanThen) {
  const std::string impls = "crashes_later,forks,answers";
  const Finished of_base = gate(plugin("_mended"), plugin(""), impls);
  EXPECT_EQ(of_base.status, 3) << of_base.err;
  const Finished of_candidate = gate(plugin(""), plugin("_mended"), impls);
  EXPECT_EQ(of_candidate.status, 1) << of_candidate.err;
  const Json base_fails = Json::parse(of_base.out), candidate_fails = Json::parse(of_candidate.out);
  for (const auto& [impl, reason] : {std::pair{"crashes_later", "signal 6 (Aborted) while it ran"},
                                     {"forks", "it forked, and its child went on"},
                                     {"answers", "gave an answer that is none"}}) {
    const Json base = ours(base_fails, impl), candidate = ours(candidate_fails, impl);
    EXPECT_EQ(base["status"], "not_run") << impl;
    EXPECT_THAT(base["reason"].get<std::string>(), HasSubstr("nothing to compare with: the baseline fails"));
    EXPECT_THAT(base["reason"].get<std::string>(), HasSubstr(reason));
    EXPECT_EQ(candidate["status"], "failed") << impl;
    EXPECT_THAT(candidate["reason"].get<std::string>(), HasSubstr(reason));
    EXPECT_THAT(candidate["reason"].get<std::string>(), Not(HasSubstr("baseline")));
  }
}

TEST_F(GateCommand, WhatIsWrongWithTheCandidateIsItsFault) {
  const Finished f = gate(plugin(""), plugin("_mended"), "wrong,crashes,refuses");
  EXPECT_EQ(f.status, 1) << f.err;
  const Json run = Json::parse(f.out);
  for (const auto& [impl, status] :
       {std::pair{"wrong", "failed"}, {"crashes", "failed"}, {"refuses", "refused"}}) {
    const Json row = ours(run, impl);
    EXPECT_EQ(row["status"], status);
    EXPECT_THAT(row["reason"].get<std::string>(), Not(HasSubstr("baseline")));
  }
  EXPECT_EQ(gate(plugin("_hangs"), plugin("_mended"), "hangs").status, 1);
  // Both: still the candidate's.
  const Finished both = gate(plugin("_slower"), plugin(""), "wrong,crashes", {"--all"});
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.out, ::testing::ContainsRegex("\\(the baseline fails,\\s+too: "));
}

TEST_F(GateCommand, KernelsThatAreNotThereAreNamed) {
  const auto says = [](const Finished& f, const std::string& what) {
    EXPECT_EQ(f.status, 2) << f.out;
    EXPECT_THAT(f.err, HasSubstr(what));
  };
  says(gate(plugin(""), plugin(""), "good,nosuch"),
       "matches --impl \"nosuch\"; there are: answers, crashes, crashes_later, escapes,");
  says(gate(plugin(""), plugin(""), "!*"), "--impl \"!*\" leaves no kernel of ");
  says(run_program(ASSAY_PROGRAM, {"bench", "--case", "mm:f32:self=2x2,mat2=2x2", "--plugin", plugin(""),
                                   "--against", plugin("")}),
       "bench_test_plugin.so has no kernel of mm");
}

TEST_F(GateCommand, UnchangedCodeHasNoRatio) {
  const Finished f = gate(plugin(""), plugin(""), "good");
  EXPECT_EQ(f.status, 0) << f.err;
  const Json gate = ours(Json::parse(f.out), "good")["gate"];
  EXPECT_EQ(gate["verdict"], "UNCHANGED");
  EXPECT_TRUE(gate["ratio"].is_null() && gate["low"].is_null() && gate["high"].is_null()) << gate;
  const std::string file = folder_.file("gate.json");
  write_file(file, f.out);
  const Finished report = run_program(ASSAY_PROGRAM, {"report", file, "--markdown", "-"});
  EXPECT_THAT(report.out, ::testing::StartsWith("# PASSED: "));
}

TEST_F(GateCommand, ALibraryWithoutSymbolsIsTimedAndThatIsSaid) {
  const std::string stripped = folder_.file("stripped.so");
  const Finished strip = run_program("/usr/bin/strip", {"-o", stripped, plugin("")});
  ASSERT_EQ(strip.status, 0) << strip.err;
  const std::string file = folder_.file("gate.json");
  const Finished f = gate(stripped, plugin(""), "good", {"--json", file});
  EXPECT_THAT(f.out, HasSubstr("Timed without knowing whether the machine code is the same: no symbol in"));
  EXPECT_THAT(f.out, HasSubstr("(a stripped library has none) (1 row)"));
  EXPECT_THAT(ours(Json::parse(read_file(file)), "good")["gate"]["unseen"].get<std::string>(),
              HasSubstr("stripped.so"));
}

TEST_F(GateCommand, ASignalEndsAKernelThatHangs) {
  for (const bool study : {false, true}) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string file = folder_.file("file.json");
    std::vector<std::string> more{"--json", file};
    if (study) more.insert(more.end(), {"--study", "2", "--slowed", "0,2"});
    const Finished f = interrupted(more);
    EXPECT_EQ(f.status, 130) << f.out << f.err;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(kSanitized ? 200 : 60));
    EXPECT_THAT(f.out, HasSubstr(study ? "Interrupted: 0 of 4 trials were made\n"
                                       : "Interrupted: 0 of 1 were compared\n"));
    const Json written = Json::parse(read_file(file));
    EXPECT_EQ((study ? written : written["context"]["assay"])["complete"], false);
  }
}

TEST_F(GateCommand, AStudyIsWrittenAndSaysIfNothingWasMeasured) {
  const Finished f =
      gate(plugin(""), plugin(""), "good,wrong", {"--study", "2", "--slowed", "0,0", "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  const Json study = Json::parse(f.out);
  EXPECT_EQ(study["format"], "assay.study/1");
  EXPECT_EQ(study["complete"], true);
  ASSERT_EQ(study["rows"].size(), 1u);
  EXPECT_EQ(study["rows"][0]["trials"], 1) << "a share that is named twice is tried once";
  EXPECT_THAT(study["not measured"][0]["why"].get<std::string>(), HasSubstr("out[0] is -1"));
  const Finished nothing = gate(plugin(""), plugin(""), "wrong", {"--study", "1"});
  EXPECT_EQ(nothing.status, 3) << nothing.out;
  for (const char* slowed : {"nan", "inf", "-1", "1001", "3x"}) {
    const Finished bad = gate(plugin(""), plugin(""), "good", {"--study", "1", "--slowed", slowed});
    EXPECT_EQ(bad.status, 2) << slowed;
    EXPECT_THAT(bad.err, HasSubstr("--slowed"));
  }
}

}  // namespace
}  // namespace assay
