// assay replay
//
// --json: {"format": "assay.replay/1", "file", "calls": [{"case", "recorded": {"impl", "verdict", "detail", "judged_by"},
//          "contract", "now": [{"impl", "status", "verdict", "detail", "runs", "shown"}]}]}
//
//   recorded  `verdict` is empty where none was recorded
//             `judged_by`: the --contract of the run that recorded it; absent where there was none
//             `harmed`: {"impl", "case"} of the call that went wrong after it in its process; absent where there was none
//   contract  what overrides the contracts that kernels declare: that of --contract, or else `judged_by`; absent if there is neither
//   now       an entry for each kernel that was asked for. `status`: "ran" or "not_run", of which `detail` says why
//   shown     in how many of the `runs` it had this verdict
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <nlohmann/json.hpp>
#include <span>

#include "../coverage/runtime.h"
#include "../examine/examine.h"
#include "../examine/sequence.h"
#include "../recorded/fixture.h"
#include "../recorded/recorded_call.h"
#include "../registry/parts.h"
#include "../verify/record.h"
#include "../verify/verify.h"
#include "commands.h"
#include "interrupt.h"
#include "reports/file.h"
#include "reports/text.h"
#include "shared_flags.h"
#include "vocabulary/access_counts.h"
#include "vocabulary/operators.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUnstableRuns = 100;

struct ReplayFlags {
  std::string file, json, contract;
  std::vector<std::string> impls;
  std::vector<std::string> plugins;
};

std::string place_of(const ReplayFlags& flags, std::size_t call) {
  return fmt::format("{}, call {}", flags.file, call);
}

// What a kernel does now.
struct Now {
  std::string impl;
  Verdict verdict = Verdict::not_run;
  std::string detail;
  int runs = 0;
  int shown = 0;  // how many of the runs gave this verdict

  bool ran() const { return verdict != Verdict::not_run; }
};

// What fails only sometimes is run until it shows, a hundred times at most, to say how often it does.
Now try_kernel(Examiner& examiner, const Replayable& r, const Kernel& kernel, Verdict recorded) {
  const Kernel* const kernels[] = {&kernel};
  const std::uint64_t choices[] = {r.parsed.seed};
  const int runs = recorded == Verdict::unstable ? kUnstableRuns : 1;
  Now now{kernel.name, Verdict::pass, {}, runs, 0};
  for (int i = 0; i < runs; ++i) {
    std::vector<Call> call{r.call};
    const Finding finding =
        examiner.examine(std::move(call), choices, kernels, {.further = Further::all}, {&r.parsed, 1})[0]
            .findings[0];
    if (finding.stopped) throw Stopped();
    const Judgement& j = finding.judgement;
    if (i == 0 || j.verdict > now.verdict) {
      now.verdict = j.verdict;
      now.detail = j.detail;
      now.shown = 0;
    }
    now.shown += j.verdict == now.verdict ? 1 : 0;
  }
  if (!now.ran()) now.runs = now.shown = 0;
  return now;
}

// The kernels to run a recorded call on: those of --impl, or the recorded one.
std::vector<const Kernel*> kernels_for(const Registry& registry, const RecordedCall& call,
                                       const ReplayFlags& flags) {
  std::vector<const Kernel*> found;
  for (const Kernel& k : registry.kernels())
    if (k.op->schema.name == call.op &&
        (flags.impls.empty() ? k.name == call.impl : selects(flags.impls, k.name)))
      found.push_back(&k);
  return found;
}

// Why there are none.
Now without_kernel(const Registry& registry, const RecordedCall& call, const ReplayFlags& flags) {
  Now now;
  now.impl = flags.impls.empty() ? call.impl : fmt::format("--impl {}", fmt::join(flags.impls, ","));
  now.detail = fmt::format("this Assay has no such kernel for {}", call.op);
  const std::vector<const Part*> unbuilt = unbuilt_parts(registry.program(), call.impl);
  if (flags.impls.empty() && !unbuilt.empty()) now.detail = how_to_build(*unbuilt.front());
  if (call.plugin.empty() || !call.impl.starts_with(kPluginPrefix)) return now;
  if (!flags.impls.empty() && !selects(flags.impls, call.impl)) return now;
  if (!flags.plugins.empty())
    now.detail =
        fmt::format("--plugin has no such kernel for {}; it was recorded with {}", call.op, call.plugin);
  else if (flags.impls.empty())
    now.detail = fmt::format(
        "it is of the library {}, and what a case file names is loaded only if you name it too: assay replay {} --plugin {}",
        call.plugin, shell_word(flags.file), shell_word(call.plugin));
  else
    now.detail += fmt::format("; name its library: --plugin {}", shell_word(call.plugin));
  return now;
}

