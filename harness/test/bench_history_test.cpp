// Benchmark files that are kept, and where times changed: bench/history.h, change_points.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "../bench/change_points.h"
#include "../bench/history.h"
#include "../registry/subprocess.h"
#include "bench_files.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using bench_files::file_error;
using bench_files::file_of;
using bench_files::read;
using bench_files::row;
using nlohmann::json;
using ::testing::HasSubstr;

std::vector<double> noise(std::size_t n, std::uint64_t seed, double sigma = 0.01) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> d(0, sigma);
  std::vector<double> x(n);
  for (double& v : x) v = d(random);
  return x;
}

TEST(BenchChangePoints, StepsAreFoundWhereTheyAre) {
  std::vector<double> x = noise(60, 3);
  for (std::size_t i = 20; i < 60; ++i) x[i] += 0.1;
  for (std::size_t i = 45; i < 60; ++i) x[i] -= 0.06;
  const std::vector<ChangePoint> found = change_points(x);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].index, 20u);
  EXPECT_EQ(found[1].index, 45u);
  EXPECT_NEAR(found[0].before, 0, 0.01);
  EXPECT_NEAR(found[0].after, 0.1, 0.01);
  EXPECT_NEAR(found[1].after, 0.04, 0.01);
}

TEST(BenchChangePoints, NoiseSpikesAndTriflesAreNone) {
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) alarms += !change_points(noise(40, seed, 0.05)).empty();
  EXPECT_LE(alarms, 6);
  std::vector<double> spikes = noise(40, 1);
  spikes[10] = 5;
  spikes[30] = spikes[31] = 3;
  EXPECT_TRUE(change_points(spikes).empty());
  std::vector<double> trifle = noise(40, 1, 1e-4);
  for (std::size_t i = 20; i < 40; ++i) trifle[i] += 0.015;
  EXPECT_TRUE(change_points(trifle).empty());
  EXPECT_TRUE(change_points(std::vector<double>(5, 1.0)).empty());
  EXPECT_EQ(change_points(std::vector<double>{1, 1, 1, 2, 2, 2}).size(), 1u);
}

class BenchHistory : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  TemporaryFolder folder_;
};

TEST_F(BenchHistory, KeepsRunsOnceAndFindsChanges) {
  const std::string path = file("h.sqlite");
  std::mt19937_64 random(2);
  std::normal_distribution<double> noise(1, 0.003);
  {
    HistoryStore store(path, true);
    for (int i = 0; i < 12; ++i) {
      const json f = file_of({row("cpu", 10, (i < 7 ? 1 : 1.1) * noise(random)), row("other", 5, 1)}, "m",
                             "2026-01-" + std::to_string(10 + i) + "T00:00:00");
      EXPECT_EQ(store.add(read(f), "c" + std::to_string(i), 1000 + i), 2u);
      EXPECT_EQ(store.add(read(f), "c" + std::to_string(i), 1000 + i), 0u);
    }
  }
  const HistoryStore store(path, false);
  const std::vector<KernelHistory> all = store.histories({"relu"}, {"cpu"});
  ASSERT_EQ(all.size(), 1u);
  const KernelHistory& h = all[0];
  EXPECT_EQ(h.entries.size(), 12u);
  EXPECT_EQ(h.measure, "ratio");
  ASSERT_EQ(h.changes.size(), 1u);
  EXPECT_EQ(h.entries[h.changes[0].index].commit, "c7");
  EXPECT_NEAR(h.changes[0].after / h.changes[0].before, 1.1, 0.01);
  EXPECT_EQ(store.histories({}, {}).size(), 2u);
  EXPECT_TRUE(store.histories({"mm"}, {}).empty());
}

// Their names and dates may be missing, or the same.
TEST_F(BenchHistory, ARunIsKnownByWhatWasMeasured) {
  HistoryStore store(file("h.sqlite"), true);
  ResultFile run = read(file_of({row("cpu", 10, 1), row("other", 5, 1)}, "m", ""));
  EXPECT_EQ(store.add(run, "c", 1), 2u);
  EXPECT_EQ(store.add(run, "c", 2), 0u);
  run.name = "folder/renamed.json";
  EXPECT_EQ(store.add(run, "c", 3), 0u);
  run.rows[1].ns.median = 6;
  EXPECT_EQ(store.add(run, "c", 4), 2u) << "another one without a date";
  run.rows[0].ns.median = 11;
  EXPECT_EQ(store.add(run, "c", 5), 2u) << "and one of the same name";
  run.date = "2026-01-02T03:04:05";
  EXPECT_EQ(store.add(run, "c", 6), 2u) << "the same numbers at another time";
  EXPECT_EQ(store.histories({}, {"cpu"}).at(0).entries.size(), 4u);
}

