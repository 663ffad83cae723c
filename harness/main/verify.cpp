// assay verify
#include "../verify/fixtures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "../coverage/runtime.h"
#include "../generate/check_case.h"
#include "../plugin/sanitized.h"
#include "../registry/configured.h"
#include "../registry/parts.h"
#include "../verify/access_table.h"
#include "../verify/case_list.h"
#include "commands.h"
#include "graph_flag.h"
#include "interrupt.h"
#include "kept_run.h"
#include "number_checks.h"
#include "report_files.h"
#include "reports/file.h"
#include "reports/gaps.h"
#include "reports/html.h"
#include "reports/junit.h"
#include "reports/merge.h"
#include "reports/row.h"
#include "reports/run_file.h"
#include "reports/table.h"
#include "reports/text.h"
#include "shared_flags.h"
#include "terminal.h"
#include "verify_flags.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr int kDepthOfFixtures = 4;  // groups of ONNX tests, tests, and their folders of data

constexpr double kSecondsOfACheckedCall = 60;

// "90", "90s", "5m", "1h"
std::chrono::duration<double> parse_time(const std::string& s) {
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  const std::string unit(end, s.data() + s.size());
  const double factor = unit.empty() || unit == "s"    ? 1
                        : unit == "m" || unit == "min" ? 60
                        : unit == "h"                  ? 3600
                                                       : 0;
  if (error != std::errc{} || factor == 0 || !(value > 0) || !std::isfinite(value * factor))
    throw UsageError(fmt::format("--time is \"{}\": write 60s, 5m or 1h", s));
  return std::chrono::duration<double>(value * factor);
}

void parse_shard(const std::string& s, VerifyOptions& options) {
  const std::size_t slash = s.find('/');
  const auto number = [&](std::string_view part) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || end != part.data() + part.size() || value == 0)
      throw UsageError(fmt::format("--shard is \"{}\": write I/N, with I from 1 to N", s));
    return value;
  };
  if (slash == std::string::npos)
    throw UsageError(fmt::format("--shard is \"{}\": write I/N, with I from 1 to N", s));
  options.shard = number(std::string_view(s).substr(0, slash));
  options.shards = number(std::string_view(s).substr(slash + 1));
  if (options.shards > kMostShards)
    throw UsageError(fmt::format("--shard is \"{}\": {} shards are the most", s, kMostShards));
  if (options.shard > options.shards)
    throw UsageError(
        fmt::format("--shard is \"{}\": there is no shard {} of {}", s, options.shard, options.shards));
}

void write_or_complain(bool& complained, const std::function<void()>& write) {
  try {
    write();
  } catch (const FileError& e) {
    complain(e.what());
    complained = true;
  }
}

std::string page_of(const RunResult& result, const VerifyFlags& flags) {
  Report report;
  report.title = "assay verify";
  report.runs.push_back({(std::filesystem::path(flags.out) / "run.json").string(), result, {}});
  add_pictures(report.runs[0], report.runs[0].name);
  return html(report);
}

// The kernels of the CUDA simulator, compiled so that they report each access to memory.
std::string checked_library() {
  for (const Part& part : parts()) {
    if (!configured::simulator_checks || part.name != "simulator") continue;
    if (!is_built(this_program(), part)) throw NotBuilt("--check: " + how_to_build(part));
    return kernel_library(this_program(), part.library);
  }
  throw UsageError(
      "--check: this build has no kernels that report their accesses: build with GCC, without sanitizers");
}

// In the milliseconds that calls are timed in, at least one; a year stands for what nobody waits for.
std::chrono::milliseconds time_limit(double seconds) {
  constexpr double kYear = 365 * 86400.0;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(std::min(seconds, kYear) * 1000)));
}

// An empty variable is none, as in the shell's ${ASSAY_OUT:-assay-out}.
void choose_folder(VerifyFlags& flags) {
  const bool by_variable = flags.out.empty() && default_folder() != "assay-out";
  if (flags.out.empty()) flags.out = default_folder();
  check_folder(by_variable ? "ASSAY_OUT" : "--out", flags.out);
}

// Those of the file whose operators the globs select.
std::vector<Case> listed_cases(const std::string& file, const std::vector<std::string>& globs) {
  select_operators(globs);  // says which glob is none
  std::vector<Case> cases = read_case_list(file, [&](const std::string& written) {
    const Operator* op = find_spelled(written);
    return selects_operator(globs, op == nullptr ? written : std::string(op->schema.name));
  });
  if (cases.empty())
    throw UsageError(fmt::format("{}: \"{}\" leaves no case of it", file, fmt::join(globs, "\" \"")));
  return cases;
}

// Before anything runs. What was recorded is judged by it, too.
void take_contract(VerifyFlags& flags, std::optional<Fixtures>& fixtures) {
  if (flags.contract->count() > 0 && flags.options.contract.find_first_not_of(' ') == std::string::npos)
    throw UsageError("--contract is empty: write fields (chain=any), or strict");
  contract_of_flag(flags.options.contract);
  if (!fixtures || flags.options.contract.empty()) return;
  for (Fixture& f : fixtures->fixtures) f.contract = overridden(f.contract, flags.options.contract);
}

