// assay bench
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "../bench/context.h"
#include "../bench/google.h"
#include "../bench/google_file.h"
#include "../generate/check_case.h"
#include "../verify/verify.h"
#include "bench_flags.h"
#include "commands.h"
#include "commit.h"
#include "graph_flag.h"
#include "interrupt.h"
#include "number_checks.h"
#include "reports/file.h"
#include "reports/text.h"
#include "shared_flags.h"
#include "terminal.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostThreads = 4096;

// Without what stands there before; says so.
std::vector<BenchCase> each_once(std::vector<BenchCase> all) {
  std::map<std::string, std::string> places;
  std::erase_if(all, [&](const BenchCase& b) {
    const auto [known, fresh] = places.emplace(text(b.c), b.place);
    if (!fresh)
      complain(
          fmt::format("{}: {} stands {}, and is timed once", b.place, known->first,
                      b.place == known->second ? "there twice" : fmt::format("in {}, too", known->second)));
    return !fresh;
  });
  return all;
}

template <class T>
void keep_each_once(std::vector<T>& all) {
  std::set<T> known;
  std::erase_if(all, [&](const T& x) { return !known.insert(x).second; });
}

// The shapes that were asked for: single cases, or those of a list that the patterns and dtypes choose.
std::vector<BenchCase> chosen_cases(const BenchFlags& flags) {
  std::vector<BenchCase> all;
  for (const std::string& text : flags.cases) {
    all.push_back({parse_case(text), "named by --case", "--case"});
    if (const Checked checked = check_case(all.back().c); !checked.ok())
      throw UsageError(fmt::format("--case {}: {}", text, checked.error));
  }
  if (!all.empty() && !flags.patterns.empty())
    throw UsageError("--case and PATTERN exclude each other: the case names its operator");
  if (!all.empty() && !flags.dtypes.empty())
    throw UsageError("--case and --dtype exclude each other: the case says its dtypes");
  if (!all.empty()) return each_once(std::move(all));
  const std::vector<const Operator*> operators = select_operators(flags.patterns);
  const std::vector<Dtype> dtypes = parse_dtypes(flags.dtypes);
  const std::string path = flags.shapes.empty() ? default_shapes() : flags.shapes;
  for (BenchCase& c : read_shapes(path)) {
    if (std::ranges::find(operators, c.c.op) == operators.end()) continue;
    const auto has_dtype = [&](const CaseValue& v) {
      const auto* t = std::get_if<TensorSpec>(&v);
      return t != nullptr && std::ranges::find(dtypes, t->dtype) != dtypes.end();
    };
    if (!dtypes.empty() && std::ranges::none_of(c.c.arguments, has_dtype)) continue;
    all.push_back(std::move(c));
  }
  if (all.empty())
    throw UsageError(fmt::format("{} has no case of these operators and dtypes; name one with --case", path));
  return each_once(std::move(all));
}

int bench_command(BenchFlags& flags) {
  BenchOptions& options = flags.options;
  options.caches.clear();
  for (const std::string& c : flags.caches) {
    const std::optional<Cache> cache = cache_named(c);
    if (!cache) throw UsageError(fmt::format("--cache is \"{}\": write warm, l2 or dram", c));
    options.caches.push_back(*cache);
  }
  keep_each_once(options.threads);
  keep_each_once(options.caches);
  keep_each_once(flags.slowed);
  for (const std::string& plugin : flags.plugins)
    if (python_kernel(plugin))
      throw UsageError(fmt::format(
          "--plugin {}: bench times kernels of libraries; a function of Python can be verified, not timed",
          plugin));
  std::vector<std::string> inputs = flags.plugins;
  inputs.push_back(flags.against);
  std::ranges::move(files_at(flags.shapes.empty() ? default_shapes() : flags.shapes, {".txt"}),
                    std::back_inserter(inputs));
  check_files({{"--json", flags.json}}, inputs);
  options.cases = chosen_cases(flags);
  if (flags.against.empty() && (flags.study > 0 || flags.all))
    throw UsageError(fmt::format("{} is for --against", flags.study > 0 ? "--study" : "--all"));
  if (!flags.against.empty() && !flags.google.empty())
    throw UsageError(fmt::format("{} and --against exclude each other: the gate itself chooses and repeats",
                                 flags.google.front()));
  catch_interrupts();
  options.stop = {&interrupted(), [said = std::make_shared<bool>(false)] {
                    if (!std::exchange(*said, true))
                      complain("stopping, within 3 s; interrupt once more to end at once");
                  }};
  if (flags.study > 0 && flags.resume.given())
    throw UsageError("--resume and --study exclude each other: a study counts what one run of it says");
  inputs.push_back(flags.shapes.empty() ? "" : flags.shapes);
  KeptRun kept("bench", "bench", false, default_folder(), flags.resume, inputs);
  if (!flags.against.empty()) return bench_against(flags, kept);
  return bench_beside(flags, kept);
}

}  // namespace