TEST_F(BenchHistory, DatesAreMomentsWhereverTheyWereWritten) {
  write_file(file("first.json"), file_of({row("cpu", 10, 1)}, "m", "2026-01-02T03:00:00+02:00").dump());
  write_file(file("second.json"), file_of({row("cpu", 11, 1)}, "m", "2026-01-02T02:00:00+00:00").dump());
  write_file(file("third.json"), file_of({row("cpu", 12, 1)}, "m", "2026-01-01T22:00:00-05:00").dump());
  const auto add = [&](const char* name, const char* commit) {
    return run_program(ASSAY_PROGRAM,
                       {"history", "--db", file("h.sqlite"), "--add", file(name), "--commit", commit});
  };
  for (const auto& [name, commit] :
       {std::pair{"third.json", "no-3"}, {"second.json", "no-2"}, {"first.json", "no-1"}})
    EXPECT_EQ(add(name, commit).status, 0);
  const Finished shown = run_program(ASSAY_PROGRAM, {"history", "--db", file("h.sqlite"), "--json", "-"});
  const json points = json::parse(shown.out)["series"][0]["points"];
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0]["time"], 1767315600);  // 2026-01-02T01:00:00Z
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(points[i]["commit"], "no-" + std::to_string(i + 1));
    EXPECT_EQ(points[i]["time"], 1767315600 + 3600 * i);
  }
  write_file(file("none.json"), file_of({row("cpu", 13, 1)}, "m", "").dump());
  EXPECT_THAT(add("none.json", "no-4").err, HasSubstr("none.json does not say when it was measured"));
}

TEST_F(BenchHistory, BadFilesAreErrorsThatNameThem) {
  EXPECT_THAT(file_error([&] { HistoryStore(file("none.sqlite"), false); }),
              HasSubstr("none.sqlite: there is no such file"));
  write_file(file("text"), std::string(5000, 'x'));
  EXPECT_THAT(file_error([&] { HistoryStore(file("text"), true); }), HasSubstr("text: "));
  EXPECT_THAT(file_error([&] { HistoryStore(folder_.path().string(), true); }),
              HasSubstr(folder_.path().string()));
  {
    HistoryStore store(file("h.sqlite"), true);
    store.add(read(file_of({row("cpu", 10, 1)})), "c", 1);
  }
  const std::string whole = read_file(file("h.sqlite"));
  write_file(file("cut.sqlite"), whole.substr(0, whole.size() / 3));
  EXPECT_THAT(file_error([&] { HistoryStore(file("cut.sqlite"), false).histories({}, {}); }),
              HasSubstr("cut.sqlite: "));
}

// What is read is not written over.
TEST_F(BenchHistory, AnOutputIsNoInput) {
  write_file(file("a.json"), file_of({row("cpu", 10, 1)}).dump());
  write_file(file("b.json"), file_of({row("cpu", 10, 1)}).dump());
  const std::string db = file("h.sqlite");
  ASSERT_EQ(
      run_program(ASSAY_PROGRAM, {"history", "--db", db, "--add", file("a.json"), "--commit", "c"}).status,
      0);
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& lost) {
    const std::string before = read_file(lost);
    const Finished f = run_program(ASSAY_PROGRAM, arguments);
    EXPECT_EQ(f.status, 2) << f.out;
    EXPECT_THAT(f.err, HasSubstr("is read, too, and would be lost"));
    EXPECT_EQ(read_file(lost), before);
  };
  refused({"history", "--db", db, "--json", db}, db);
  refused({"compare", file("a.json"), file("b.json"), "--json", file("b.json")}, file("b.json"));
  refused({"report", file("a.json"), "--html", file("a.json")}, file("a.json"));
}

TEST_F(BenchHistory, ManyMayBeginItAtOnce) {
  write_file(file("a.json"), file_of({row("cpu", 10, 1)}).dump());
  const Finished f = run_program(
      "/bin/sh",
      {"-c",
       "for i in 1 2 3 4 5 6 7 8; do \"$0\" history --db \"$1\" --add \"$2\" --commit c$i & all=\"$all $!\"; done; "
       "for one in $all; do wait $one || exit 1; done",
       ASSAY_PROGRAM, file("new.sqlite"), file("a.json")});
  EXPECT_EQ(f.status, 0) << f.err;
}

// SQLite has other ideas of such names.
TEST_F(BenchHistory, AnyNameIsAFilesName) {
  write_file(file("a.json"), file_of({row("cpu", 10, 1)}).dump());
  const Finished f = run_program("/usr/bin/env", {"-C", folder_.path().string(), ASSAY_PROGRAM, "history",
                                                  "--db", ":memory:", "--add", "a.json", "--commit", "c"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / ":memory:"));
}

