// assay record
#include "../trace/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "commands.h"
#include "interrupt.h"
#include "kept_run.h"
#include "number_checks.h"
#include "record_said.h"
#include "reports/text.h"
#include "shared_flags.h"
#include "terminal.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

struct RecordFlags {
  RecordOptions options;
  CLI::Option* trace = nullptr;
  ResumeFlag resume;
};

constexpr std::string_view kNotOfOps = "not of --ops";  // as harness/python/record.py says it

}  // namespace

std::string no_such_call(const RecordSummary& s, const RecordOptions& options) {
  if (s.outermost.empty())
    return fmt::format("{} calls no torch.nn.Module, of which one call is to be recorded.", options.script);
  std::string listed;
  for (const std::string& call : s.outermost) listed += fmt::format("{}{}", listed.empty() ? "" : ", ", call);
  return fmt::format("--call {}: {} calls outermost modules {}: {}.", options.call, options.script,
                     s.outermost.size() == 1 ? "once" : fmt::format("{} times", s.outermost.size()), listed);
}

namespace {

std::string why_none(const RecordSummary& s, const RecordOptions& options) {
  constexpr std::string_view kOf = "Nothing was recorded: ";
  if (s.passed.contains(std::string(kNotOfOps)) && s.no_operator.empty())
    return fmt::format("{}no call is of the operators of --ops ({}).", kOf,
                       fmt::join(options.operators, ","));
  if (options.call > 0 && s.outermost.size() < options.call) return fmt::format("{}{}", kOf, no_such_call(s, options));
  if (!s.passed.empty()) return fmt::format("{}of each call it is said here why not.", kOf);
  return fmt::format(
      "{}the program called no operator that Assay has, or did so in other processes than its first, or in compiled "
      "code, which PyTorch does not dispatch.",
      kOf);
}

}  // namespace

void say_recorded(const RecordSummary& s, const RecordOptions& options) {
  fmt::print(stderr, "{}: {}\n", printable(options.trace), counted(s.recorded, "call"));
  if (s.recorded == 0 && s.exit == 0) fmt::print(stderr, "{}", paragraph(why_none(s, options), "  ", "  "));
  for (const auto& [reason, count] : s.passed)
    fmt::print(stderr, "{}",
               paragraph(fmt::format("{} not recorded: {}.", grouped(count), reason), "  ", "  "));
  std::string unknown;
  for (const auto& [name, count] : s.unknown)
    unknown += fmt::format("{}{}{}", unknown.empty() ? "" : ", ", name,
                           count > 1 ? fmt::format(" ({})", count) : "");
  fmt::print(stderr, "{}",
             unknown.empty() ? "" : paragraph("Assay has no reference for " + unknown + ".", "  ", "  "));
}

