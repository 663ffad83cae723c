// `assay bench` as a user runs it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "test/effort.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kPlugin = std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_test_plugin.so";
const std::string kSlower = std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_test_plugin_slower.so";

class BenchCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) setenv("ASSAY_TORCH_PYTHON", "/nowhere/python3", 1);
  }
  static Finished bench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bench");
    return run_program(ASSAY_PROGRAM, arguments);
  }
  static const json& row(const json& run, const std::string& impl) {
    for (const json& b : run["benchmarks"])
      if (b["assay"]["impl"] == impl) return b;
    throw std::runtime_error("no row of " + impl + " in " + run.dump());
  }
};

TEST_F(BenchCommand, WritesGoogleBenchmarksFormatWithOurNumbers) {
  const Finished f =
      bench({"--case", "relu:f32:self=1000", "--impl", "cpu.*", "--rounds", "9", "--json", "-"});
  ASSERT_EQ(f.status, 0) << f.err;
  const json run = json::parse(f.out);
  const json& context = run["context"]["assay"];
  EXPECT_EQ(context["format"], "assay.bench/1");
  EXPECT_TRUE(context["complete"]);
  EXPECT_GT(context["limits"].size(), 10u);
  for (const json& limit : context["limits"]) EXPECT_GT(limit["value"], 1e6) << limit;
  const json& b = row(run, "cpu.baseline");
  EXPECT_EQ(b["name"], "relu/f32:self=1000:data=normal:seed=0/cpu.baseline/warm/threads:1");
  EXPECT_EQ(b["run_type"], "iteration");
  EXPECT_EQ(b["time_unit"], "ns");
  const json& ours = b["assay"];
  EXPECT_EQ(ours["status"], "measured");
  EXPECT_EQ(ours["rounds"], 9);
  EXPECT_EQ(ours["bytes"], 8000);
  EXPECT_EQ(ours["operations"], 1000);
  EXPECT_EQ(ours["cache"], "warm");
  EXPECT_NEAR(b["cpu_time"].get<double>(), ours["ns"]["median"].get<double>(), 1);
  EXPECT_LE(ours["ns"]["low"], ours["ns"]["median"]);
  EXPECT_GE(ours["ns"]["high"], ours["ns"]["median"]);
  EXPECT_GT(ours["limit"]["share"], 0);
  // Which of the two is larger is for the machine to say: it may be busy, and the build not optimised.
  EXPECT_THAT(ours["limit"]["binds"].get<std::string>(), testing::AnyOf(HasSubstr("memory L"), "arithmetic"));
}

// The widest kernel of a library may be for other dtypes.
TEST_F(BenchCommand, TimesAKernelOfEveryLibraryThatTakesTheCase) {
  const auto libraries = [](const char* dtype, const std::vector<std::string>& impls) {
    std::vector<std::string> arguments{
        "--case", fmt::format("relu:{}:self=64", dtype), "--rounds", "3", "--json", "-"};
    arguments.insert(arguments.end(), impls.begin(), impls.end());
    const json run = json::parse(bench(arguments).out);
    std::set<std::string> measured;
    for (const json& b : run["benchmarks"]) {
      const std::string impl = b["assay"]["impl"];
      if (b["assay"]["status"] == "measured") measured.insert(impl.substr(0, impl.find('.')));
    }
    return measured;
  };
  for (const char* dtype : {"f32", "bf16", "f64"}) {
    if (kSanitized && std::string_view(dtype) != "f32") continue;  // one of them takes minutes there
    const std::set<std::string> all = libraries(dtype, {"--impl", "*"});
    EXPECT_TRUE(all.contains("cpu"));
    EXPECT_EQ(libraries(dtype, {}), all) << dtype;
  }
}

