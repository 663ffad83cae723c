#include "history.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include "../registry/select.h"
#include "reports/file.h"

namespace assay {
namespace {

constexpr int kVersion = 1;
constexpr int kMostOfOneName = 10'000;  // runs of a commit

// As SQLite keeps them, word for word.
constexpr const char* kRuns =
    "CREATE TABLE runs(id INTEGER PRIMARY KEY, commit_id TEXT NOT NULL, time INTEGER NOT NULL,"
    " machine TEXT NOT NULL, source TEXT NOT NULL, UNIQUE(commit_id, machine, source))";
constexpr const char* kPoints =
    "CREATE TABLE points(run INTEGER NOT NULL REFERENCES runs(id), op TEXT NOT NULL,"
    " case_text TEXT NOT NULL, impl TEXT NOT NULL, cache TEXT NOT NULL, threads INTEGER NOT NULL,"
    " ns REAL NOT NULL, ratio REAL, peer TEXT NOT NULL, share REAL)";
constexpr const char* kHowToMake =
    "`assay history --add FILE.json` makes one of what `assay bench --json` wrote";

// A prepared statement.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(database));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& text(int at, const std::string& value) {
    sqlite3_bind_text(statement_, at, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& integer(int at, std::int64_t value) {
    sqlite3_bind_int64(statement_, at, value);
    return *this;
  }
  Statement& real(int at, std::optional<double> value) {
    if (value && std::isfinite(*value))
      sqlite3_bind_double(statement_, at, *value);
    else
      sqlite3_bind_null(statement_, at);
    return *this;
  }
  // Whether there is a row; throws if the statement failed.
  bool step(sqlite3* database) {
    const int status = sqlite3_step(statement_);
    if (status == SQLITE_ROW) return true;
    if (status != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database));
    return false;
  }
  void again() { sqlite3_reset(statement_); }

