// Google Benchmark's own flags, as a user gives them to `assay bench`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "test/effort.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kBenchmark = "relu/f32:self=1000:data=normal:seed=0/";

class BenchGoogle : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) setenv("ASSAY_TORCH_PYTHON", "/nowhere/python3", 1);
  }
  // Two kernels that every machine has.
  static Finished bench(const std::vector<std::string>& more) {
    std::vector<std::string> all{"bench",
                                 "--case",
                                 "relu:f32:self=1000",
                                 "--plugin",
                                 kPlugin,
                                 "--impl",
                                 "plugin:good,cpu.baseline",
                                 "--rounds",
                                 "5",
                                 "--time",
                                 "0.2"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(ASSAY_PROGRAM, all);
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  static std::vector<std::string> names(const json& run) {
    std::vector<std::string> all;
    for (const json& b : run["benchmarks"]) all.push_back(b["name"]);
    return all;
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  static inline const std::string kPlugin = std::string(ASSAY_RUN_TEST_PLUGINS) + "/bench_test_plugin.so";
  TemporaryFolder folder_;
};

TEST_F(BenchGoogle, ListsNamesAndTimesNothing) {
  const Finished f = bench({"--benchmark_list_tests", "--json", file("none.json")});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_THAT(lines(f.out), ElementsAre(StartsWith(kBenchmark + "cpu.baseline/warm/threads:1"),
                                        StartsWith(kBenchmark + "plugin:good/warm/threads:1")));
  EXPECT_THROW(read_file(file("none.json")), FileError);
}

// A kernel that was not chosen is timed along all the same, and stands in no report.
TEST_F(BenchGoogle, AFilterChoosesRows) {
  const Finished f = bench({"--benchmark_filter=plugin", "--json", file("run.json")});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_THAT(f.out, AllOf(HasSubstr("plugin:good"), HasSubstr("1 of 1 row measured"),
                           Not(HasSubstr("cpu.baseline"))));
  EXPECT_THAT(names(json::parse(read_file(file("run.json")))),
              ElementsAre(kBenchmark + "plugin:good/warm/threads:1"));
  const Finished all_but = bench({"--benchmark_filter=-plugin", "--json", "-"});
  EXPECT_THAT(names(json::parse(all_but.out)), ElementsAre(kBenchmark + "cpu.baseline/warm/threads:1"))
      << all_but.err;
}

TEST_F(BenchGoogle, RepetitionsAreMeasurementsOfTheirOwn) {
  const Finished f =
      bench({"--benchmark_repetitions=3", "--benchmark_enable_random_interleaving=true", "--json",
             file("run.json"), "--benchmark_out=" + file("theirs.json"), "--benchmark_format=csv"});
  EXPECT_EQ(f.status, 0) << f.err;
  const json ours = json::parse(read_file(file("run.json")));
  EXPECT_TRUE(ours["context"]["assay"]["complete"]);
  std::map<std::string, std::set<int>> repetitions;
  std::map<std::string, std::set<double>> times;
  for (const json& b : ours["benchmarks"]) {
    repetitions[b["assay"]["impl"]].insert(b["assay"]["repetition"].get<int>());
    times[b["assay"]["impl"]].insert(b["cpu_time"].get<double>());
    EXPECT_EQ(b["assay"]["rounds"], 5);
  }
  for (const char* impl : {"cpu.baseline", "plugin:good"}) {
    EXPECT_EQ(repetitions[impl], (std::set<int>{0, 1, 2}));
    EXPECT_GT(times[impl].size(), 1u) << "the same time again";
  }
  // Its own file has the same times, and what it makes of them.
  std::map<std::string, std::set<double>> theirs;
  std::map<std::string, double> mean;
  const json written = json::parse(read_file(file("theirs.json")));
  for (const json& b : written["benchmarks"]) {
    const std::string impl =
        b["run_name"].get<std::string>().find("plugin") == std::string::npos ? "cpu.baseline" : "plugin:good";
    if (b["run_type"] == "iteration") theirs[impl].insert(b["cpu_time"].get<double>());
    if (b.value("aggregate_name", "") == "mean") mean[impl] = b["cpu_time"];
  }
  for (const char* impl : {"cpu.baseline", "plugin:good"}) {
    ASSERT_EQ(theirs[impl].size(), times[impl].size());
    double sum = 0;
    for (auto a = theirs[impl].begin(), b = times[impl].begin(); a != theirs[impl].end(); ++a, ++b) {
      EXPECT_NEAR(*a, *b, 1e-3 * *b);
      sum += *b;
    }
    if (times[impl].size() == 3) {
      EXPECT_NEAR(mean[impl], sum / 3, 1e-3 * sum);
    }
  }
  EXPECT_THAT(f.out, AllOf(StartsWith("name,iterations,real_time,cpu_time"), HasSubstr("_stddev"),
                           Not(HasSubstr("Pinned"))));
}

TEST_F(BenchGoogle, ItsConsoleTakesThePlaceOfOurTable) {
  const Finished f = bench({"--benchmark_format=console", "--benchmark_time_unit=us"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_THAT(f.out, AllOf(HasSubstr(kBenchmark + "plugin:good/warm/threads:1"), HasSubstr(" us "),
                           HasSubstr("share_of_limit="), Not(HasSubstr("Pinned"))));
}

TEST_F(BenchGoogle, WrongFlagsAreNamed) {
  struct Wrong {
    std::vector<std::string> words;
    std::string sentence;
  };
  const std::vector<Wrong> all{
      {{"--benchmark_filter=["}, "--benchmark_filter=["},
      {{"--benchmark_filter=nobody"}, "--benchmark_filter=nobody"},
      {{"--benchmark_filtre=relu"}, "--benchmark_filtre=relu"},
      {{"--benchmark_repetitions=many"},
       "--benchmark_repetitions=many: write a whole number from 1 to 10000"},
      {{"--benchmark_min_time=3"},
       "--benchmark_min_time=3: how long a case is timed, --time and --rounds say"},
      {{"--benchmark_perf_counters=CYCLES"},
       "--benchmark_perf_counters=CYCLES: kernels run in processes of their own"},
      {{"--benchmark_format=xml"}, "--benchmark_format=xml: write console, json or csv"},
      {{"--benchmark_out=/nowhere/at/all.json"}, "--benchmark_out=/nowhere/at/all.json: cannot be written"},
      {{"--benchmark_out_format=csv"}, "--benchmark_out_format=csv: it is for --benchmark_out=FILE"},
      {{"--benchmark_format=json", "--json", "-"}, "--json - and --benchmark_format exclude each other"},
      {{"--benchmark_filter=relu", "--caches", "warm"}, "has no flag --caches; did you mean --cache"},
  };
  for (const auto& [words, sentence] : all) {
    const Finished f = bench(words);
    EXPECT_EQ(f.status, 2) << sentence << f.out;
    EXPECT_THAT(f.err, AllOf(StartsWith("assay: "), HasSubstr(sentence)));
  }
  const Finished gate = run_program(
      ASSAY_PROGRAM, {"bench", "--against", kPlugin, "--plugin", kPlugin, "--benchmark_filter=relu"});
  EXPECT_EQ(gate.status, 2);
  EXPECT_THAT(gate.err, HasSubstr("--benchmark_filter=relu and --against exclude each other"));
}

// Of a run that was killed, repetitions that were measured are not measured again.
TEST_F(BenchGoogle, RepetitionsAreResumed) {
  const auto here = [&](const std::string& command) {
    return run_program("/bin/bash", {"-c", "cd \"$1\"; unset ASSAY_OUT; " + command, ASSAY_PROGRAM,
                                     folder_.path().string()});
  };
  const std::string words = "bench --case relu:f32:self=100000 --plugin " + kPlugin +
                            " --impl plugin:good,cpu.baseline --rounds 15 --benchmark_repetitions=40 ";
  here(
      "\"$0\" " + words +
      "> /dev/null 2>&1 & for i in {1..3000}; do sleep 0.02; [ $(cat assay-out/*.journal 2> /dev/null | wc -l) "
      "-ge 4 ] && break; done; kill -9 $!; wait");
  const Finished f = here("\"$0\" " + words + "--resume --json run.json");
  EXPECT_EQ(f.status, 0) << f.err;
  const json run = json::parse(read_file(file("run.json")));
  EXPECT_TRUE(run["context"]["assay"]["complete"]);
  EXPECT_EQ(run["benchmarks"].size(), 80u);
}

}  // namespace
}  // namespace assay