// A glob of --impl that means no kernel of any call's operator, nor a recorded one, is a mistake. Throws SelectionError.
void check_asked(const Registry& registry, const CaseFile& file, const ReplayFlags& flags) {
  std::vector<std::string> unrecorded;
  for (const std::string& glob : flags.impls)
    if (const std::string what = glob.substr(glob.starts_with('!') ? 1 : 0);
        std::ranges::none_of(file.calls, [&](const RecordedCall& c) { return names({what}, c.impl); }))
      unrecorded.push_back(glob);
  std::vector<const Operator*> known;
  for (const RecordedCall& c : file.calls)
    if (const Operator* op = find_operator(c.op)) known.push_back(op);
  if (!known.empty()) check_impls(registry, known, unrecorded);
}

// Variables that decide what code a process loads, or what it does with its memory, or that make libraries write files: no file may
// set them for ours.
bool is_for_the_user(std::string_view variable) {
  constexpr std::string_view kBeginnings[] = {
      "LD_",      "GLIBC_", "MALLOC_", "PYTHON",     "ASSAY_",   "GCONV_PATH", "LOCPATH",     "CUDA_",
      "OMP_TOOL", "INTEL_", "TSAN_",   "ONEDNN_JIT", "DNNL_JIT", "CUDNN_LOG",  "CUBLASLT_LOG"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view b) { return variable.starts_with(b); });
}

// What the recorded kernel ran under.
std::vector<std::string> variables_of(const RecordedCall& call, const std::string& where,
                                      const ReplayFlags& flags) {
  std::vector<std::string> all, refused;
  for (const std::string& v : call.variables) {
    const std::size_t equals = v.find('=');
    if (equals == std::string::npos || equals == 0)
      throw FileError(fmt::format("{}: attribute variables has \"{}\", which is not NAME=VALUE", where, v));
    const std::string variable = v.substr(0, equals);
    // What the run that recorded it had of its own, by `assay verify --check` or `--coverage`.
    if (variable == kAccessCountsVariable || variable == kCheckVariable || variable == kCoverageVariable)
      continue;
    const char* const inherited = std::getenv(variable.c_str());
    if (is_for_the_user(variable) && (inherited == nullptr || v.substr(equals + 1) != inherited))
      refused.push_back(v);
    else
      all.push_back(v);
  }
  if (refused.empty()) return all;
  std::string command = "env";
  for (const std::string& v : refused) command += " " + shell_word(v);
  command += " assay replay " + shell_word(flags.file);
  for (const std::string& plugin : flags.plugins) command += " --plugin " + shell_word(plugin);
  if (!flags.impls.empty())
    command += fmt::format(" --impl {}", shell_word(fmt::format("{}", fmt::join(flags.impls, ","))));
  throw UsageError(fmt::format(
      "{}: attribute variables has {}, and what decides which code runs, or what a process does with its memory and files, is not "
      "taken from a file; if you know what it is, set it yourself: {}",
      where, fmt::join(refused, " "), command));
}

// What the attributes of a call say of how it is to be run.
struct Terms {
  Verdict verdict = Verdict::pass;
  std::vector<std::string> variables;  // of the recorded kernel, if that is to run
  std::vector<std::string> of_victim;  // of the one that it did harm to
  std::string contract;                // that overrides what kernels declare, or empty
};

// What judged the call beside what its kernel declares: --contract, now or when it was recorded.
std::string contract_of(const RecordedCall& call, const std::string& where, const ReplayFlags& flags) {
  if (!flags.contract.empty()) return flags.contract;
  const auto note = call.notes.find(kJudgedBy);
  if (note == call.notes.end()) return {};
  try {
    parse_contract(overridden("", note->second), Dtype::f32);
  } catch (const std::invalid_argument& e) {
    throw FileError(fmt::format("{}: attribute {}: {}", where, kJudgedBy, e.what()));
  }
  return note->second;
}

Terms terms_of(const RecordedCall& call, const std::string& where, const ReplayFlags& flags) {
  Terms terms;
  terms.verdict = at_place(where, [&] { return recorded_verdict(call); }).value_or(Verdict::pass);
  if (flags.impls.empty() || selects(flags.impls, call.impl))
    terms.variables = variables_of(call, where, flags);
  if (!call.after.empty()) terms.of_victim = variables_of(call.after.front(), where, flags);
  terms.contract = contract_of(call, where, flags);
  return terms;
}