  std::string text_of(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr
               ? std::string()
               : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  std::int64_t integer_of(int column) const { return sqlite3_column_int64(statement_, column); }
  std::optional<double> real_of(int column) const {
    if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
    const double value = sqlite3_column_double(statement_, column);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

// Others' files may have anything in place of a table: a view without end, a trigger, a check that no row passes.
void require_own_tables(sqlite3* database) {
  Statement objects(database, "SELECT type, name, sql FROM sqlite_master");
  int tables = 0;
  while (objects.step(database)) {
    const std::string sql = objects.text_of(2);
    const bool own = sql == kRuns || sql == kPoints;
    tables += own ? 1 : 0;
    if (!own && !(objects.text_of(0) == "index" && sql.empty()))  // what UNIQUE makes
      throw std::runtime_error(fmt::format("it is no history: its {} {} is none that Assay makes",
                                           objects.text_of(0), objects.text_of(1)));
  }
  if (tables != 2) throw std::runtime_error("it is no history: a table of Assay's is missing");
}

void find_changes(KernelHistory& h) {
  const auto& e = h.entries;
  const bool ratios =
      std::ranges::all_of(e, [&](const HistoryEntry& x) { return x.ratio && x.peer == e.front().peer; });
  const bool shares = std::ranges::all_of(e, [](const HistoryEntry& x) { return x.share && *x.share > 0; });
  h.measure = ratios ? "ratio" : shares ? "share" : "ns";
  std::vector<double> logarithms;
  for (const HistoryEntry& x : e) {
    h.values.push_back(ratios ? *x.ratio : shares ? *x.share : x.ns);
    // What is not positive is no point of the series.
    logarithms.push_back(h.values.back() > 0 ? std::log(h.values.back()) : std::nan(""));
  }
  h.changes = change_points(logarithms, std::log1p(0.02));
  for (ChangePoint& c : h.changes) {
    c.before = std::exp(c.before);
    c.after = std::exp(c.after);
  }
}

}  // namespace

void HistoryStore::fail(const std::string& what) const {
  throw FileError(fmt::format("{}: {}", path_, what));
}

void HistoryStore::run(const char* sql) {
  char* message = nullptr;
  if (sqlite3_exec(database_, sql, nullptr, nullptr, &message) == SQLITE_OK) return;
  const std::string what = message != nullptr ? message : "SQLite failed";
  sqlite3_free(message);
  fail(what);
}

HistoryStore::HistoryStore(const std::string& path, bool create) : path_(path) {
  if (!create && !std::filesystem::exists(path)) fail(fmt::format("there is no such file; {}", kHowToMake));
  const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
  // To SQLite, names like ":memory:" and "file:x?mode=memory" are none of files.
  const std::string file = std::filesystem::absolute(path).string();
  if (sqlite3_open_v2(file.c_str(), &database_, flags, nullptr) != SQLITE_OK) {
    const std::string what = sqlite3_errmsg(database_);
    sqlite3_close(database_);
    database_ = nullptr;
    fail(what);
  }
  sqlite3_busy_timeout(database_, 10'000);
  try {
    const auto version = [&] {
      Statement s(database_, "PRAGMA user_version");
      s.step(database_);
      return static_cast<int>(s.integer_of(0));
    };
    if (version() == 0) {
      // Another process may be making it, too.
      run("BEGIN IMMEDIATE");
      if (version() == 0) {
        Statement tables(database_, "SELECT count(*) FROM sqlite_master");
        tables.step(database_);
        if (tables.integer_of(0) > 0) fail("it is another program's database");
        if (!create) fail(fmt::format("it is empty; {}", kHowToMake));
        run(kRuns);
        run(kPoints);
        run("PRAGMA user_version = 1");
      }
      run("COMMIT");
    }
    if (version() > kVersion) fail(fmt::format("it is of version {}: use a newer Assay", version()));
    require_own_tables(database_);
  } catch (const FileError&) {
    sqlite3_close(database_);
    throw;
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    sqlite3_close(database_);
    fail(what);
  }
}

HistoryStore::~HistoryStore() { sqlite3_close(database_); }

bool HistoryStore::holds(const ResultFile& file, const std::string& commit) const {
  std::vector<std::string> points;
  for (const BenchRow& r : file.rows) points.push_back(fmt::format("{}\n{}", r.key(), r.ns.median));
  std::ranges::sort(points);
  std::map<std::int64_t, std::vector<std::string>> before;
  Statement s(
      database_,
      "SELECT run, source, case_text, impl, cache, threads, ns FROM points JOIN runs ON runs.id = points.run"
      " WHERE commit_id = ? AND machine = ?");
  s.text(1, commit).text(2, file.machine);
  while (s.step(database_)) {
    if (!s.text_of(1).starts_with(file.date + " ")) continue;
    BenchRow r;
    r.case_text = s.text_of(2);
    r.impl = s.text_of(3);
    r.cache = s.text_of(4);
    r.threads = static_cast<int>(s.integer_of(5));
    before[s.integer_of(0)].push_back(fmt::format("{}\n{}", r.key(), s.real_of(6).value_or(0)));
  }
  return std::ranges::any_of(before, [&](auto& run) {
    std::ranges::sort(run.second);
    return run.second == points;
  });
}

std::size_t HistoryStore::add(const ResultFile& file, const std::string& commit, std::int64_t time) {
  const std::string source =
      fmt::format("{} {}", file.date, std::filesystem::path(file.name).filename().string());
  run("BEGIN IMMEDIATE");
  try {
    if (holds(file, commit)) {
      run("ROLLBACK");
      return 0;
    }
    // Runs of one commit, date and file name that differ, too: files of others may have no date.
    for (int n = 1; n == 1 || sqlite3_changes(database_) == 0; ++n) {
      if (n > kMostOfOneName)
        throw std::runtime_error(fmt::format("it has {} runs of commit {} from \"{}\", and takes no more",
                                             kMostOfOneName, commit, source));
      Statement begin(database_,
                      "INSERT OR IGNORE INTO runs(commit_id, time, machine, source) VALUES(?, ?, ?, ?)");
      begin.text(1, commit).integer(2, time).text(3, file.machine);
      begin.text(4, n == 1 ? source : fmt::format("{} ({})", source, n)).step(database_);
    }
    const std::int64_t id = sqlite3_last_insert_rowid(database_);
    Statement point(database_, "INSERT INTO points VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const BenchRow& r : file.rows) {
      point.integer(1, id)
          .text(2, r.op)
          .text(3, r.case_text)
          .text(4, r.impl)
          .text(5, r.place())
          .integer(6, r.threads);
      point.real(7, r.ns.median)
          .real(8, r.best_peer ? std::optional(r.best_peer->ratio.median) : std::nullopt);
      point.text(9, r.best_peer ? r.best_peer->impl : "")
          .real(10, r.limit ? std::optional(r.limit->share) : std::nullopt)
          .step(database_);
      point.again();
    }
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    fail(what);
  }
  run("COMMIT");
  return file.rows.size();
}

std::vector<KernelHistory> HistoryStore::histories(const std::vector<std::string>& operators,
                                                   const std::vector<std::string>& impls) const {
  using Key = std::tuple<std::string, std::string, std::string, std::string, int, std::string>;
  std::map<Key, std::vector<HistoryEntry>> found;
  try {
    Statement s(database_,
                "SELECT op, case_text, impl, cache, threads, machine, commit_id, time, ns, ratio, peer, share"
                " FROM points JOIN runs ON runs.id = points.run ORDER BY time, runs.id");
    while (s.step(database_)) {
      if (!selects_operator(operators, s.text_of(0)) || !selects(impls, s.text_of(2))) continue;
      found[{s.text_of(0), s.text_of(1), s.text_of(2), s.text_of(3), static_cast<int>(s.integer_of(4)),
             s.text_of(5)}]
          .push_back({s.text_of(6), s.integer_of(7), s.real_of(8).value_or(0), s.real_of(9), s.text_of(10),
                      s.real_of(11)});
    }
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
  std::vector<KernelHistory> all;
  for (auto& [key, entries] : found) {
    KernelHistory h;
    std::tie(h.op, h.case_text, h.impl, h.cache, h.threads, h.machine) = key;
    h.entries = std::move(entries);
    find_changes(h);
    all.push_back(std::move(h));
  }
  return all;
}

}  // namespace assay
