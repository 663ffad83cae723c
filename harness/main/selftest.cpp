// assay selftest
#include "../selftest/selftest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "../diagnose/score.h"
#include "../generate/paths.h"
#include "../selftest/path_trial.h"
#include "../selftest/report.h"
#include "../selftest/state_trial.h"
#include "../variants/variant.h"
#include "../verify/verify.h"
#include "commands.h"
#include "graph_flag.h"
#include "interrupt.h"
#include "kept_run.h"
#include "reports/file.h"
#include "shared_flags.h"
#include "terminal.h"

namespace assay {
namespace {

struct SelftestFlags {
  SelftestOptions options;
  std::vector<std::string> dtypes;
  std::vector<std::string> plugins;
  std::string json;
  bool list = false;
  bool diagnosis = false;
  ResumeFlag resume;
};

std::string patterns_text(const SelftestFlags& flags) {
  return flags.options.patterns.empty() ? "any operator"
                                        : fmt::format("{}", fmt::join(flags.options.patterns, " "));
}

// What is planted beside variants, of this operator.
struct Beside {
  std::string name, says;
};
std::vector<Beside> planted_beside_variants(const Operator& op) {
  std::vector<Beside> all;
  const std::vector<Path> paths = paths_of(op, {});
  for (const PathFault& fault : kPathFaults)
    for (const Path& p : paths)
      if (fault.kernel == kZeros || has_stateful(op))
        all.push_back({path_variant(fault, p), fmt::format("{} for such calls", fault.says)});
  for (const StatefulKind* kind : stateful_faults(op))
    all.push_back({std::string(kind->name), std::string(kind->says)});
  return all;
}

void check_variants(const SelftestOptions& options, bool diagnosis) {
  const std::vector<const Operator*> chosen = select_operators(options.patterns);
  for (const std::string& glob : options.variants) {
    const bool matches = std::ranges::any_of(chosen, [&](const Operator* op) {
      return std::ranges::any_of(
                 variants_of(*op),
                 [&](const Variant& v) { return v.name != "none" && selects({glob}, v.name); }) ||
             (!diagnosis && std::ranges::any_of(planted_beside_variants(*op),
                                                [&](const Beside& b) { return selects({glob}, b.name); }));
    });
    if (!matches)
      throw UsageError(
          fmt::format("--variant {}: no variant of the chosen operators matches; --list shows them", glob));
  }
}

// Those with results of a chosen dtype. Where nothing can be planted, the argument that leaves nothing is named.
std::vector<const Operator*> chosen_operators(const SelftestFlags& flags) {
  std::vector<const Operator*> chosen = select_operators(flags.options.patterns);
  const std::vector<Dtype>& dtypes = flags.options.dtypes;
  std::erase_if(chosen, [&](const Operator* op) {
    return !dtypes.empty() && std::ranges::none_of(dtypes, [&](Dtype d) { return op->dtypes.contains(d); });
  });
  if (chosen.empty())
    throw UsageError(fmt::format("--dtype {}: {} has no results of such a dtype: nothing to plant",
                                 fmt::join(flags.dtypes, ","), patterns_text(flags)));
  return chosen;
}

void check_plugins(const Registry& registry, const SelftestFlags& flags) {
  const auto has_kernel = [&](const Operator* op) {
    return std::ranges::any_of(registry.kernels_of(*op), [](const Kernel* k) {
      return k->name.starts_with(kPluginPrefix) && k->unavailable.empty();
    });
  };
  if (std::ranges::none_of(chosen_operators(flags), has_kernel))
    throw UsageError(
        fmt::format("--plugin {}: there is no kernel of {} in it that runs here: nothing to plant",
                    fmt::join(flags.plugins, " --plugin "), patterns_text(flags)));
}

void list_variants(const SelftestOptions& options) {
  for (const Operator* op : select_operators(options.patterns)) {
    for (const Variant& v : variants_of(*op))
      if (v.name != "none" && selects(options.variants, v.name))
        fmt::print("{} {}: {}\n", op->schema.name, v.name, v.says);
    for (const Beside& b : planted_beside_variants(*op))
      if (selects(options.variants, b.name)) fmt::print("{} {}: {}\n", op->schema.name, b.name, b.says);
  }
}

// How well `assay diagnose` names what is planted.
int score_diagnosis(const SelftestFlags& flags) {
  const SelftestOptions& o = flags.options;
  diagnose::Scores scores;
  catch_interrupts(kEndsInOrder);
  {
    ProgressLine line;
    scores =
        diagnose::score(select_operators(o.patterns), o.dtypes, {o.variants, o.seed, 1, o.jobs},
                        interrupted(), [&](std::size_t done, std::size_t all, const std::string& doing) {
                          line.show(fmt::format("{:3.0f}%  {}", 100.0 * double(done) / double(all), doing));
                        });
  }
  if (flags.json != "-") fmt::print("{}", to_text(scores, Style(use_colour())));
  if (!flags.json.empty()) write_file(flags.json, to_json(scores));
  if (interrupted()) return kInterrupted;
  return scores.alarms.empty() ? kAllWell : kFaultFound;
}

int selftest_command(SelftestFlags& flags) {
  SelftestOptions& options = flags.options;
  options.dtypes = parse_dtypes(flags.dtypes);
  if (options.cases == 0) throw UsageError("--cases is 0: a run without cases finds nothing");
  check_files({{"--json", flags.json}}, flags.plugins);
  if (flags.list && !flags.json.empty())
    throw UsageError("--list and --json exclude each other: the list of what would be planted is text");
  check_variants(options, flags.diagnosis);
  if (flags.list) {
    list_variants(options);
    return kAllWell;
  }
  chosen_operators(flags);
  if (flags.diagnosis) return score_diagnosis(flags);
  const auto registry =
      load_registry(flags.plugins, false, [&] { return select_operators(options.patterns); });
  options.plugins = !flags.plugins.empty();
  if (options.plugins) check_plugins(*registry, flags);
  options.run.time_limit = std::chrono::seconds(10);
  catch_interrupts(kEndsInOrder);
  KeptRun kept("selftest", "selftest", false, default_folder(), flags.resume, flags.plugins);
  options.journal = kept.journal();
  SelftestResult result;
  {
    ProgressLine line;
    result = selftest(*registry, this_program(), options, interrupted(), [&](const SelftestProgress& p) {
      line.show(fmt::format("{:3.0f}%  {} planted  {} found  {}",
                            p.total == 0 ? 100.0 : 100.0 * double(p.done) / double(p.total), p.planted,
                            p.found, p.doing));
      kept.snapshot({flags.json});
    });
  }
  if (flags.json != "-") fmt::print("{}", selftest_table(result, Style(use_colour())));
  if (!flags.json.empty()) write_file(flags.json, kept.last(selftest_json(result), result.complete));
  kept.end(result.complete);
  const int code = selftest_exit_code(result);
  return interrupted() && code == kAllWell ? kInterrupted : code;
}

}  // namespace

void add_selftest(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("selftest", "Plant faults, and see whether Assay finds each one");
  command->footer(
      "A variant is the operator's reference with one thing wrong: an argument ignored, a tail lost, sums in bf16, memory\n"
      "that is not the kernel's. Each runs as a kernel does, on the cases that `assay verify` gives the operator, under the\n"
      "contract of our own kernel; a fault that changes few of these gets further ones, until it had as many, and is listed.\n"
      "Others are our own kernel, wrong on one path (paths.*, stale_paths.*, unwritten_paths.*) or by what it remembers (state.*).\n"
      "The columns on the right say what other ways of comparing would have found on the same cases:\n"
      "torch.testing.assert_close with its defaults, allclose with 1e-2, and a normalized mean squared error of 1e-7.\n"
      "A fault that survives fails the run (exit code 1), and so does a right kernel that is called wrong, or a fault that is found\n"
      "although its operator says that it cannot be.\n\n"
      "  assay selftest                            every operator, every dtype\n"
      "  assay selftest prelu 'softmax*' --dtype f32\n"
      "  assay selftest mm --variant 'results.*'\n"
      "  assay selftest prelu --list               what would be planted");
  auto flags = std::make_shared<SelftestFlags>();
  SelftestOptions& o = flags->options;
  add_choice(*command, o.patterns, flags->dtypes);
  command->add_option("--variant", o.variants, "shell globs on names of variants")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("GLOB");
  command->add_flag("--list", flags->list, "only say what would be planted");
  command->add_flag(
      "--diagnosis", flags->diagnosis,
      "plant what shows in results, and see whether `assay diagnose` names it; a cause named for a right kernel "
      "fails. Takes no --cases, --plugin or --no-rivals");
  add_graphs(*command);
  command
      ->add_option(
          "--plugin,--python,--source", flags->plugins,
          "plant the kernels of this shared library, source text or function of Python, which are known to be wrong, instead of variants")
      ->allow_extra_args(false)
      ->type_name("FILE");
  add_work(*command, o.cases, o.seed, o.jobs);
  command->add_flag_callback(
      "--no-rivals", [flags] { flags->options.rivals = false; },
      "do not ask what other ways of comparing would have found: half the time");
  add_resume(*command, flags->resume);
  command->add_option("--json", flags->json, "write the results; - is standard output")->type_name("F");
  for (const char* option : {"--cases", "--plugin", "--no-rivals", "--list", "--resume"})
    command->get_option("--diagnosis")->excludes(command->get_option(option));
  command->get_option("--list")->excludes(command->get_option("--plugin"));
  command->callback([flags, &chosen] { chosen = [flags] { return selftest_command(*flags); }; });
}

}  // namespace assay
