// `assay compare` and `assay history` as a user runs them: what they compared, what they did not, and in which units.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BenchFilesCompared : public ::testing::Test {
 protected:
  // Cases of relu that all took as long, without a peer.
  std::string bench_file(const std::string& name, const std::vector<int>& sizes, double ns,
                         const std::string& machine = "m") const {
    json rows = json::array();
    for (const int n : sizes)
      rows.push_back({{"name", "x"},
                      {"assay",
                       {{"op", "relu"},
                        {"case", fmt::format("relu:f32:self={}", n)},
                        {"impl", "cpu"},
                        {"peer", false},
                        {"cache", "warm"},
                        {"threads", 1},
                        {"status", "measured"},
                        {"ns", {{"median", ns}, {"low", 0.99 * ns}, {"high", 1.01 * ns}}}}}});
    const json ours{{"format", "assay.bench/1"}, {"machine", {{"fingerprint", machine}}}};
    const json file{{"context", {{"date", "2026-01-02T03:04:05"}, {"assay", ours}}}, {"benchmarks", rows}};
    write_file(folder_.file(name), file.dump());
    return folder_.file(name);
  }
  static Finished assay(const std::vector<std::string>& arguments) {
    return run_program(ASSAY_PROGRAM, arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(BenchFilesCompared, NothingComparedIsNoSuccess) {
  const std::string here = bench_file("a.json", {1, 2}, 10), there = bench_file("b.json", {1, 2}, 10, "n");
  const Finished machines = assay({"compare", here, there});
  EXPECT_EQ(machines.status, 3) << machines.out;
  EXPECT_THAT(machines.out, HasSubstr("2 incomparable"));
  EXPECT_THAT(machines.err, HasSubstr("they are of two machines, and no row has the same peer in both"));
  const Finished none = assay({"compare", here, bench_file("c.json", {3}, 10)});
  EXPECT_EQ(none.status, 3);
  EXPECT_THAT(none.err, HasSubstr("have no row in common"));
  EXPECT_EQ(assay({"compare", here, bench_file("d.json", {2, 3}, 10)}).status, 0);
}

TEST_F(BenchFilesCompared, RowsOfOneFileAloneAreNamed) {
  std::vector<int> many{1};
  for (int n = 20; n < 32; ++n) many.push_back(n);
  const std::string base = bench_file("a.json", many, 10), fresh = bench_file("b.json", {1, 5}, 10);
  const Finished f = assay({"compare", base, fresh});
  EXPECT_EQ(f.status, 0);
  EXPECT_THAT(f.out, AllOf(HasSubstr("  only in the base:\n    cpu relu:f32:self=20\n"),
                           HasSubstr("self=29\n    and 2 more\n"), Not(HasSubstr("self=30"))));
  EXPECT_THAT(f.out, HasSubstr("  only in the new file:\n    cpu relu:f32:self=5\n"));
  const json all = json::parse(assay({"compare", base, fresh, "--json", "-"}).out);
  EXPECT_EQ(all["only_base"], 12);
  EXPECT_EQ(all["rows_only_base"].size(), 12u);
  const json expected{{"case", "relu:f32:self=5"}, {"impl", "cpu"}, {"cache", "warm"}, {"threads", 1}};
  EXPECT_EQ(all["rows_only_new"], json::array({expected}));
}

TEST_F(BenchFilesCompared, SeriesOfTwoMachinesAreToldApartInUnitsOfTime) {
  const std::string db = folder_.file("h.sqlite");
  const auto add = [&](const std::string& machine, int commit, double ns) {
    const std::string name = fmt::format("{}{}.json", machine, commit);
    const std::string file = bench_file(name, {1}, ns, machine);
    return assay({"history", "--db", db, "--add", file, "--commit", std::to_string(commit)}).status;
  };
  for (int commit = 0; commit < 6; ++commit) ASSERT_EQ(add("old", commit, commit < 3 ? 1e4 : 2e4), 0);
  const Finished one = assay({"history", "--db", db});
  EXPECT_THAT(one.out, AllOf(HasSubstr("time 20.00 µs, 6 runs"), HasSubstr("10.00 µs before, 20.00 µs since"),
                             Not(HasSubstr(" on old"))));
  ASSERT_EQ(add("new", 7, 5), 0);
  const Finished two = assay({"history", "--db", db});
  EXPECT_THAT(two.out, AllOf(HasSubstr("cpu relu:f32:self=1 on old\n"), HasSubstr("self=1 on new\n"),
                             HasSubstr("time 5.0 ns, 1 run\n")));
}

TEST_F(BenchFilesCompared, ACommitWithoutAFileIsWrongUsage) {
  const std::string db = folder_.file("h.sqlite");
  ASSERT_EQ(assay({"history", "--db", db, "--add", bench_file("a.json", {1}, 5), "--commit", "abc"}).status,
            0);
  const Finished f = assay({"history", "--db", db, "--commit", "def"});
  EXPECT_EQ(f.status, 2) << f.out;
  EXPECT_THAT(f.err, HasSubstr("--commit def: is for --add"));
}

}  // namespace
}  // namespace assay
