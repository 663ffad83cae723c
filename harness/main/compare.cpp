// assay compare
#include "../bench/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "reports/bench_file.h"
#include "reports/file.h"
#include "reports/style.h"
#include "reports/text.h"
#include "shared_flags.h"
#include "terminal.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

struct CompareFlags {
  std::string base;
  std::string fresh;
  std::string json;
};

constexpr std::string_view kTokens[] = {"slower", "faster", "level", "undecided", "incomparable"};

std::string_view token(Compared::Verdict v) { return kTokens[static_cast<std::size_t>(v)]; }

std::string what(const BenchRow& r) {
  std::string text = r.impl.empty() ? r.case_text : fmt::format("{} {}", r.impl, r.case_text);
  if (const std::string place = r.place(); !place.empty() && place != "warm") text += " " + place;
  if (r.threads > 1) text += fmt::format(" {} threads", r.threads);
  return text;
}

Json json_number(double x) { return std::isfinite(x) ? Json(x) : Json("inf"); }

// "+23%"; of numbers that are far from any machine's "+1e+20%", or "?".
std::string percent_text(double ratio) {
  const double x = 100 * (ratio - 1);
  return fmt::format("{}{}%", x > 0 ? "+" : "", figure(x, 0));
}

// {"format": "assay.compare/1", "base", "new", "same_machine", "rows": [{"case", "impl", "cache", "threads", "verdict", "by",
// "change", "low", "high"}], "lost": [{"case", "impl", "cache", "threads", "status", "reason"}], "only_base", "only_new",
// "rows_only_base": [{"case", "impl", "cache", "threads"}], "rows_only_new"}
//   change  of the time, new over base, with its interval; `by`: "time", or the ratio to which peer. Not of rows that cannot be compared
//   lost    what the base has timed and the new file names with another status; only_base and only_new: numbers of rows, which
//           stand in rows_only_base and rows_only_new
std::string json_of(const Comparison& c, const CompareFlags& flags) {
  const auto named = [](const BenchRow& r) {
    return Json{{"case", r.case_text}, {"impl", r.impl}, {"cache", r.place()}, {"threads", r.threads}};
  };
  const auto list = [&](const std::vector<BenchRow>& rows) {
    Json all = Json::array();
    for (const BenchRow& r : rows) all.push_back(named(r));
    return all;
  };
  Json rows = Json::array();
  for (const Compared& one : c.rows) {
    Json row = named(one.row);
    row["verdict"] = token(one.verdict);
    if (one.verdict != Compared::Verdict::incomparable) {
      row["by"] = one.by_ratio ? "ratio to " + one.row.best_peer->impl : "time";
      row["change"] = json_number(one.change.median);
      row["low"] = json_number(one.change.low);
      row["high"] = json_number(one.change.high);
    }
    rows.push_back(std::move(row));
  }
  Json lost = Json::array();
  for (const BenchRow& u : c.lost) {
    Json row = named(u);
    row["status"] = token(u.status);
    row["reason"] = u.reason;
    lost.push_back(std::move(row));
  }
  const Json document{{"format", "assay.compare/1"},
                      {"base", flags.base},
                      {"new", flags.fresh},
                      {"same_machine", c.same_machine},
                      {"rows", std::move(rows)},
                      {"lost", std::move(lost)},
                      {"only_base", c.only_base.size()},
                      {"only_new", c.only_new.size()},
                      {"rows_only_base", list(c.only_base)},
                      {"rows_only_new", list(c.only_new)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_only(std::string_view where, const std::vector<BenchRow>& rows) {
  constexpr std::size_t kMostNamed = 10;
  if (rows.empty()) return;
  fmt::print("  only in the {}:\n", where);
  for (std::size_t i = 0; i < std::min(rows.size(), kMostNamed); ++i)
    fmt::print("{}", paragraph(what(rows[i]), "    ", "      "));
  if (rows.size() > kMostNamed) fmt::print("    and {} more\n", rows.size() - kMostNamed);
}

void print(const Comparison& c) {
  const Style style(use_colour());
  std::size_t counts[std::size(kTokens)] = {};
  for (const Compared& one : c.rows) {
    ++counts[static_cast<std::size_t>(one.verdict)];
    if (one.verdict != Compared::Verdict::slower && one.verdict != Compared::Verdict::faster) continue;
    const std::string verdict = pad_right(token(one.verdict), 7);
    fmt::print("  {} {}  {:<24} ",
               one.verdict == Compared::Verdict::slower ? style.bad(verdict) : style.good(verdict),
               pad_left(percent_text(one.change.median), 7),
               one.by_ratio ? "beside " + printable(one.row.best_peer->impl) : "by its time");
    fmt::print("{}\n", printable(what(one.row)));
  }
  for (const BenchRow& u : c.lost) {
    const std::string status = pad_right(token(u.status), 7);
    fmt::print("  {}         {}{}\n", u.status == BenchStatus::failed ? style.bad(status) : status,
               printable(what(u)), u.reason.empty() ? "" : ": " + printable(u.reason));
  }
  print_only("base", c.only_base);
  print_only("new file", c.only_new);
  fmt::print(
      "{} slower, {} faster, {} level, {} undecided, {} incomparable; {} no longer timed, {} only in the base, "
      "{} only in the new file\n",
      counts[0], counts[1], counts[2], counts[3], counts[4], c.lost.size(), c.only_base.size(),
      c.only_new.size());
  if (!c.same_machine)
    fmt::print("The machines differ: times were not compared, only ratios to the same peer.\n");
  fmt::print(
      "{}",
      paragraph(
          "These are two separate runs, and two runs of the same code differ: a change below 10% beside a "
          "peer, or 25% by the clock, shows nothing, and one above may still be the machine's. "
          "`assay bench --against BASE.so` compares two builds in one process, and mostly finds 2%.",
          "", ""));
}

int compare_command(const CompareFlags& flags) {
  check_files({{"--json", flags.json}}, {flags.base, flags.fresh});
  const ResultFile base = read_result_file(flags.base), fresh = read_result_file(flags.fresh);
  const Comparison c = compare(base, fresh);
  for (const ResultFile* file : {&base, &fresh})
    if (!file->incomplete.empty())
      complain(fmt::format("{} is incomplete: {}", file->name, file->incomplete));
  if (flags.json != "-") print(c);
  if (!flags.json.empty()) write_file(flags.json, json_of(c, flags));
  const bool fails =
      std::ranges::any_of(c.lost, [](const BenchRow& u) { return u.status == BenchStatus::failed; });
  const bool blind = std::ranges::all_of(
      c.rows, [](const Compared& r) { return r.verdict == Compared::Verdict::incomparable; });
  if (blind && !fails) {
    const std::string both = fmt::format("{} and {}", flags.base, flags.fresh);
    complain(c.rows.empty() ? both + " have no row in common"
                            : fmt::format("nothing of {} was compared: they are of two machines, and no row "
                                          "has the same peer in both",
                                          both));
    return kEnvironment;
  }
  const bool slower =
      std::ranges::any_of(c.rows, [](const Compared& r) { return r.verdict == Compared::Verdict::slower; });
  return slower || fails ? kFaultFound : kAllWell;
}

}  // namespace

void add_compare(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("compare", "What two benchmark files of separate runs can prove");
  command->footer(
      "  assay bench --json old.json; ...; assay bench --json new.json; assay compare old.json new.json\n\n"
      "Rows are compared by their ratio to the same peer where both files have it (10% must be missing), else by time\n"
      "(25%, and only on the same machine): slower and faster if the interval lies wholly beyond, level if it lies within,\n"
      "undecided else, or if there were too few rounds to have one. That is far less than `assay bench --against` proves:\n"
      "two processes that run the same code differ by more than what a benchmark is to find. Reads Google Benchmark's\n"
      "files, too; without eight repetitions (--benchmark_repetitions) their rows are undecided.\n"
      "Exit codes: 1 if a row is slower, or was timed and fails now; 3 if nothing could be compared: the files have no row in\n"
      "common, or are of two machines and no row has the same peer in both.");
  auto flags = std::make_shared<CompareFlags>();
  command->add_option("BASE", flags->base, "benchmark file (.json)")->required()->type_name("");
  command->add_option("NEW", flags->fresh, "another one")->required()->type_name("");
  command->add_option("--json", flags->json, "write the comparison; - is standard output")->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return compare_command(*flags); }; });
}

}  // namespace assay