// A run that is asked for reports shall not pass because nothing reports.
void check_sanitized(const VerifyFlags& flags) {
  if (flags.sanitize.empty()) return;
  if (flags.sanitize != "thread")
    throw UsageError(fmt::format("--sanitize is \"{}\": there is thread", flags.sanitize));
  if (flags.plugins.empty())
    throw UsageError(
        "--sanitize thread is for plugins: name one that was compiled with -fsanitize=thread by --plugin");
  for (const std::string& plugin : flags.plugins)
    if (std::filesystem::exists(plugin) && !is_thread_sanitized(plugin))
      throw UsageError(
          fmt::format("--sanitize thread: --plugin {} was not compiled with -fsanitize=thread", plugin));
}

// A variable is not taken and then left out.
void check_variables(const VerifyFlags& flags) {
  for (const std::string& v : flags.variables) {
    if (v.find('=') == std::string::npos || v.starts_with('='))
      throw UsageError(fmt::format("--env is \"{}\": write NAME=VALUE", v));
    const std::string option = refused_option(v);
    if (!option.empty() && std::ranges::any_of(flags.plugins, is_thread_sanitized))
      throw UsageError(fmt::format(
          "--env \"{}\": {} decides what Assay sees of a report of ThreadSanitizer, and is Assay's; leave it out, and keep the others",
          v, option));
  }
}

constexpr std::string_view kChecked = "cuda.emulated";  // whose kernels --check is about

std::string progress_line(const Progress& p) {
  if (p.budget)
    return fmt::format("{} of {}  {} cases, each for all its kernels  {} faults  {}",
                       duration(p.elapsed.count()), duration(p.budget->count()), p.done, p.faults, p.doing);
  return fmt::format("{:3.0f}%  {} of {} cases, each for all its kernels  {} faults  {}",
                     p.total == 0 ? 100.0 : 100.0 * double(p.done) / double(p.total), p.done, p.total,
                     p.faults, p.doing);
}

// What can be said of the flags before kernels are loaded. Returns the recorded cases, if the run is of these; `inputs` gets the files that
// the run reads.
std::optional<Fixtures> take_flags(VerifyFlags& flags, std::vector<std::string>& inputs) {
  VerifyOptions& options = flags.options;
  options.dtypes = parse_dtypes(flags.dtypes);
  if (!flags.time.empty()) options.time = parse_time(flags.time);
  parse_shard(flags.shard, options);
  if (options.cases == 0) throw UsageError("--cases is 0: a run without cases proves nothing");
  if (flags.check && flags.timeout_given->count() == 0) flags.timeout = kSecondsOfACheckedCall;
  options.run.time_limit = time_limit(flags.timeout);
  choose_folder(flags);
  inputs = flags.plugins;
  if (!flags.list.empty()) inputs.push_back(flags.list);
  std::ranges::move(files_at(flags.fixtures, {".h5", ".onnx", ".pb"}, kDepthOfFixtures),
                    std::back_inserter(inputs));
  check_files({{"--json", flags.json}, {"--junit", flags.junit}, {"--html", flags.html}}, inputs);
  options.out = flags.out;

  if (!flags.only.empty() && !options.patterns.empty())
    throw UsageError("--case and PATTERN exclude each other: the case names its operator");
  if (!flags.only.empty() && !flags.dtypes.empty())
    throw UsageError("--case and --dtype exclude each other: the case says its dtypes");
  std::optional<Fixtures> fixtures;
  if (!flags.fixtures.empty()) fixtures = read_fixtures(flags.fixtures);
  take_contract(flags, fixtures);
  check_variables(flags);
  check_sanitized(flags);
  return fixtures;
}

// The table, and the files that were asked for. False if one could not be written, which is said.
bool write_results(const RunResult& result, const VerifyFlags& flags, KeptRun& kept) {
  bool complained = false;
  if (flags.json != "-" && flags.junit != "-") {
    std::string text = table(result, {}, {.colour = use_colour()});
    if (!flags.only.empty())
      if (const Checked checked = check_case(flags.options.listed[0]); !checked.ok())
        text = fmt::format("Wrong arguments, which a kernel must reject: {}\n\n{}", checked.error, text);
    if (flags.classes) text = fmt::format("{}{}", class_table(result, {}), text);
    if (!result.accesses.empty()) text = fmt::format("{}\n{}", access_table(result.accesses), text);
    write_or_complain(complained, [&] { write_file("-", text); });
  }
  // Nobody goes on with a run that is complete, or that --time gave an end, which it came to.
  const bool finished = result.complete || result.incomplete == kOutOfTime;
  const std::string document = kept.last(to_json(result), finished);
  if (!flags.json.empty()) write_or_complain(complained, [&] { write_file(flags.json, document); });
  if (!kept.file().empty() && !same_place(flags.json, kept.file()))
    write_or_complain(complained, [&] { kept.write(document); });
  kept.end(finished && !complained);
  if (!flags.junit.empty()) write_or_complain(complained, [&] { write_file(flags.junit, junit(result)); });
  if (!flags.html.empty())
    write_or_complain(complained, [&] { write_file(flags.html, page_of(result, flags)); });
  return !complained;
}

