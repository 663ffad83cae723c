// assay history
#include "../bench/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "../bench/bench_table.h"
#include "../registry/subprocess.h"
#include "commands.h"
#include "reports/file.h"
#include "reports/style.h"
#include "reports/text.h"
#include "shared_flags.h"
#include "terminal.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

struct HistoryFlags {
  std::vector<std::string> patterns;
  std::vector<std::string> impls;
  std::vector<std::string> add;
  std::string commit;
  std::string file = "assay-history.sqlite";
  std::string json;
};

std::string first_line(const std::vector<std::string>& git) {
  const Finished f = run_program("/usr/bin/git", git);
  return f.started && f.status == 0 ? f.out.substr(0, f.out.find('\n')) : std::string();
}

std::string commit_of(const HistoryFlags& flags, const ResultFile& file) {
  if (!flags.commit.empty()) return flags.commit;
  if (!file.commit.empty()) return file.commit;
  const std::string head = first_line({"rev-parse", "HEAD"});
  if (head.empty())
    throw UsageError(fmt::format(
        "{}: of which commit is it? This folder is no git checkout; name it with --commit", file.name));
  return head;
}

// Seconds since 1970 of "2026-01-02T03:04:05+02:00", as Google Benchmark writes it; without an offset it is taken for UTC.
std::optional<std::int64_t> seconds_of(const std::string& date) {
  std::tm t{};
  const char* const offset = strptime(date.c_str(), "%Y-%m-%dT%H:%M:%S", &t);
  if (offset == nullptr) return std::nullopt;
  std::tm zone{};
  const bool has_zone = strptime(offset, "%z", &zone) != nullptr;
  return timegm(&t) - (has_zone ? zone.tm_gmtoff : 0);
}

// When the commit was made; for what git does not know, when it was measured.
std::int64_t time_of(const std::string& commit, const ResultFile& file) {
  const std::string seconds =
      first_line({"show", "-s", "--format=%ct", "--end-of-options", commit + "^{commit}", "--"});
  if (!seconds.empty()) return std::atoll(seconds.c_str());
  if (const auto measured = seconds_of(file.date)) return *measured;
  complain(fmt::format(
      "{} does not say when it was measured, and git does not know its commit: it is taken for now",
      file.name));
  return std::time(nullptr);
}

// Eight heights, from the least value to the greatest.
std::string sparkline(const std::vector<double>& values) {
  constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t kMost = 40;
  const std::size_t from = values.size() > kMost ? values.size() - kMost : 0;
  const auto [least, greatest] =
      std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(from), values.end());
  std::string text;
  for (std::size_t i = from; i < values.size(); ++i) {
    const double height = *greatest > *least ? (values[i] - *least) / (*greatest - *least) : 0.5;
    text += kBars[std::min<std::size_t>(7, static_cast<std::size_t>(height * 8))];
  }
  return text;
}

// Slower is a higher ratio or time, and a lower share.
bool is_slower(const KernelHistory& h, const ChangePoint& c) {
  return (c.after > c.before) != (h.measure == "share");
}

// In the unit that it is read in: a time as `assay bench` writes it, a ratio, or a share.
std::string in_unit(const KernelHistory& h, double value) {
  return h.measure == "ns" ? time_of_call(value) : fmt::format("{:.3g}", value);
}

void print(const std::vector<KernelHistory>& all) {
  const Style style(use_colour());
  std::size_t changes = 0;
  std::map<std::string, std::set<std::string>> machines;  // of each case
  for (const KernelHistory& h : all) machines[h.case_text].insert(h.machine);
  for (const KernelHistory& h : all) {
    std::string what = h.impl.empty() ? h.case_text : fmt::format("{} {}", h.impl, h.case_text);
    if (!h.cache.empty() && h.cache != "warm") what += " " + h.cache;
    if (h.threads > 1) what += fmt::format(" {} threads", h.threads);
    if (machines[h.case_text].size() > 1) what += fmt::format(" on {}", h.machine);
    fmt::print("{}", paragraph(what, "", "  "));
    const std::string unit = h.measure == "ratio"
                                 ? fmt::format("time over {}'s", printable(h.entries.front().peer))
                             : h.measure == "share" ? "share of the limit"
                                                    : "time";
    fmt::print("  {}  {} {}, {}\n", sparkline(h.values), unit, in_unit(h, h.values.back()),
               counted(h.entries.size(), "run"));
    for (const ChangePoint& c : h.changes) {
      ++changes;
      const std::string by = fmt::format("{:+.1f}%", 100 * (c.after / c.before - 1));
      fmt::print("    {} {}: {} before, {} since\n", is_slower(h, c) ? style.bad(by) : style.good(by),
                 printable(h.entries[c.index].commit.substr(0, 12)), in_unit(h, c.before),
                 in_unit(h, c.after));
    }
  }
  fmt::print("{} series, {}\n", all.size(), counted(changes, "change"));
}

