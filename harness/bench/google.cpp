#include "google.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "google_file.h"
#include "reports/text.h"

namespace assay {
namespace {

constexpr int kMostRepetitions = 10'000;
constexpr std::string_view kPrefix = "--benchmark_";

// The value of a flag "--benchmark_NAME=VALUE", the last of which counts.
std::optional<std::string> value_of(const std::vector<std::string>& words, std::string_view name) {
  std::optional<std::string> value;
  for (const std::string& w : words)
    if (w.starts_with(kPrefix) && w.substr(kPrefix.size(), name.size()) == name) {
      const std::string rest = w.substr(kPrefix.size() + name.size());
      if (rest.empty()) value = "true";
      if (rest.starts_with('=')) value = rest.substr(1);
    }
  return value;
}

// What Google Benchmark would answer by ending the process, or by measuring something else.
std::string why_not(const std::string& word, const std::vector<std::string>& words) {
  const std::vector<std::string> one{word};
  for (const char* name : {"min_time", "min_warmup_time"})
    if (value_of(one, name)) return "how long a case is timed, --time and --rounds say";
  if (value_of(one, "perf_counters"))
    return "kernels run in processes of their own, which its counters do not see";
  for (const char* name : {"format", "out_format"})
    if (const auto value = value_of(one, name);
        value && *value != "console" && *value != "json" && *value != "csv")
      return "write console, json or csv";
  if (const auto n = value_of(one, "repetitions"))
    if (n->empty() || n->size() > 5 || n->find_first_not_of("0123456789") != std::string::npos ||
        std::stoi(*n) < 1 || std::stoi(*n) > kMostRepetitions)
      return fmt::format("write a whole number from 1 to {}", kMostRepetitions);
  if (value_of(one, "out_format") && !value_of(words, "out"))
    return "it is for --benchmark_out=FILE, which is not given";
  if (const auto unit = value_of(one, "time_unit");
      unit && *unit != "ns" && *unit != "us" && *unit != "ms" && *unit != "s")
    return "write ns, us, ms or s";
  return {};
}

// Its flags keep their values until they are set again. Returns the words that it does not take.
std::vector<std::string> initialize(const std::vector<std::string>& words) {
  static char program[] = "assay";  // kept by Google Benchmark
  std::vector<std::string> kept = words;
  std::vector<char*> argv{program};
  for (std::string& w : kept) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(argv.size()) - 1;
  benchmark::Initialize(&argc, argv.data());
  return {argv.begin() + 1, argv.begin() + argc};
}

// Of --benchmark_out_format; the one of --benchmark_format Google Benchmark makes itself.
std::unique_ptr<benchmark::BenchmarkReporter> file_reporter(const std::string& format) {
  if (format == "json") return std::make_unique<benchmark::JSONReporter>();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // there is nothing in its place yet
  if (format == "csv") return std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_None);
}

// The same statistics as Google Benchmark's, of the times of a call.
double statistic(const std::string& name, std::vector<double> times) {
  const double n = static_cast<double>(times.size());
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / n;
  if (name == "mean") return mean;
  if (name == "median") {
    std::ranges::sort(times);
    return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  }
  double squares = 0;
  for (const double t : times) squares += (t - mean) * (t - mean);
  const double deviation = times.size() < 2 ? 0 : std::sqrt(squares / (n - 1));
  return name == "cv" ? deviation / mean : deviation;
}

void report(benchmark::State& state, const BenchRow* row) {
  const std::string error = row == nullptr ? "not timed: the run was ended" : google_error(*row);
  if (!error.empty()) {
    state.SkipWithError(error.c_str());
    return;
  }
  const double ns = row->by_wall() ? row->ns.median : row->ns.median * row->contention;
  for ([[maybe_unused]] const auto _ : state) state.SetIterationTime(ns * 1e-9);
  state.counters = google_counters(*row);
  state.SetLabel(printable(row->information));
}

// Says nothing: which benchmarks are run is seen by their being run.
class Silent : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace

bool is_google_word(const std::string& word) { return word.starts_with(kPrefix); }

std::vector<std::string> taken_for_google(std::vector<std::string>& words) {
  std::vector<std::string> taken;
  std::ranges::copy_if(words, std::back_inserter(taken), is_google_word);
  std::erase_if(words, is_google_word);
  return taken;
}

// One benchmark: a kernel of a group.
struct GoogleBenchmark::Entry {
  const BenchGroup* group;
  std::string planned;
  bool chosen = false;
  int calls = 0;  // Google Benchmark makes one for each repetition
  std::map<int, const BenchRow*> rows;
};

// Passes on to one of Google Benchmark's reporters what it reports, with the times of our rounds: Google Benchmark's own clocks ran while
// the process waited for those in which kernels run.
class GoogleBenchmark::Reporter : public benchmark::BenchmarkReporter {
 public:
  Reporter(GoogleBenchmark& google, BenchmarkReporter& inner) : google_(google), inner_(inner) {}
  bool ReportContext(const Context& context) override {
    inner_.SetOutputStream(&GetOutputStream());
    inner_.SetErrorStream(&GetErrorStream());
    return inner_.ReportContext(context);
  }
  void ReportRuns(const std::vector<Run>& report) override {
    std::vector<Run> said;
    std::map<std::string, std::vector<double>> cpu;  // seconds of a call, of each benchmark
    for (const Run& one : report) {
      const std::string name = one.run_name.function_name;
      Entry* const entry = google_.entry_named(name);
      if (entry == nullptr || entry->rows.empty()) continue;  // the run was ended before
      Run run = one;
      if (run.run_type == Run::RT_Iteration) {
        const auto row = entry->rows.find(static_cast<int>(run.repetition_index));
        if (row == entry->rows.end()) continue;
        put_times(*row->second, run);
        if (!run.error_occurred)
          cpu[name].push_back(run.cpu_accumulated_time / static_cast<double>(run.iterations));
      } else {
        run.run_name = {};
        run.run_name.function_name = benchmark_name(*entry->rows.begin()->second);
        std::vector<double> times = cpu[name];
        if (times.empty())  // its aggregates come in a report of their own
          for (const auto& [repetition, row] : entry->rows)
            if (row->status == BenchStatus::measured)
              times.push_back((row->by_wall() ? row->ns.median / row->contention : row->ns.median) * 1e-9);
        const double value = statistic(run.aggregate_name, times);
        run.cpu_accumulated_time = run.aggregate_unit == benchmark::kPercentage
                                       ? value
                                       : value * static_cast<double>(run.iterations);
      }
      said.push_back(std::move(run));
    }
    if (!said.empty()) inner_.ReportRuns(said);
  }
  void Finalize() override { inner_.Finalize(); }

