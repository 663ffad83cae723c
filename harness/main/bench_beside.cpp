// assay bench: kernels beside each other and beside the machine's limits
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "../bench/bench_table.h"
#include "../bench/context.h"
#include "../bench/google.h"
#include "../bench/google_file.h"
#include "../verify/verify.h"
#include "bench_flags.h"
#include "commands.h"
#include "interrupt.h"
#include "reports/file.h"
#include "reports/text.h"
#include "terminal.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kBetweenFiles{5};

// What no two groups have in common.
std::string key_of(const BenchGroup& group, int repetition) {
  std::string key = fmt::format("{} {} {}", text(group.bench_case->c), name(group.cache), group.threads);
  if (repetition > 0) key += fmt::format(" repetition {}", repetition);
  for (const std::string& v : group.variables) key += " " + v;
  for (const Kernel* k : group.kernels) key += " " + k->name;
  return key;
}

// Of rows that were timed, or not.
int exit_code(const std::vector<BenchRow>& rows, const BenchOptions& options) {
  // A peer that is wrong is the peer's affair, unless it was asked for by name.
  for (const BenchRow& r : rows)
    if (r.has_failed() && (!r.peer || names(options.impls, r.impl))) return kFaultFound;
  if (interrupted()) return kInterrupted;
  if (std::ranges::none_of(rows, [](const BenchRow& r) { return r.status == BenchStatus::measured; }))
    return kEnvironment;
  // Who names a kernel wants it timed: that it is not here is said, and no success.
  std::set<std::string> named, ran;
  for (const BenchRow& r : rows)
    if (names_literally(options.impls, r.impl))
      (r.status == BenchStatus::not_run ? named : ran).insert(r.impl);
  for (const std::string& impl : ran) named.erase(impl);
  if (named.empty()) return kAllWell;
  complain(fmt::format("{}, which --impl names, did not run", fmt::join(named, ", ")));
  return kEnvironment;
}

}  // namespace

int bench_beside(const BenchFlags& flags, KeptRun& kept) {
  const BenchOptions& options = flags.options;
  const auto registry = load_registry(flags.plugins, selects_torch(options.impls));
  {
    std::vector<const Operator*> operators;
    for (const BenchCase& c : options.cases) operators.push_back(c.c.op);
    check_impls(*registry, operators, options.impls);
  }
  const std::vector<BenchGroup> groups = plan(*registry, options);
  std::optional<GoogleBenchmark> google;
  std::size_t turns = 0;
  try {
    google.emplace(flags.google);
    turns = google->choose(groups);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  if (google->shows() && flags.json == "-")
    throw UsageError("--json - and --benchmark_format exclude each other: both write standard output");
  if (google->lists()) {
    google->drive({});
    return kAllWell;
  }
  Bench bench(*registry, this_program(), options);
  const Placements placements = placements_of(options);

  const bool text_out = flags.json != "-" && !google->shows();
  const Stopwatch watch(kept.journal() == nullptr ? 0 : kept.journal()->before());
  Json context = bench_context(placements, commit_of(flags));
  context["seed"] = options.seed;
  context["complete"] = false;
  context["incomplete"] = "it is still running";
  if (text_out) print_placements(placements);
  GoogleFile file;
  try {
    context["limits"] = Json::parse(bench.machine_limits().dump());
  } catch (const SessionStopped&) {
    context["incomplete"] = "interrupted before anything was timed";
    context["seconds"] = watch.seconds();
    if (!flags.json.empty()) write_file(flags.json, file.json(context));
    return kInterrupted;
  } catch (const SessionDied& died) {
    throw std::runtime_error(fmt::format("kernels cannot be timed here: {}", died.what()));
  }

  std::vector<BenchRow> rows;
  auto written = std::chrono::steady_clock::now();
  const auto write = [&](bool is_last) {
    context["seconds"] = watch.seconds();
    if (flags.json.empty()) return;
    const std::string document = file.json(context);
    write_file(flags.json, is_last || kept.journal() == nullptr
                               ? kept.last(document, context["complete"])
                               : with_journal(document, *kept.journal(), true));
  };
  if (kept.journal() != nullptr) kept.journal()->begin(nlohmann::json::parse(file.json(context)));
  std::size_t done = 0;
  {
    ProgressLine line;
    GoogleBenchmark::Turns all;
    all.measure = [&](const BenchGroup& group, int repetition) -> std::optional<std::vector<BenchRow>> {
      if (interrupted()) return std::nullopt;
      const std::string left =
          done == 0 ? "?"
                    : duration_text(std::max(0.0, watch.seconds() / double(done) * double(turns - done)));
      line.show(fmt::format("{} of {}  {}  about {} left", done + 1, turns,
                            text(group.bench_case->c).substr(0, 60), left));
      const std::string key = key_of(group, repetition);
      if (const JournalEntry* entry = kept.journal() == nullptr ? nullptr : kept.journal()->find(key))
        return rows_of(*entry);
      try {
        std::vector<BenchRow> of_group = bench.measure(group);
        keep_rows(kept.journal(), key, watch.seconds(), of_group);
        return of_group;
      } catch (const SessionStopped&) {
        return std::nullopt;
      }
    };
    all.timed = [&](const std::vector<BenchRow>& chosen, int repetition) {
      file.add(chosen, repetition, google->repetitions());
      line.clear();
      if (text_out) {
        fmt::print("\n{}", case_text_of(chosen, use_colour()));
        std::fflush(stdout);
      }
      rows.insert(rows.end(), chosen.begin(), chosen.end());
      ++done;
      if (flags.json != "-" && std::chrono::steady_clock::now() - written > kBetweenFiles) {
        write(false);
        written = std::chrono::steady_clock::now();
      }
    };
    google->drive(all);
  }
  const std::string_view what = google->repetitions() > 1 ? "measurements" : "cases";
  context["complete"] = done == turns;
  context["incomplete"] =
      done == turns ? "" : fmt::format("interrupted: {} of {} {} were timed", done, turns, what);
  write(true);
  kept.end(done == turns);
  if (text_out) {
    if (done < turns) fmt::print("\nInterrupted: {} of {} {} were timed\n", done, turns, what);
    fmt::print("\n{}", summary_of(rows, use_colour(), done < turns ? google->chosen_rows() : 0));
  }
  return exit_code(rows, options);
}

}  // namespace assay