TEST_F(BenchCommand, KernelsThatAreNotRightAreNotTimed) {
  const Finished f = bench({"--case", "relu:f32:self=1000", "--impl",
                            "plugin:good,plugin:wrong*,plugin:crashes,plugin:refuses", "--plugin", kPlugin,
                            "--rounds", "5", "--json", "-"});
  EXPECT_EQ(f.status, 1) << f.err;
  const json run = json::parse(f.out);
  EXPECT_EQ(row(run, "plugin:good")["assay"]["status"], "measured");
  EXPECT_EQ(row(run, "plugin:refuses")["assay"]["reason"], "not on Mondays");
  const json& wrong = row(run, "plugin:wrong");
  EXPECT_EQ(wrong["assay"]["status"], "failed");
  EXPECT_TRUE(wrong["error_occurred"]);
  EXPECT_THAT(wrong["assay"]["reason"].get<std::string>(), HasSubstr("out[0] is -1, but must"));
  EXPECT_THAT(row(run, "plugin:wrong_later")["assay"]["reason"].get<std::string>(),
              HasSubstr("out[0] is -1, but must"));
  const json& crashes = row(run, "plugin:crashes");
  EXPECT_EQ(crashes["assay"]["status"], "failed");
  EXPECT_THAT(crashes["assay"]["reason"].get<std::string>(), HasSubstr("signal 6"));
}

// However late: those that it was timed with are timed without it.
TEST_F(BenchCommand, WhatEndsTheProcessIsTheKernelThatRanThen) {
  const auto begin = std::chrono::steady_clock::now();
  const Finished f = bench({"--case", "relu:f32:self=1000", "--impl",
                            "plugin:good,plugin:crashes_later,plugin:forks,plugin:answers,cpu.baseline",
                            "--plugin", kPlugin, "--rounds", "80", "--json", "-"});
  EXPECT_EQ(f.status, 1) << f.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(kSanitized ? 300 : 60));
  const json run = json::parse(f.out);
  EXPECT_EQ(row(run, "plugin:good")["assay"]["status"], "measured");
  EXPECT_EQ(row(run, "cpu.baseline")["assay"]["status"], "measured");
  for (const auto& [impl, reason] : {std::pair{"plugin:crashes_later", "signal 6 (Aborted) while it ran"},
                                     {"plugin:forks", "it forked, and its child went on"},
                                     {"plugin:answers", "gave an answer that is none"}}) {
    const json& failed = row(run, impl)["assay"];
    EXPECT_EQ(failed["status"], "failed") << impl;
    EXPECT_THAT(failed["reason"].get<std::string>(), HasSubstr(reason));
  }
}

// Who is timed beside a kernel that changes the program's clock is timed without it.
TEST_F(BenchCommand, AKernelThatChangesTheClockIsNotTimed) {
#ifdef __x86_64__
  const Finished f = bench({"--case", "relu:f32:self=1000", "--impl", "plugin:good,plugin:slows_the_clock",
                            "--plugin", kPlugin, "--rounds", "5", "--json", "-"});
  EXPECT_EQ(f.status, 1) << f.err;
  const json run = json::parse(f.out);
  EXPECT_EQ(row(run, "plugin:good")["assay"]["status"], "measured");
  EXPECT_THAT(row(run, "plugin:slows_the_clock")["assay"]["reason"].get<std::string>(),
              HasSubstr("was written over while kernels were timed"));
#endif
}

