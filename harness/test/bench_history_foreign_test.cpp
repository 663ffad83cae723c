// Histories that no Assay has written: bench/history.h, change_points.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <string>

#include "../bench/history.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

class ForeignHistory : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  static ResultFile run_of(double ns) {
    ResultFile run;
    run.name = "a.json";
    run.machine = "m";
    BenchRow& row = run.rows.emplace_back();
    row.op = "relu";
    row.case_text = "relu:f32:self=3";
    row.impl = "cpu";
    row.cache = "warm";
    row.status = BenchStatus::measured;
    row.ns = {ns, ns, ns};
    return run;
  }
  // A history of one row, and what this makes of it.
  std::string history(const std::string& sql) const {
    HistoryStore(file("h.sqlite"), true).add(run_of(10), "c", 1);
    execute(file("h.sqlite"), sql);
    return file("h.sqlite");
  }
  static void execute(const std::string& path, const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  static std::string error_of_opening(const std::string& path, bool create) {
    try {
      HistoryStore(path, create).histories({}, {});
    } catch (const FileError& e) {
      return e.what();
    }
    return "nothing was thrown";
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ForeignHistory, AViewWithoutEndIsNoTable) {
  const std::string path = history(
      "DROP TABLE points; CREATE VIEW points AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
      " SELECT 1 AS run, 'relu' AS op, '' AS case_text, '' AS impl, '' AS cache, 1 AS threads, 1 AS ns,"
      " NULL AS ratio, '' AS peer, NULL AS share FROM n");
  for (const bool create : {false, true})
    EXPECT_EQ(error_of_opening(path, create),
              path + ": it is no history: its view points is none that Assay makes");
}

TEST_F(ForeignHistory, NothingElseRunsWhereARowIsAdded) {
  const std::string path = history("CREATE TRIGGER t BEFORE INSERT ON runs BEGIN SELECT RAISE(IGNORE); END");
  EXPECT_THAT(error_of_opening(path, true), HasSubstr("its trigger t is none"));
  execute(path, "DROP TRIGGER t; CREATE TABLE more(x)");
  EXPECT_THAT(error_of_opening(path, true), HasSubstr("its table more is none"));
  execute(path, "DROP TABLE more");
  EXPECT_EQ(error_of_opening(path, true), "nothing was thrown");
}

TEST_F(ForeignHistory, ATableThatRefusesEveryRowIsNotTaken) {
  const std::string path = file("checked.sqlite");
  execute(
      path,
      "CREATE TABLE runs(id INTEGER PRIMARY KEY, commit_id TEXT NOT NULL, time INTEGER NOT NULL, machine TEXT NOT NULL,"
      " source TEXT NOT NULL, UNIQUE(commit_id, machine, source), CHECK(0)); PRAGMA user_version = 1");
  EXPECT_EQ(error_of_opening(path, true),
            path + ": it is no history: its table runs is none that Assay makes");
  const std::string half = file("half.sqlite");
  execute(half, "PRAGMA user_version = 1");
  EXPECT_EQ(error_of_opening(half, true), half + ": it is no history: a table of Assay's is missing");
}

// The first version made its tables otherwise.
TEST_F(ForeignHistory, WhatAnOlderAssayMadeIsRead) {
  const std::string path = file("old.sqlite");
  execute(
      path,
      "CREATE TABLE IF NOT EXISTS runs(id INTEGER PRIMARY KEY, commit_id TEXT NOT NULL, time INTEGER NOT NULL,"
      " machine TEXT NOT NULL, source TEXT NOT NULL, UNIQUE(commit_id, machine, source));"
      "CREATE TABLE IF NOT EXISTS points(run INTEGER NOT NULL REFERENCES runs(id), op TEXT NOT NULL,"
      " case_text TEXT NOT NULL, impl TEXT NOT NULL, cache TEXT NOT NULL, threads INTEGER NOT NULL,"
      " ns REAL NOT NULL, ratio REAL, peer TEXT NOT NULL, share REAL);"
      "PRAGMA user_version = 1");
  EXPECT_EQ(error_of_opening(path, false), "nothing was thrown");
}

TEST_F(ForeignHistory, AnEmptyFileIsNotFilledByReadingIt) {
  const std::string path = file("empty.sqlite");
  write_file(path, "");
  EXPECT_THAT(error_of_opening(path, false), HasSubstr("empty.sqlite: it is empty; `assay history --add"));
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(error_of_opening(path, true), "nothing was thrown");
}

TEST_F(ForeignHistory, WhatIsNotPositiveIsNoPoint) {
  const std::string path = file("h.sqlite");
  int time = 0;
  for (const double ns : {10, 10, 0, 10, -1, -2, 20, 20, 20, 0}) {
    HistoryStore(path, true).add(run_of(ns), std::to_string(time), time);
    ++time;
  }
  execute(path, "UPDATE points SET ns = 9e999 WHERE ns = -2");
  const std::vector<KernelHistory> all = HistoryStore(path, false).histories({}, {});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].entries.size(), 10u);
  ASSERT_EQ(all[0].changes.size(), 1u);
  EXPECT_EQ(all[0].changes[0].index, 6u);
  EXPECT_NEAR(all[0].changes[0].before, 10, 1e-9);
  EXPECT_NEAR(all[0].changes[0].after, 20, 1e-9);
}

TEST(ChangePoints, AreOfFiniteNumbersAlone) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const std::vector<ChangePoint> found =
      change_points(std::vector<double>{nan, 1, 1, inf, 1, -inf, 2, nan, 2, 2});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 6u);
  EXPECT_EQ(found[0].before, 1);
  EXPECT_EQ(found[0].after, 2);
  EXPECT_TRUE(change_points(std::vector<double>(9, nan)).empty());
  EXPECT_TRUE(change_points(std::vector<double>{1e300, -1e300, 1e300, -1e300, 1e300, 1e300}).empty());
}

// Did each split look at all of the numbers, there would be no waiting for it.
TEST(ChangePoints, OfALongSeriesAreFound) {
  std::vector<double> x(200'000);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = 1e6 + (i < 50'000 ? 0 : 0.5) + 1e-3 * static_cast<double>(i % 7);
  const std::vector<ChangePoint> found = change_points(x);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 50'000u);
  EXPECT_NEAR(found[0].after - found[0].before, 0.5, 1e-3);
}

}  // namespace
}  // namespace assay