class Replayer {
 public:
  Replayer(const Registry& registry, const ReplayFlags& flags) : registry_(registry), flags_(flags) {}

  // Calls `done` for each kernel.
  template <class Done>
  void replay(const RecordedCall& call, const Terms& terms, const std::string& where, const Done& done) {
    if (flags_.impls.empty() && call.impl.starts_with(kFixturePrefix)) {
      Fixture fixture = fixture_of(call, where);
      fixture.contract = overridden(fixture.contract, terms.contract);
      const Judgement j = judge_fixture(fixture);
      return done(Now{call.impl, j.verdict, j.detail, 1, 1});
    }
    const Replayable replay = at_place(where, [&] { return replayable(call); });
    const std::vector<const Kernel*> kernels = kernels_for(registry_, call, flags_);
    if (kernels.empty()) done(without_kernel(registry_, call, flags_));
    for (const Kernel* k : kernels) {
      if (!k->unavailable.empty()) {
        done(Now{k->name, Verdict::not_run, k->unavailable});
        continue;
      }
      // The recorded kernel gets what it ran under.
      Kernel& kernel = prepared_.emplace_back(*k);
      kernel.contract = overridden(kernel.contract, terms.contract);
      if (k->name == call.impl)
        for (const std::string& v : terms.variables) set_variable(kernel.environment, v, false);
      std::optional<Now> harm;
      if (!call.after.empty()) harm = try_sequence(call, terms, where, kernel);
      done(harm ? *harm
                : try_kernel(examiner_, replay, kernel, call.after.empty() ? terms.verdict : Verdict::pass));
    }
  }

 private:
  // What was recorded of another kernel that went wrong after this one. Nothing if it does no more.
  std::optional<Now> try_sequence(const RecordedCall& call, const Terms& terms, const std::string& where,
                                  const Kernel& kernel) {
    const RecordedCall& last = call.after.front();
    const auto found = std::ranges::find_if(registry_.kernels(), [&](const Kernel& k) {
      return k.op->schema.name == last.op && k.name == last.impl;
    });
    ReplayFlags file_alone;
    file_alone.file = flags_.file;
    const std::string lacks = found == registry_.kernels().end()
                                  ? without_kernel(registry_, last, file_alone).detail
                                  : found->unavailable;
    if (!lacks.empty())
      return Now{kernel.name, Verdict::not_run,
                 fmt::format("{}, whose call went wrong after it: {}", last.impl, lacks)};
    Kernel& victim = prepared_.emplace_back(*found);
    victim.contract = overridden(victim.contract, terms.contract);
    for (const std::string& v : terms.of_victim) set_variable(victim.environment, v, false);
    // Another kernel of its library, in whose place it was recorded, runs in the same process.
    if (kernel.name != call.impl && kernel.environment.program == victim.environment.program &&
        kernel.environment.arguments == victim.environment.arguments)
      victim.environment = kernel.environment;
    const Sequence sequence = at_place(where, [&] { return recorded_sequence(call, kernel, victim); });
    const Consequence c = examiner_.consequence_of(sequence);
    if (c.alone.stopped || c.after.stopped) throw Stopped();
    if (c.alone.judgement.verdict == Verdict::not_run)
      return Now{kernel.name, Verdict::not_run, fmt::format("{}: {}", victim.name, c.alone.judgement.detail)};
    if (!is_fault(c.after.judgement.verdict)) return std::nullopt;
    return Now{kernel.name, Verdict::unstable, harm_text(victim.name, text(sequence.of), c.after.judgement),
               1, 1};
  }

  const Registry& registry_;
  const ReplayFlags& flags_;
  Examiner examiner_{make_zygotes(), until_interrupted()};
  std::deque<Kernel> prepared_;  // the examiner knows kernels by their addresses
};

void print(std::string_view when, const std::string& impl, std::string_view says, const std::string& detail,
           const std::string& how_often = "") {
  fmt::print("  {:<9} {:<20} {}{}{}{}\n", when, printable(impl), printable(says),
             says.empty() || detail.empty() ? "" : ": ", printable_lines(detail), how_often);
}

void print(const Now& now) {
  if (now.ran())
    print("now", now.impl, token(now.verdict), now.detail,
          now.runs > 1 ? fmt::format(" ({}/{} runs)", now.shown, now.runs) : "");
  else
    print("not run", now.impl, "", now.detail);
}

Json json_of(const Now& now) {
  return {{"impl", now.impl},
          {"status", now.ran() ? "ran" : "not_run"},
          {"verdict", token(now.verdict)},
          {"detail", now.detail},
          {"runs", now.runs},
          {"shown", now.shown}};
}