TEST_F(BenchCommand, ADaemonThatAKernelStartedEndsWithIt) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "daemon").string();
  const Finished f = run_program(ASSAY_PROGRAM,
                                 {"bench", "--case", "relu:f32:self=1000", "--impl", "plugin:starts_a_daemon",
                                  "--plugin", kPlugin, "--rounds", "3"},
                                 {"ASSAY_TEST_DAEMON=" + file});
  EXPECT_EQ(f.status, 1) << f.out << f.err;
  EXPECT_THAT(f.out, HasSubstr("it left a process at work"));
  const pid_t daemon = std::stoi(read_file(file));
  EXPECT_EQ(kill(daemon, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(BenchCommand, MessagesThatAreNoTextsCostNothingButTheirRow) {
  const Finished f = bench({"--case", "relu:f32:self=1000", "--impl", "plugin:escapes,plugin:good",
                            "--plugin", kPlugin, "--rounds", "3", "--json", "-"});
  EXPECT_EQ(f.status, 1) << f.err;
  const json run = json::parse(f.out);
  EXPECT_EQ(row(run, "plugin:good")["assay"]["status"], "measured");
  const json& escapes = row(run, "plugin:escapes");
  EXPECT_EQ(escapes["assay"]["status"], "failed");
  EXPECT_TRUE(escapes["error_occurred"]);
}

TEST_F(BenchCommand, KernelsThatDoNotReturnCostTheirTimeAndTheirRow) {
  const std::string hangs = std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_test_plugin_hangs.so";
  const auto begin = std::chrono::steady_clock::now();
  const Finished f = bench({"--case", "relu:f32:self=1000", "--impl", "plugin:*,cpu.baseline", "--plugin",
                            hangs, "--timeout", kSanitized ? "10" : "1", "--rounds", "9", "--json", "-"});
  EXPECT_EQ(f.status, 1) << f.err;
  const json run = json::parse(f.out);
  EXPECT_EQ(row(run, "cpu.baseline")["assay"]["status"], "measured");
  // The last of these cannot say so itself.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(kSanitized ? 250 : 60));
  for (const char* kernel : {"plugin:hangs", "plugin:hangs_later", "plugin:ignores"}) {
    const json& hung = row(run, kernel)["assay"];
    EXPECT_EQ(hung["status"], "failed") << kernel;
    EXPECT_THAT(hung["reason"].get<std::string>(), HasSubstr("did not return within ")) << kernel;
  }
  EXPECT_EQ(row(run, "plugin:stops")["assay"]["reason"], "sent SIGSTOP to its own process");
}

// Ctrl-C ends what a kernel would never end.
TEST_F(BenchCommand, ASignalEndsAKernelThatHangs) {
  const std::string hangs = std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_test_plugin_hangs.so";
  const auto begin = std::chrono::steady_clock::now();
  const Finished f = run_program(
      "/usr/bin/timeout", {"--preserve-status", "--signal=INT", kSanitized ? "25" : "5", ASSAY_PROGRAM,
                           "bench", "--case", "relu:f32:self=1000", "--impl", "plugin:hangs", "--plugin",
                           hangs, "--timeout", "1000", "--json", "-"});
  EXPECT_EQ(f.status, 130) << f.out << f.err;
  EXPECT_THAT(f.err, HasSubstr("stopping, within 3 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(kSanitized ? 200 : 60));
  EXPECT_FALSE(json::parse(f.out)["context"]["assay"]["complete"]);
}

TEST_F(BenchCommand, WrongUsageIsTwoAndSaysWhatIsWrong) {
  const auto says = [](const Finished& f, const std::string& part) {
    EXPECT_EQ(f.status, 2) << f.out;
    EXPECT_THAT(f.err, HasSubstr(part));
  };
  const std::string relu = "relu:f32:self=4";
  says(bench({"prelo"}), "there is no operator \"prelo\"; did you mean \"prelu\"?");
  says(bench({"--case", relu, "--cache", "l3"}), "--cache is \"l3\": write warm, l2 or dram");
  for (const char* threads : {"0", "4097", "4000000000", "-1", "two"})
    says(bench({"--case", relu, "--threads", "1," + std::string(threads)}),
         "--threads: " + std::string(threads) + " is not from 1 to 4096");
  says(bench({"prelu", "--case", relu}), "--case and PATTERN exclude each other");
  says(bench({"--dtype", "f64", "--case", relu}), "--case and --dtype exclude each other");
  says(bench({"--case", relu, "--cpus", "1-"}), "--cpus is \"1-\"");
  says(bench({"--case", relu, "--cpus", "99999"}), "--cpus is \"99999\"");
  EXPECT_THAT(bench({"--case", relu, "--cpus", "99999"}).err, testing::Not(HasSubstr("libnuma")));
  says(bench({"--case", relu, "--seed", "-1"}), "--seed: -1 is no whole number from 0");
  const std::string slower = kSlower;
  says(bench({"--case", relu, "--plugin", kPlugin, "--plugin", slower}),
       "there are two kernels \"plugin:escapes\" for relu: " + kPlugin + " and " + slower);
  says(bench({"--case", relu, "--plugin", kPlugin, "--plugin", kPlugin}), "is given twice");
  says(bench({"--case", relu, "--membind", "x"}), "--membind is \"x\"");
  says(bench({"--case", relu, "--rounds", "2"}), "--rounds");
  says(bench({"--case", "relu:f32:self=4x"}), "self is \"4x\"");
  says(bench({"--case", relu, "--impl", "gpu.*"}), "no kernel matches --impl \"gpu.*\"");
  says(bench({"--case", relu, "--impl", "!*"}), "--impl \"!*\" leaves no kernel");
  says(bench({"--shapes", "/nowhere/shapes.txt"}), "/nowhere/shapes.txt");
  says(bench({"--case", relu, "--shapes", "/nowhere"}), "excludes");
  says(bench({"relu", "--dtype", "i64"}), "has no case of these operators and dtypes");
  says(bench({"--case", relu, "--study", "3"}), "--against");
  says(bench({"--case", relu, "--against", kPlugin, "--slowed", "3"}), "--slowed requires --study");
  says(bench({"--case", relu, "--against", kPlugin, "--study", "1", "--slowed", "-1"}), "--slowed");
  says(bench({"--case", relu, "--against", "/nowhere/base.so"}), "--against /nowhere/base.so");
  says(bench({"--case", relu, "--against",
              std::string(ASSAY_RUN_TEST_PLUGINS) + "/run_test_plugin_NULL_TABLE.so"}),
       "--against");
  says(bench({"--case", relu, "--json", "/proc"}), "--json /proc: is a folder");
}

TEST_F(BenchCommand, CasesThatCannotBeAreWrongUsage) {
  const TemporaryFolder folder;
  const std::string shapes = folder.file("s.txt");
  write_file(shapes, "relu:f32:self=8  # well\nprelu:f32:self=2x3,weight=4  # five channels\n");
  const Finished list = bench({"--shapes", shapes, "--impl", "cpu.*", "--rounds", "3"});
  EXPECT_EQ(list.status, 2) << list.out;
  EXPECT_THAT(list.err, HasSubstr("s.txt:2: prelu:f32:self=2x3,weight=4: prelu: weight has shape [4]"));
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--against", ASSAY_CPU_PLUGIN}}) {
    std::vector<std::string> all{"--case", "prelu:f32:self=2x3,weight=4"};
    all.insert(all.end(), more.begin(), more.end());
    const Finished one = bench(all);
    EXPECT_EQ(one.status, 2) << one.out;
    EXPECT_THAT(one.err, HasSubstr("--case prelu:f32:self=2x3,weight=4: prelu: weight"));
  }
}

TEST_F(BenchCommand, WhatIsNamedTwiceIsTimedOnceAndThatIsSaid) {
  const TemporaryFolder folder;
  const std::string shapes = folder.file("s.txt");
  write_file(shapes, "relu:f32:self=8  # a\nrelu:f32:self=[8]:seed=0  # b\n");
  const Finished list =
      bench({"--shapes", shapes, "--impl", "cpu.baseline", "--rounds", "3", "--threads", "1,1"});
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_THAT(list.err, testing::ContainsRegex("s.txt:2: relu:f32:self=8.* stands in .*s.txt:1, too"));
  EXPECT_THAT(list.out, HasSubstr("\n1 of 1 row measured\n"));
  EXPECT_THAT(list.out, testing::Not(HasSubstr("\n\n\n"))) << "the second time left a gap";
  const Finished cases = bench(
      {"--case", "relu:f32:self=8", "--case", "relu:f32:self=8", "--impl", "cpu.baseline", "--rounds", "3"});
  EXPECT_THAT(cases.err, HasSubstr("stands there twice, and is timed once"));
}

// On some machines narrower ones are faster: which they are is to be measured.
TEST_F(BenchCommand, HelpDoesNotCallTheWidestKernelTheFastest) {
  const Finished help = bench({"--help"});
  EXPECT_THAT(help.out, HasSubstr("widest"));
  EXPECT_THAT(help.out, testing::Not(HasSubstr("the fastest")));
}

TEST_F(BenchCommand, EachNumberOfThreadsHasItsPlacement) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const Finished f = bench({"--case", "relu:f32:self=8", "--impl", "cpu.baseline", "--rounds", "3",
                            "--threads", "2,1", "--json", file});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_THAT(f.out, testing::ContainsRegex("Pinned as by:\n  1 thread: .*\n  2 threads: "));
  const std::string placement = json::parse(read_file(file))["context"]["assay"]["placement"];
  EXPECT_THAT(placement, testing::AllOf(HasSubstr("1 thread: "), HasSubstr("; 2 threads: ")));
}

TEST_F(BenchCommand, AgainstItselfNothingChangedAndARegressionIsFound) {
  const std::vector<std::string> common{"--case", "relu:f32:self=100000", "--impl", "good", "--json", "-"};
  const auto against = [&](const std::string& candidate, const std::string& base,
                           std::vector<std::string> more = {}) {
    std::vector<std::string> all = common;
    all.insert(all.end(), {"--plugin", candidate, "--against", base});
    all.insert(all.end(), more.begin(), more.end());
    return bench(all);
  };
  const Finished itself = against(kPlugin, kPlugin);
  EXPECT_EQ(itself.status, 0) << itself.err;
  EXPECT_EQ(row(json::parse(itself.out), "good")["assay"]["gate"]["verdict"], "UNCHANGED");

  const Finished slower = against(kSlower, kPlugin);
  const json found = json::parse(slower.out);
  const json& gate = row(found, "good")["assay"]["gate"];
  // On a machine that others use at the same time it may say that it cannot tell; never that all is well.
  EXPECT_THAT(gate["verdict"].get<std::string>(), testing::AnyOf("REGRESSED", "AMBIGUOUS"));
  EXPECT_EQ(gate["confirmed"], gate["verdict"] == "REGRESSED");
  const json& summary = found["context"]["assay"]["gate"];
  const int if_fit = gate["verdict"] == "REGRESSED" ? 1 : 0;
  EXPECT_EQ(slower.status, summary["fit"].get<bool>() ? if_fit : 3) << found.dump(1);
  EXPECT_GT(gate["ratio"], 1.2);
  EXPECT_EQ(summary["canary"]["trials"], 1);
}

// What it finds depends on the machine; that it counts it, and never calls what was slowed by half as fast as it was, does not.
TEST_F(BenchCommand, AStudyCountsWhatTheGateSaysOfWhatWasSlowed) {
  const TemporaryFolder folder;
  const std::string file = folder.file("study.json");
  const Finished f =
      bench({"--case", "relu:f32:self=100000", "--impl", "good", "--plugin", kPlugin, "--against", kPlugin,
             "--study", "2", "--slowed", "0,50", "--time", "0.5", "--json", file});
  EXPECT_EQ(f.status, 0) << f.err;
  const json study = json::parse(read_file(file));
  ASSERT_EQ(study["rows"].size(), 2u) << study.dump(1);
  const auto count = [](const json& share, const char* verdict) { return share[verdict].get<int>(); };
  for (const json& share : study["rows"]) {
    EXPECT_EQ(share["trials"], 2);
    EXPECT_EQ(count(share, "REGRESSED") + count(share, "IMPROVED") + count(share, "SAME") +
                  count(share, "AMBIGUOUS"),
              2);
  }
  const json &as_it_is = study["rows"][0], &slowed = study["rows"][1];
  EXPECT_EQ(slowed["slowed"], 0.5);
  EXPECT_EQ(count(slowed, "IMPROVED") + count(slowed, "SAME"), 0) << study.dump(1);
  const int alarms = count(as_it_is, "REGRESSED") + count(as_it_is, "IMPROVED");
  EXPECT_EQ(study["odd"].size(), static_cast<std::size_t>(alarms + count(slowed, "AMBIGUOUS")));
  EXPECT_THAT(f.out, testing::ContainsRegex("as it is +2 "));
  EXPECT_THAT(f.out, HasSubstr(fmt::format("\n{:<36}{:>8}{:>11}{:>10}{:>7}{:>11}\n", "slowed by 50%", 2,
                                           count(slowed, "REGRESSED"), 0, 0, count(slowed, "AMBIGUOUS"))));
  EXPECT_THAT(f.out, HasSubstr(fmt::format("False alarms: {} of 2\n", alarms)));
  EXPECT_THAT(f.out, testing::Not(HasSubstr("slowed by 3%")));
}

}  // namespace
}  // namespace assay