TEST_F(BenchHistory, AnErrorInGoogleBenchmarksFileIsAFault) {
  write_file(file("a.json"),
             R"({"context": {}, "benchmarks": [{"name": "x", "cpu_time": 2, "time_unit": "ns"}]})");
  write_file(
      file("b.json"),
      R"({"context": {}, "benchmarks": [{"name": "x", "error_occurred": true, "error_message": "boom"}]})");
  const Finished f = run_program(ASSAY_PROGRAM, {"compare", file("a.json"), file("b.json")});
  EXPECT_EQ(f.status, 1);
  EXPECT_THAT(f.out, HasSubstr("failed          x: boom\n"));
  const auto repeated = [](double ns) {
    const json one{{"name", "x"}, {"cpu_time", ns}, {"time_unit", "ns"}};
    return json{{"context", json::object()}, {"benchmarks", std::vector<json>(9, one)}}.dump();
  };
  write_file(file("c.json"), repeated(2));
  write_file(file("d.json"), repeated(1e308));
  const Finished huge = run_program(ASSAY_PROGRAM, {"compare", file("c.json"), file("d.json")});
  EXPECT_EQ(huge.status, 1);
  EXPECT_THAT(huge.out, testing::AllOf(testing::Not(HasSubstr("inf")), testing::Not(HasSubstr("0000"))));
}

TEST_F(BenchHistory, TheCommandsAgreeWithTheLibrary) {
  const auto assay = [](const std::vector<std::string>& a) { return run_program(ASSAY_PROGRAM, a); };
  write_file(file("a.json"), file_of({row("cpu", 10, 1)}).dump());
  write_file(file("b.json"), file_of({row("cpu", 10, 1.5)}).dump());
  write_file(file("c.json"), file_of({}).dump());
  const Finished slower = assay({"compare", file("a.json"), file("b.json")});
  EXPECT_EQ(slower.status, 1);
  EXPECT_THAT(slower.out, HasSubstr("1 slower, 0 faster"));
  EXPECT_THAT(slower.out, HasSubstr("two separate runs"));
  const Finished level = assay({"compare", file("a.json"), file("a.json"), "--json", "-"});
  EXPECT_EQ(level.status, 0);
  EXPECT_EQ(json::parse(level.out)["rows"][0]["verdict"], "level");
  EXPECT_EQ(assay({"compare", file("a.json"), file("c.json")}).status, 3);
  EXPECT_EQ(assay({"compare", file("a.json"), file("none.json")}).status, 2);
  json fails = file_of({row("cpu", 1, 1)});
  fails["benchmarks"][0]["assay"]["status"] = "failed";
  fails["benchmarks"][0]["assay"]["reason"] = "result 0 is 7";
  fails["context"]["assay"]["complete"] = false;
  fails["context"]["assay"]["incomplete"] = "interrupted";
  write_file(file("d.json"), fails.dump());
  const Finished lost = assay({"compare", file("a.json"), file("d.json")});
  EXPECT_EQ(lost.status, 1);
  EXPECT_THAT(lost.out, HasSubstr("cpu relu:f32:self=3: result 0 is 7"));
  EXPECT_THAT(lost.out, HasSubstr("1 no longer timed, 0 only in the base"));
  EXPECT_THAT(lost.err, HasSubstr("d.json is incomplete: interrupted"));
  const Finished nothing = assay({"history", "--db", file("n.sqlite"), "--add", file("d.json")});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.err, HasSubstr("d.json: no benchmark of it has a time"));
  EXPECT_FALSE(std::filesystem::exists(file("n.sqlite")));

  const std::string db = file("h.sqlite");
  EXPECT_EQ(assay({"history", "--db", db}).status, 2);
  const Finished added =
      assay({"history", "--db", db, "--add", file("a.json"), "--commit", "abc", "--add", file("b.json")});
  EXPECT_EQ(added.status, 0) << added.err;
  const Finished shown = assay({"history", "--db", db, "--json", "-"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const json series = json::parse(shown.out);
  EXPECT_EQ(series["format"], "assay.history/1");
  EXPECT_EQ(series["series"][0]["points"][0]["commit"], "abc");
  EXPECT_EQ(assay({"history", "--db", db, "mm"}).status, 2);
}

// Git is asked when a commit was made, and takes what begins with dashes for options elsewhere.
TEST_F(BenchHistory, ACommitsNameIsNoOptionOfGit) {
  write_file(file("a.json"), file_of({row("cpu", 10, 1)}).dump());
  const Finished added =
      run_program("/usr/bin/env", {"-C", ASSAY_FIXTURES, ASSAY_PROGRAM, "history", "--db", file("g.sqlite"),
                                   "--add", file("a.json"), "--commit=--output=" + file("written")});
  EXPECT_EQ(added.status, 0) << added.err;
  EXPECT_FALSE(std::filesystem::exists(file("written^{commit}")));
}

}  // namespace
}  // namespace assay
