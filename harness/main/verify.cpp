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
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr int kDepthOfFixtures = 4;  // groups of ONNX tests, tests, and their folders of data

struct VerifyFlags {
  VerifyOptions options;
  std::vector<std::string> dtypes;
  std::string only;
  std::string list;
  std::string fixtures;
  std::string time;
  std::string shard = "1/1";
  std::vector<std::string> plugins;
  std::vector<std::string> variables;
  std::string json;
  std::string junit;
  std::string html;
  std::string out;
  double timeout = 10;
  bool check = false;
  bool thorough = false;
  bool classes = false;
  bool coverage = false;
  std::string sanitize;
  ResumeFlag resume;
  CLI::Option* cases = nullptr;
  CLI::Option* contract = nullptr;
  CLI::Option* timeout_given = nullptr;
};

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

int verify_command(VerifyFlags& flags) {
  VerifyOptions& options = flags.options;
  options.dtypes = parse_dtypes(flags.dtypes);
  if (!flags.time.empty()) options.time = parse_time(flags.time);
  parse_shard(flags.shard, options);
  if (options.cases == 0) throw UsageError("--cases is 0: a run without cases proves nothing");
  if (flags.check && flags.timeout_given->count() == 0) flags.timeout = kSecondsOfACheckedCall;
  options.run.time_limit = time_limit(flags.timeout);
  choose_folder(flags);
  std::vector<std::string> inputs = flags.plugins;
  if (!flags.list.empty()) inputs.push_back(flags.list);
  std::ranges::move(files_at(flags.fixtures, {".h5", ".onnx", ".pb"}, kDepthOfFixtures),
                    std::back_inserter(inputs));
  check_files({{"--json", flags.json}, {"--junit", flags.junit}, {"--html", flags.html}}, inputs);
  options.out = flags.out;

  const bool with_torch = selects_torch(options.impls);
  if (!flags.only.empty() && !options.patterns.empty())
    throw UsageError("--case and PATTERN exclude each other: the case names its operator");
  if (!flags.only.empty() && !flags.dtypes.empty())
    throw UsageError("--case and --dtype exclude each other: the case says its dtypes");
  std::optional<Fixtures> fixtures;
  if (!flags.fixtures.empty()) fixtures = read_fixtures(flags.fixtures);
  take_contract(flags, fixtures);
  check_variables(flags);
  check_sanitized(flags);
  const auto registry = load_registry(flags.plugins, with_torch);
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
  bool complained = false;
  if (flags.json != "-" && flags.junit != "-") {
    std::string text = table(result, {}, {.colour = use_colour()});
    if (!flags.only.empty())
      if (const Checked checked = check_case(options.listed[0]); !checked.ok())
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
  const int code = exit_code(result);
  if (interrupted() && code != kFaultFound) return kInterrupted;
  return complained && code == kAllWell ? kWrongUsage : code;
}

}  // namespace