// Each once.
std::vector<const Operator*> operators_of(const CaseFile& file) {
  std::vector<const Operator*> found;
  for (const RecordedCall& c : file.calls)
    if (const Operator* op = find_operator(c.op);
        op != nullptr && std::ranges::find(found, op) == found.end())
      found.push_back(op);
  return found;
}

int replay_command(const ReplayFlags& flags) {
  check_files({{"--json", flags.json}}, {flags.file});
  contract_of_flag(flags.contract);
  const CaseFile file = read_calls(flags.file);
  std::vector<Terms> terms;
  bool with_torch = false;
  for (std::size_t n = 0; n < file.calls.size(); ++n) {
    terms.push_back(terms_of(file.calls[n], place_of(flags, n), flags));
    with_torch |= selects_torch(flags.impls.empty() ? std::vector{file.calls[n].impl} : flags.impls);
    for (const RecordedCall& after : file.calls[n].after) with_torch |= selects_torch({after.impl});
  }
  const auto registry = load_registry(flags.plugins, with_torch, [&] { return operators_of(file); });
  check_asked(*registry, file, flags);
  Replayer replayer(*registry, flags);
  const bool text_out = flags.json != "-";
  Json calls = Json::array();
  int faults = 0;
  int ran = 0;
  for (std::size_t n = 0; n < file.calls.size(); ++n) {
    const RecordedCall& call = file.calls[n];
    if (text_out) {
      fmt::print("{}\n", printable(call.case_text));
      print("recorded", call.impl, call.verdict.empty() ? "-" : call.verdict, call.detail);
      for (const RecordedCall& after : call.after) print("then", after.impl, after.case_text, "");
      if (!terms[n].contract.empty())
        fmt::print("  judged by --contract \"{}\", which overrides what kernels declare\n",
                   printable(terms[n].contract));
    }
    Json all = Json::array();
    replayer.replay(call, terms[n], place_of(flags, n), [&](const Now& now) {
      ran += now.ran() ? 1 : 0;
      faults += is_fault(now.verdict) ? 1 : 0;
      all.push_back(json_of(now));
      if (text_out) print(now);
    });
    Json recorded{{"impl", call.impl}, {"verdict", call.verdict}, {"detail", call.detail}};
    if (const auto note = call.notes.find(kJudgedBy); note != call.notes.end())
      recorded["judged_by"] = note->second;
    for (const RecordedCall& after : call.after)
      recorded["harmed"] = {{"impl", after.impl}, {"case", after.case_text}};
    Json answer{{"case", call.case_text}, {"recorded", std::move(recorded)}, {"now", std::move(all)}};
    if (!terms[n].contract.empty()) answer["contract"] = terms[n].contract;
    calls.push_back(std::move(answer));
  }
  if (!flags.json.empty()) {
    const Json document{{"format", "assay.replay/1"}, {"file", flags.file}, {"calls", std::move(calls)}};
    write_file(flags.json, document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  if (ran == 0) return kEnvironment;
  return faults > 0 ? kFaultFound : kAllWell;
}

}  // namespace

void add_replay(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("replay", "Run recorded calls again");
  command->footer(
      "Runs the calls of a case file with the recorded data, bit for bit, on the recorded kernel or on those of\n"
      "--impl. What `assay verify --contract` judged is judged by the same again. A call that was unstable runs a hundred\n"
      "times. Of a kernel that damaged its process, the other kernel's call that went wrong runs after it. A file comes from anywhere: a library that it names is\n"
      "loaded only if --plugin names it, and variables that decide which code runs (LD_PRELOAD) are not set.\n"
      "Exit code 1: a fault shows again; 0: none does; 2: the file or an argument is wrong; 3: no kernel could be run here;\n"
      "130: interrupted, and what --json asks for is not written.");
  auto flags = std::make_shared<ReplayFlags>();
  command->add_option("FILE", flags->file, "a case file (.h5)")->required()->type_name("");
  command->add_option("--impl", flags->impls, "shell globs on kernel names instead of the recorded kernel")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("GLOB");
  command
      ->add_option(
          "--plugin,--python,--source", flags->plugins,
          "a shared library of kernels, its source text, or a function of Python: that of the recorded one, or another build of it")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      ->add_option(
          "--contract", flags->contract,
          "judge by these fields, or strict, whatever kernels declare; in place of those of the recorded run")
      ->type_name("TEXT");
  command->add_option("--json", flags->json, "write the result; - is standard output")->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return replay_command(*flags); }; });
}

}  // namespace assay