void keep_rows(Journal* journal, const std::string& key, double at, const std::vector<BenchRow>& rows,
               nlohmann::json more) {
  if (journal == nullptr) return;
  nlohmann::json list = nlohmann::json::array();
  for (const BenchRow& row : rows)
    list.push_back({{"name", benchmark_name(row)}, {"assay", bench_row_json(row)}});
  journal->add(key, at, {{"benchmarks", std::move(list)}}, std::move(more));
}

std::vector<BenchRow> rows_of(const JournalEntry& entry) {
  std::vector<BenchRow> rows;
  const std::string file = "the journal";
  for (const JsonReader& b : JsonReader(entry.add, file, entry.key).at("benchmarks").items())
    rows.push_back(bench_row_of(b.at("assay")));
  return rows;
}

std::string commit_of(const BenchFlags& flags) {
  return flags.plugins.empty() ? std::string(built_from) : commit_here();
}

Placements placements_of(const BenchOptions& options) {
  Placements all;
  try {
    for (const int n : options.threads) all.emplace(n, choose_placement(options.cpus, options.node, n));
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return all;
}

void print_placements(const Placements& placements) {
  const std::vector<std::string> lines = numactl_lines(placements);
  if (lines.size() == 1)
    fmt::print("Pinned{}\n", lines.front().empty() ? " to nothing" : " as by: " + lines.front());
  else
    fmt::print("Pinned as by:\n  {}\n", fmt::join(lines, "\n  "));
  std::set<std::string> said;
  for (const auto& [threads, placement] : placements)
    for (const std::string& note : placement.notes)
      if (said.insert(note).second) fmt::print("  {}\n", note);
}

void add_bench(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("bench", "How fast kernels are, beside peers and the machine's limits");
  command->footer(
      "Kernels of one case are timed in one process, on the same memory, in turns: every round times each of them in\n"
      "random order, and what is compared are their ratios within rounds. Only kernels whose results are right, by a\n"
      "sample of elements under their contracts, are timed; results are looked at again between rounds, with other\n"
      "data at the same addresses, and afterwards. A time is impossible, and fails the run, that is shorter than this\n"
      "machine needs to move the bytes or do the operations. Times are the\n"
      "thread's own (with several threads: the wall's), medians with 99% intervals (±?: too few rounds to have one).\n\n"
      "The limit of a row is what its formula needs at least, measured in the same rounds: moving its bytes on the\n"
      "same memory, its operations as fused multiply-adds in registers, its elementary functions at the speed of our\n"
      "exp. The largest of the three binds.\n\n"
      "  assay bench                                  the shapes of cases/shapes: two minutes to ten\n"
      "  assay bench prelu 'softmax*' --cache warm,dram\n"
      "  assay bench --case mm:f32:self=256x256,mat2=256x256 --threads 1,2 --json mm.json\n"
      "  assay bench mm --plugin ./libmine.so         your own kernel beside ours and the peers'\n\n"
      "PyTorch runs the code that it chooses: ATEN_CPU_CAPABILITY=avx512 in the shell makes that its AVX-512, in a run of its own.\n"
      "Kernels of a GPU (cuda.gpu, and a plugin's that are marked as such) are timed by its clock, on tensors that stay on it,\n"
      "beside each other and not beside the processor's; warm is its cache if they fit, dram another copy of them for each call.\n"
      "Without a GPU they are not run. Emulations of one are never timed.\n\n"
      "With --against, a regression gate: our kernels (or those of --plugin) beside BASE.so, another build of\n"
      "them, both in one process, 40 rounds or more. Verdicts by the 99% interval of the ratio: REGRESSED and IMPROVED\n"
      "if it lies wholly beyond 1% (3% where the data comes from DRAM) and five to twelve more processes agree, SAME if it lies\n"
      "within, AMBIGUOUS else, UNCHANGED if the machine code is the same. \"finds\" is what a row would have shown in\n"
      "80% of tries. Every tenth comparison is followed by one of the baseline with a copy of itself: if those\n"
      "differ, the machine is not fit to judge (exit code 3).\n\n"
      "  git worktree add ../old COMMIT && ../old/assay --version       another commit, built\n"
      "  assay bench --against ../old/build/release/optimized/libassay_cpu_plugin.so prelu\n\n"
      "Google Benchmark drives the run, and takes its flags: --benchmark_list_tests lists a name for each row, --benchmark_filter=REGEX\n"
      "chooses among them (a case's other kernels are timed along, for comparison), --benchmark_repetitions=N times all N times\n"
      "over, --benchmark_enable_random_interleaving=true in random order; --benchmark_format=console, json or csv prints its report\n"
      "in place of ours, and --benchmark_out=FILE, with --benchmark_out_format, writes one. --benchmark_min_time,\n"
      "--benchmark_min_warmup_time and --benchmark_perf_counters are refused, and all of them with --against.\n\n"
      "  assay bench relu --benchmark_filter=cpu --benchmark_repetitions=5 --benchmark_format=console\n\n"
      "--json writes Google Benchmark's format; what is ours stands under the key \"assay\" of each benchmark. With --study,\n"
      "it writes what was counted (assay.study/1).\n"
      "Exit codes: 1 if something regressed, or a kernel of ours, of a plugin, or one that --impl names gives wrong results or ends the\n"
      "process; 3 if nothing could be measured.");
  auto flags = std::make_shared<BenchFlags>();
  BenchOptions& o = flags->options;
  add_choice(*command, flags->patterns, flags->dtypes);
  command
      ->add_option("--impl", o.impls,
                   "shell globs on kernel names; default: of each library the one with the widest vectors")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("GLOB");
  CLI::Option* only = command->add_option("--case", flags->cases, "this case; may be repeated")
                          ->allow_extra_args(false)
                          ->type_name("TEXT");
  command
      ->add_option("--shapes", flags->shapes, "a list of cases, or a folder of lists (default: cases/shapes)")
      ->excludes(only)
      ->type_name("PATH");
  add_graphs(*command);
  command
      ->add_option("--plugin", flags->plugins,
                   "a shared library of kernels (assay/kernel.h); may be repeated")
      ->allow_extra_args(false)
      ->type_name("LIB.so");
  command
      ->add_option("--cache", flags->caches,
                   "where operands are: warm, l2 (not in the second-level cache), dram")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str()
      ->type_name("STATE,...");
  command->add_option("--threads", o.threads, "numbers of threads")
      ->check(number_within(1, kMostThreads))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str()
      ->type_name("N,...");
  command->add_option("--cpus", o.cpus, "processors to pin to, 2-3,5 (default: the last ones)")
      ->type_name("LIST");
  command->add_option("--membind", o.node, "memory node (default: that of the processors)")->type_name("N");
  CLI::Option* rounds =
      command
          ->add_option("--rounds", o.rounds,
                       "rounds of each case; not with --against, where they go on while it is not clear")
          ->check(CLI::Range(3, 100'000))
          ->capture_default_str()
          ->type_name("N");
  CLI::Option* time =
      command
          ->add_option(
              "--time", o.seconds,
              "seconds that the rounds of one case may take (default: 2; with --against 4, or 12 where "
              "the data comes from DRAM, and three times that for what looks like a finding)")
          ->check(positive_number())
          ->type_name("S");
  command->add_option("--timeout", o.timeout, "seconds that one call of a kernel may take")
      ->check(positive_number())
      ->capture_default_str()
      ->type_name("S");
  command->add_option("--seed", o.seed, "of the order of rounds and the places of tensors")
      ->check(whole_number())
      ->capture_default_str()
      ->type_name("N");
  CLI::Option* against =
      command->add_option("--against", flags->against, "another build of the kernels, to be compared with")
          ->excludes(rounds)
          ->type_name("BASE.so");
  command->add_flag("--all", flags->all, "with --against: time what is the same machine code in both, too")
      ->needs(against);
  CLI::Option* study =
      command
          ->add_option(
              "--study", flags->study,
              "with --against: time kernels N times beside themselves, slowed by each share of --slowed, and "
              "count what the gate says")
          ->needs(against)
          ->check(CLI::Range(1, 1'000'000))
          ->type_name("N");
  command->add_option("--slowed", flags->slowed, "with --study: by how many percent")
      ->needs(study)
      ->check(percentage(1000))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str()
      ->type_name("PERCENT,...");
  add_resume(*command, flags->resume);
  command->add_option("--json", flags->json, "write a benchmark file; - is standard output")->type_name("F");
  command->allow_extras();  // Google Benchmark's words
  command->callback([flags, time, command, &chosen] {
    std::vector<std::string> others = command->remaining();
    flags->google = taken_for_google(others);
    if (!others.empty()) throw CLI::ExtrasError(command->get_name(), others);
    if (time->count() == 0 && !flags->against.empty()) flags->options.seconds = 4;
    flags->dram_seconds = time->count() == 0 ? 12 : flags->options.seconds;
    chosen = [flags] {
      try {
        return bench_command(*flags);
      } catch (const Stopped&) {
        throw;
      } catch (const std::exception& error) {
        if (!interrupted()) throw;
        complain(
            fmt::format("interrupted: {}", error.what()));  // mostly of a process that the signal ended, too
        return kInterrupted;
      }
    };
  });
}

}  // namespace assay