void add_verify(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("verify", "Prove kernels right on generated cases");
  command->footer(
      "Without --thorough, --cases, --time, --case, --cases-from or --fixtures this is the short run: two minutes for\n"
      "everything, less for a few operators. Each operator and dtype gets as many of its 250 cases as there is time for, all the same number\n"
      "and at least 24, among which each kind of data and each class of shape and layout of the 250 occurs. Kernels of other\n"
      "libraries get the first 24; cuda.emulated and cuda.ptx (CUDA kernels on the processor, up to fifty times as slow) get\n"
      "none; those that --impl names get all that ours get. The last lines say what was left out. --thorough runs everything:\n"
      "all 250 cases on all kernels. So do --cases N, with another number of cases, and --time T, until the time is over.\n\n"
      "Every kernel runs in a worker process on every case, twice, between guard pages. Each element of its results\n"
      "must lie in the interval that the operator's reference and the kernel's contract allow. Failures are shrunk and\n"
      "recorded; `assay replay FILE` runs one again. Rows of peers (other libraries: torch, onednn, openblas, ...) decide\n"
      "the exit code only if --impl names them.\n\n"
      "  assay verify                                   every operator, in two minutes\n"
      "  assay verify --thorough                        every case on every kernel\n"
      "  assay verify prelu 'softmax*' --dtype f32      two operators, one dtype\n"
      "  assay verify mm --plugin ./libmine.so --impl 'plugin:*'   your own kernel\n"
      "  assay verify mm --plugin ./libmine.so --impl 'plugin:*' --coverage   and what of its code nothing has run\n"
      "  assay verify --case prelu:f32:self=2x6x5x7,weight=6:seed=1\n"
      "  assay verify --cases-from ci/cpu_cases.txt 'softmax*'   those of a list that are of these operators\n"
      "  assay verify 'softmax*' --impl cuda.emulated --check   CUDA kernels without a GPU, under a checker\n"
      "  assay verify mm --impl torch --contract strict  another library by the strictest contract, not by what it is known to do\n"
      "  assay verify --fixtures cases/fixtures         recorded cases; what was recorded is judged too\n\n"
      "--contract: case files and run.json keep it, and `assay replay` judges by it again; with --fixtures, recorded results are\n"
      "judged by it, too. `strict` takes back all that kernels declare of their numbers and bits; how they are to be called (alignment,\n"
      "in_place) stays.\n\n"
      "--coverage: build the plugin with\n"
      "  clang -g -fsanitize-coverage=trace-pc-guard,pc-table,trace-cmp ...   or\n"
      "  gcc -g -fsanitize-coverage=trace-pc,trace-cmp ...                    as well as with its other flags, -fPIC -shared.\n"
      "Each row then says how many blocks of its functions ran in cases that were judged, and which lines did not. Sizes, strides and\n"
      "attributes are set to what the kernel compares them with, so that branches for certain sizes are tried. Needs llvm-symbolizer\n"
      "or addr2line for lines; without, places are offsets.\n\n"
      "--sanitize thread: build the plugin with gcc or clang -g -fsanitize=thread, as well as with its other flags. GCC's libtsan is loaded\n"
      "into its processes, also by `assay replay`, and without the flag; a report ends the call, which is then a memory fault that names\n"
      "both places. Plugins that are linked with libgomp (-fopenmp of GCC) are turned down: the sanitizer does not see its barriers.\n\n"
      "Exit codes: 0 all well; 1 a fault was found; 2 wrong usage, unreadable input, or output that cannot be written;\n"
      "3 the environment lacks what was asked for, something could not be run (also a kernel that --impl names, not by a glob),\n"
      "or nothing ran; 130 interrupted.\n"
      "A run that --time cuts short exits by what it did. A fifth of it, one minute at most, is for failures if there are any. Without\n"
      "--time a row's failures get 10 s for the search for a cause and 20 s for each smaller case, and all rows together five minutes;\n"
      "a failure for which that did not suffice says so.\n"
      "Ctrl-C, SIGTERM, or SIGHUP (a terminal that closes; not under nohup) ends a run within about two seconds: what it did is reported and written.\n"
      "After SIGKILL, `assay report DIR/run.json` has what was finished; --resume goes on with the same command line. An earlier DIR/run.json is\n"
      "moved to run-2.json. A kernel of which five calls in a row exceed --timeout is given up for the rest of its row.");
  auto flags = std::make_shared<VerifyFlags>();
  VerifyOptions& o = flags->options;
  add_choice(*command, o.patterns, flags->dtypes);
  command
      ->add_option("--impl", o.impls,
                   "shell globs on kernel names (cpu.avx2, 'cpu.*', torch); '!cuda.*': all but these")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("GLOB");
  flags->contract =
      command
          ->add_option(
              "--contract", o.contract,
              "judge every kernel by these fields whatever it declares, or by `strict`, the strictest contract, and fields "
              "after it ('strict chain=partial(16)'); fields that are not named stay as declared; `assay ops --help` explains them")
          ->type_name("TEXT");
  CLI::Option* only = command->add_option("--case", flags->only, "this case only, as printed by any command")
                          ->type_name("TEXT");
  CLI::Option* list =
      command
          ->add_option("--cases-from", flags->list,
                       "the cases of this file, one a line; braces stand for many, as in a shell: "
                       "relu:{f32,f64}:self={1..40}; # begins a comment")
          ->type_name("FILE")
          ->excludes(only);
  CLI::Option* fixtures =
      command
          ->add_option(
              "--fixtures", flags->fixtures,
              "recorded cases with results that others made: a case file (.h5), a folder of "
              "them or of ONNX tests, `onnx` for those of libonnx-testdata, or `opinfo` for PyTorch's samples")
          ->type_name("PATH|NAME")
          ->excludes(only)
          ->excludes(list);
  command
      ->add_option("--plugin", flags->plugins,
                   "a shared library of kernels (assay/kernel.h); may be repeated")
      ->allow_extra_args(false)
      ->type_name("LIB.so");
  command
      ->add_option(
          "--env", flags->variables,
          "an environment variable of the kernels' processes (ATEN_CPU_CAPABILITY=avx2, or OMP_NUM_THREADS=4, which is 1 "
          "whatever the shell says); may be repeated; case files keep it")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command->add_flag(
      "--check", flags->check,
      "run kernels of cuda.emulated with each access to memory looked at: races, bounds, what nobody has "
      "written, alignment; and count sectors and bank conflicts by line");
  const WorkFlags work = add_work(*command, o.cases, o.seed, o.jobs);
  flags->cases = work.cases;
  command->add_flag("--thorough", flags->thorough, "all 250 cases on all kernels, in place of the short run")
      ->excludes(work.cases)
      ->excludes(only)
      ->excludes(list)
      ->excludes(fixtures);
  for (CLI::Option* instead : {fixtures, list}) {
    work.cases->excludes(instead);
    work.seed->excludes(instead);
  }
  command->add_option("--time", flags->time, "stop after this long; says how many cases were not run")
      ->type_name("60s");
  command
      ->add_option("--shrink", o.shrink_budget,
                   "runs to spend on making a failing case smaller; 0: it is recorded as it was found")
      ->check(whole_number())
      ->capture_default_str()
      ->type_name("N");
  command->add_flag(
      "--classes", flags->classes,
      "list which classes of calls were judged in each row, which only refused, and which never called");
  command
      ->add_option(
          "--sanitize", flags->sanitize,
          "thread: the plugins were compiled with -fsanitize=thread, and data races that it reports are their faults")
      ->type_name("thread");
  command->add_flag(
      "--coverage", flags->coverage,
      "of kernels built with -fsanitize-coverage: name the lines and blocks of their code that no judged case ran, and draw up to as "
      "many cases again towards those (below)");
  command->add_flag(
      "--strict-coverage", o.strict_coverage,
      "a row fails that has gaps: fewer judged cases than half of those asked for (100 at most), or a class "
      "of ordinary calls of which every one was refused");
  command
      ->add_option(
          "--may-refuse", o.may_refuse,
          "a shell glob on reasons: calls refused for these are no gaps ('only groups 1'); may be repeated")
      ->allow_extra_args(false)
      ->type_name("GLOB");
  add_resume(*command, flags->resume);
  command->add_option("--shard", flags->shard, "run this part only; `assay merge` joins the parts")
      ->capture_default_str()
      ->type_name("I/N");
  flags->timeout_given = command->add_option(
      "--timeout", flags->timeout,
      "seconds that one call may take, rounded up to milliseconds; 60 with --check, under which calls take long");
  flags->timeout_given->check(positive_number())->capture_default_str()->type_name("S");
  command->add_option("--json", flags->json, "write a run file; - is standard output")->type_name("F");
  command->add_option("--junit", flags->junit, "write JUnit XML; - is standard output")->type_name("F");
  command
      ->add_option("--html", flags->html,
                   "write a page for a browser, as `assay report` does; - is standard output")
      ->type_name("F");
  command
      ->add_option("--out", flags->out,
                   "folder for case files and run.json (default: $ASSAY_OUT or assay-out)")
      ->type_name("DIR");
  command->callback([flags, &chosen] { chosen = [flags] { return verify_command(*flags); }; });
}

}  // namespace assay