std::string json_of(const std::vector<KernelHistory>& all) {
  Json series = Json::array();
  const auto number = [](const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); };
  for (const KernelHistory& h : all) {
    Json one{{"op", h.op},           {"case", h.case_text},     {"impl", h.impl},
             {"cache", h.cache},     {"threads", h.threads},    {"machine", h.machine},
             {"measure", h.measure}, {"points", Json::array()}, {"changes", Json::array()}};
    for (const HistoryEntry& e : h.entries)
      one["points"].push_back({{"commit", e.commit},
                               {"time", e.time},
                               {"ns", e.ns},
                               {"ratio", number(e.ratio)},
                               {"peer", e.peer},
                               {"share", number(e.share)}});
    for (const ChangePoint& c : h.changes)
      one["changes"].push_back({{"index", c.index}, {"before", c.before}, {"after", c.after}});
    series.push_back(std::move(one));
  }
  return Json{{"format", "assay.history/1"}, {"series", std::move(series)}}.dump(
             1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

int history_command(const HistoryFlags& flags) {
  if (!flags.commit.empty() && flags.add.empty())
    throw UsageError(
        fmt::format("--commit {}: is for --add, and says of which commit that file is", flags.commit));
  std::vector<std::string> inputs = flags.add;
  inputs.push_back(flags.file);
  check_files({{"--json", flags.json}}, inputs);
  // All are read, and it is known whose they are, before the first is added.
  struct Addition {
    ResultFile file;
    std::string commit;
    std::int64_t time;
  };
  std::vector<Addition> additions;
  for (const std::string& f : flags.add) {
    ResultFile file = read_result_file(f);
    if (!file.incomplete.empty()) complain(fmt::format("{} is incomplete: {}", f, file.incomplete));
    if (file.rows.empty()) throw FileError(fmt::format("{}: no benchmark of it has a time", f));
    const std::string commit = commit_of(flags, file);
    additions.push_back({std::move(file), commit, 0});
    additions.back().time = time_of(commit, additions.back().file);
  }
  HistoryStore store(flags.file, !additions.empty());
  for (const auto& [file, commit, time] : additions) {
    const std::size_t rows = store.add(file, commit, time);
    fmt::print(stderr, "{}: {}\n", printable(file.name),
               rows > 0
                   ? fmt::format("{} of commit {}", counted(rows, "row"), printable(commit.substr(0, 12)))
                   : fmt::format("was there already, for commit {}", printable(commit.substr(0, 12))));
  }
  if (!additions.empty() && flags.json.empty() && flags.patterns.empty()) return kAllWell;
  const std::vector<KernelHistory> all = store.histories(flags.patterns, flags.impls);
  if (all.empty()) {
    complain(fmt::format("{} has no series of these operators and kernels", flags.file));
    return kWrongUsage;
  }
  if (flags.json != "-") print(all);
  if (!flags.json.empty()) write_file(flags.json, json_of(all));
  return kAllWell;
}

}  // namespace

void add_history(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("history", "How fast kernels were, commit after commit");
  command->footer(
      "  assay bench --json run.json; assay history --add run.json     one run more\n"
      "  assay history prelu                                           series, and where they changed\n"
      "  assay history --json h.json; assay report run.json --history h.json\n\n"
      "One SQLite file, which only grows. Series are of one case, kernel and machine; they are followed by the ratio to\n"
      "the best peer within each run where there is one, else by the share of the machine's limit. A change is a level\n"
      "that differs by 2% or more, that a t-test finds, and that has lasted three runs: history shows trends, and\n"
      "`assay bench --against` guards a change. --add takes Google Benchmark's files, too.\n"
      "Exit codes: 0, whatever has changed; 2 if a file cannot be read or the history cannot be written.");
  auto flags = std::make_shared<HistoryFlags>();
  command->add_option("PATTERN", flags->patterns, "shell globs on operators' names")->type_name("");
  command->add_option("--impl", flags->impls, "shell globs on kernels' names")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("GLOB");
  command->add_option("--add", flags->add, "a benchmark file (.json) to add; may be repeated")
      ->allow_extra_args(false)
      ->type_name("F");
  command
      ->add_option("--commit", flags->commit,
                   "which commit it is of (default: what the file says, or git's HEAD)")
      ->type_name("ID");
  command->add_option("--db", flags->file, "the history")->capture_default_str()->type_name("F");
  command->add_option("--json", flags->json, "write the series; - is standard output")->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return history_command(*flags); }; });
}

}  // namespace assay