// The operators that are to run; none for a run without a choice, or where what is wrong with it is yet to be said.
std::vector<const Operator*> operators_asked_for(const VerifyFlags& flags) {
  try {
    if (!flags.only.empty()) return {parse_case(flags.only).op};
    if (!flags.options.patterns.empty()) return select_operators(flags.options.patterns);
  } catch (const SelectionError&) {
  } catch (const CaseError&) {
  }
  return {};
}

// Of the operators that are to run.
bool has_plugin_kernel(const Registry& registry, const VerifyOptions& options) {
  return std::ranges::any_of(registry.kernels(), [&](const Kernel& k) {
    if (!k.name.starts_with(kPluginPrefix)) return false;
    return options.listed.empty()
               ? selects_operator(options.patterns, std::string(k.op->schema.name))
               : std::ranges::any_of(options.listed, [&](const Case& c) { return c.op == k.op; });
  });
}

}  // namespace

int verify_command(VerifyFlags& flags) {
  VerifyOptions& options = flags.options;
  std::vector<std::string> inputs;
  std::optional<Fixtures> fixtures = take_flags(flags, inputs);
  if (options.patterns.empty() && flags.only.empty() && flags.list.empty() && !fixtures)
    options.patterns = given_graphs();
  const auto registry =
      load_registry(flags.plugins, selects_torch(options.impls), [&] { return operators_asked_for(flags); });
  std::optional<AccessFile> accesses;
  if (flags.check) {
    checked_library();
    if (!selects(options.impls, std::string(kChecked)))
      throw UsageError(fmt::format("--check looks at the kernels of {}, which --impl \"{}\" leaves out",
                                   kChecked, fmt::join(options.impls, ",")));
    accesses.emplace();
    flags.variables.push_back(fmt::format("{}={}", kAccessCountsVariable, accesses->path().string()));
    flags.variables.push_back(fmt::format("{}=1", kCheckVariable));
  }
  options.coverage = flags.coverage;
  if (flags.coverage) {
    if (fixtures)
      throw UsageError("--coverage and --fixtures exclude each other: recorded cases are what they are");
    flags.variables.push_back(fmt::format("{}=1", kCoverageVariable));
  }
  registry->set_variables(flags.variables);
  if (!options.contract.empty()) registry->judge_by(options.contract);
  if (!flags.only.empty()) options.listed = {parse_case(flags.only)};
  if (!flags.list.empty()) options.listed = listed_cases(flags.list, options.patterns);
  if (!flags.plugins.empty() && !fixtures && !has_plugin_kernel(*registry, options))
    complain(fmt::format("warning: no kernel of --plugin is of what runs; {} has {}",
                         fmt::join(flags.plugins, ", "), operators_of_plugins(*registry)));
  // --check asks for kernels that a short run leaves out.
  options.is_short = !flags.thorough && !flags.check && flags.cases->count() == 0 && !options.time &&
                     options.listed.empty() && !fixtures;

  if (flags.resume.given() && (flags.coverage || flags.check))
    throw UsageError(fmt::format("--resume and {} exclude each other: what code did is not in a journal",
                                 flags.coverage ? "--coverage" : "--check"));
  catch_interrupts(kEndsInOrder);
  KeptRun kept("verify", "run", flags.json != "-", flags.out, flags.resume, inputs);
  options.journal = kept.journal();
  options.snapshot = [&, first = true](const std::function<RunResult()>& so_far) mutable {
    // A file that was named is not touched before there is something to write.
    kept.snapshot(
        [&] {
          RunResult result = so_far();
          result.command = command_line();
          return to_json(result);
        },
        std::exchange(first, false) ? std::vector<std::string>{} : std::vector{flags.json});
  };
  RunResult result;
  {
    ProgressLine line;
    const auto show = [&](const Progress& p) { line.show(progress_line(p)); };
    result = fixtures ? verify_fixtures(*registry, *fixtures, options, interrupted(), show)
                      : verify(*registry, options, interrupted(), show);
  }
  result.command = command_line();
  if (accesses) result.accesses = counted_lines(accesses->counts(), checked_library());
  if (flags.check && std::ranges::none_of(result.rows, [](const Row& r) {
        return r.impl == kChecked && row_verdict(r) != Verdict::not_run;
      }))
    complain(fmt::format("--check: no kernel of {} ran, and no access to memory was looked at", kChecked));
  const bool written = write_results(result, flags, kept);
  const int code = exit_code(result);
  if (interrupted() && code != kFaultFound) return kInterrupted;
  return !written && code == kAllWell ? kWrongUsage : code;
}

}  // namespace assay