 private:
  GoogleBenchmark& google_;
  BenchmarkReporter& inner_;
};

GoogleBenchmark::GoogleBenchmark(std::vector<std::string> words) : words_(std::move(words)) {
  for (const std::string& w : words_)
    if (const std::string why = why_not(w, words_); !why.empty())
      throw std::invalid_argument(fmt::format("{}: {}", w, why));
  // One that cannot be written would end the process.
  if (const auto out = value_of(words_, "out"); out && !out->empty() && !std::ofstream(*out, std::ios::app))
    throw std::invalid_argument(fmt::format("--benchmark_out={}: cannot be written", *out));
  const std::vector<std::string> unknown = initialize(words_);
  if (!unknown.empty())
    throw std::invalid_argument(
        fmt::format("{}: Google Benchmark has no such flag, or not with this value", unknown.front()));
}

GoogleBenchmark::~GoogleBenchmark() { benchmark::ClearRegisteredBenchmarks(); }

bool GoogleBenchmark::lists() const {
  const std::optional<std::string> value = value_of(words_, "list_tests");
  return value && *value != "false" && *value != "0";
}

bool GoogleBenchmark::shows() const { return value_of(words_, "format").has_value(); }

GoogleBenchmark::Entry* GoogleBenchmark::entry_named(const std::string& name) {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

std::size_t GoogleBenchmark::choose(const std::vector<BenchGroup>& groups) {
  benchmark::ClearRegisteredBenchmarks();
  const bool has_unit = value_of(words_, "time_unit").has_value();
  for (const BenchGroup& group : groups)
    for (const std::vector<const Kernel*>* kernels : {&group.missing, &group.kernels})
      for (const Kernel* kernel : *kernels) {
        const std::string name = benchmark_name(planned_row(group, *kernel));
        if (by_name_.contains(name)) continue;
        Entry* const entry =
            entries_.emplace_back(std::make_unique<Entry>(Entry{&group, kernel->name, false, 0, {}})).get();
        by_name_[name] = entry;
        auto* const registered =
            benchmark::RegisterBenchmark(name.c_str(), [this, entry](benchmark::State& state) {
              if (turns_ == nullptr) {
                entry->chosen = true;
                ++entry->calls;
                state.SkipWithError("chosen");
              } else {
                report(state, row_of(*entry, entry->calls++));
              }
            });
        registered->Iterations(1)->UseManualTime();
        if (!has_unit) registered->Unit(benchmark::kNanosecond);
      }
  // Whom it chooses, Google Benchmark shows by running it; in this pass nothing is timed, and nothing is written.
  initialize({"--benchmark_list_tests=false", "--benchmark_out="});
  Silent silent;
  std::ostringstream complaint;
  silent.SetErrorStream(&complaint);
  benchmark::RunSpecifiedBenchmarks(&silent);
  initialize(words_);
  std::set<const BenchGroup*> chosen;
  for (const auto& entry : entries_) {
    if (entry->chosen) chosen.insert(entry->group);
    repetitions_ = std::max(repetitions_, entry->calls);
    entry->calls = 0;
  }
  if (chosen.empty())
    throw std::invalid_argument(
        fmt::format("--benchmark_filter={}: {}; --benchmark_list_tests lists the names",
                    benchmark::GetBenchmarkFilter(), printable(complaint.str())));
  return chosen.size() * static_cast<std::size_t>(repetitions_);
}

std::size_t GoogleBenchmark::chosen_rows() const {
  const auto kernels = std::ranges::count_if(entries_, [](const auto& entry) { return entry->chosen; });
  return static_cast<std::size_t>(kernels) * static_cast<std::size_t>(repetitions_);
}

const BenchRow* GoogleBenchmark::row_of(Entry& entry, int repetition) {
  const auto [at, is_new] = measured_.try_emplace({entry.group, repetition});
  if (is_new && !ended_) {
    std::optional<std::vector<BenchRow>> rows = turns_->measure(*entry.group, repetition);
    ended_ = !rows;
    if (rows) {
      // In a second process for other kernels of the case, some were there for comparison; so are those that were not chosen.
      std::erase_if(*rows, [&](const BenchRow& row) {
        BenchRow as_planned = row;
        as_planned.impl = row.planned;
        const Entry* const its = entry_named(benchmark_name(as_planned));
        return its == nullptr || !its->chosen || its->group != entry.group;
      });
      at->second = *std::move(rows);
      turns_->timed(at->second, repetition);
    }
  }
  for (const BenchRow& row : at->second)
    if (row.planned == entry.planned) return entry.rows[repetition] = &row;
  return nullptr;
}

void GoogleBenchmark::drive(const Turns& turns) {
  turns_ = &turns;
  Silent silent;
  std::optional<Reporter> shown, written;
  std::unique_ptr<benchmark::BenchmarkReporter> of_file;
  if (shows()) shown.emplace(*this, *benchmark::CreateDefaultDisplayReporter());
  if (const auto out = value_of(words_, "out"); out && !out->empty()) {
    of_file = file_reporter(value_of(words_, "out_format").value_or("json"));
    written.emplace(*this, *of_file);
  }
  benchmark::BenchmarkReporter* const display =
      shown ? static_cast<benchmark::BenchmarkReporter*>(&*shown) : &silent;
  benchmark::RunSpecifiedBenchmarks(display, written ? &*written : nullptr);
  turns_ = nullptr;
}

}  // namespace assay