namespace {

int record_command(RecordFlags& flags) {
  RecordOptions& options = flags.options;
  options.keeps_earlier = flags.trace->count() == 0;
  if (!is_of_caller(options.script) && !std::filesystem::is_regular_file(options.script))
    throw UsageError(fmt::format("{} is no file: name a Python program", options.script));
  if (options.trace == "-")
    throw UsageError(
        "-o -: a trace cannot be written to standard output; name a file (./- for one of that name)");
  check_file("-o", options.trace);
  if (std::filesystem::exists(options.trace) && !std::filesystem::is_regular_file(options.trace))
    throw UsageError(
        fmt::format("-o {}: is there and no file, so that no trace can take its place", options.trace));
  std::error_code different;
  if (std::filesystem::equivalent(options.script, options.trace, different))
    throw UsageError(
        fmt::format("-o {}: is the program itself, which the trace would take the place of", options.trace));
  catch_interrupts();
  const auto registry = load_registry({}, true);
  if (interrupted()) return kInterrupted;
  KeptRun kept("record", "record", false, default_folder(), flags.resume, {options.script});
  if (kept.journal() != nullptr) kept.journal()->begin({{"format", "assay.record/1"}, {"trace", options.trace}});
  if (flags.resume.given())
    complain(fmt::format("a program cannot be gone on with in its middle: {} runs from its beginning again", options.script));
  RecordSummary s;
  try {
    s = record(*registry, options);
  } catch (const CannotRecord& e) {
    kept.end(true);
    complain(e.what());
    return kEnvironment;
  }
  kept.end(true);  // whatever came of it is said here
  if (!s.kept) {
    complain(fmt::format("{} ended with {}{} and took the trace with it: none was written{}", options.script,
                         s.exit, s.exit > 128 ? fmt::format(" (signal {})", s.exit - 128) : "",
                         s.copy.empty() ? "" : fmt::format("; what it had recorded until shortly before is in {}", s.copy)));
    return s.exit == kInterrupted || s.signalled ? kInterrupted : kWrongUsage;
  }
  if (!s.lost.empty()) {
    complain(fmt::format("cannot write {}: {}", options.trace, s.lost));
    return s.exit == kInterrupted ? kInterrupted : kWrongUsage;
  }
  say_recorded(s, options);
  for (const std::string& name : s.no_operator)
    complain(fmt::format("--ops {}: {}", name, no_operator(name)));
  if (s.exit != 0) {
    complain(fmt::format("{} {}; the trace has what it did before", options.script,
                         s.exit == kInterrupted ? "was interrupted" : fmt::format("ended with {}", s.exit)));
    return s.exit == kInterrupted ? kInterrupted : kWrongUsage;
  }
  return s.no_operator.empty() ? kAllWell : kWrongUsage;
}

}  // namespace

void add_record(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("record", "Run a PyTorch program and record every operator call");
  command->footer(
      "The program runs as it is, on the CPU; each call that PyTorch dispatches is written down with its inputs as they were\n"
      "before, its results, the module and the line that it came from, and where its inputs came from. The trace is a case file:\n\n"
      "  assay record model.py -o trace.h5\n"
      "  assay record train.py --limit 500000000 --ops 'conv*,prelu*' -- --epochs 1\n"
      "  assay diagnose trace.h5                   whether PyTorch's own results are right, call by call\n"
      "  assay diff trace.h5 engine.h5             against what another engine gave\n\n"
      "Views are no calls; calls outside of modules are recorded if Assay has the operator, or if they compute with a recorded\n"
      "result or write to one. It needs PyTorch and h5py (python3-torch, python3-h5py). Exit code 0: also of a program that\n"
      "called nothing, which is said; 2: a name of --ops is no operator's, the program failed (the trace is kept, unless a signal ended the process), or the trace\n"
      "could not be written; 3: PyTorch or h5py is missing; 130: it was interrupted, by Ctrl-C, SIGTERM or SIGHUP, to\n"
      "`assay record` or to the program alone (the trace is kept, if the program had begun and has not given the signal back to the\n"
      "system).");
  auto flags = std::make_shared<RecordFlags>();
  RecordOptions* const options = &flags->options;
  options->trace = "trace.h5";
  command->add_option("SCRIPT", options->script, "a Python program")->required()->type_name("");
  command->add_option("ARGS", options->arguments, "its arguments; after --")->type_name("");
  flags->trace = command
                     ->add_option("-o,--output", options->trace,
                                  "the trace to write; default trace.h5, for which an earlier one is moved to trace-2.h5")
                     ->type_name("FILE");
  command
      ->add_option(
          "--ops", options->operators,
          "only calls of these operators: shell globs on PyTorch's names or Assay's (add, aten::add.Tensor, 'conv*')")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("GLOB");
  command
      ->add_option("--limit", options->limit,
                   "bytes of tensors, 2 GiB by default; what comes after is counted")
      ->check(whole_number())
      ->type_name("BYTES");
  command
      ->add_option("--call", options->call,
                   "only what the N-th call of an outermost module does, and what that was given, for `assay bisect` with an "
                   "engine's model; 1 is the first")
      ->check(number_within(1, 1'000'000'000))
      ->type_name("N");
  add_resume(*command, flags->resume);
  command->callback([flags, &chosen] { chosen = [flags] { return record_command(*flags); }; });
}

}  // namespace assay
