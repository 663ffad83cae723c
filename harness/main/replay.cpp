// assay replay
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "../fixtures/fixture.h"
#include "../verify/examine.h"
#include "../verify/recorded.h"
#include "../verify/verify.h"
#include "commands.h"
#include "shared_flags.h"
#include "terminal.h"

namespace assay {
namespace {

constexpr int kUnstableRuns = 100;

struct ReplayFlags {
  std::string file;
  std::vector<std::string> impls;
  std::vector<std::string> plugins;
};

struct Tried {
  Verdict verdict;
  std::string detail;
  int runs = 1;
  int shown = 0;  // how many of the runs gave this verdict
};

// What fails only sometimes is run until it shows, a hundred times at most, to say how often it does.
Tried try_kernel(Examiner& examiner, const Replayable& r, const Kernel& kernel, Verdict recorded) {
  const Kernel* const kernels[] = {&kernel};
  const std::uint64_t choices[] = {r.parsed.seed};
  const int runs = recorded == Verdict::unstable ? kUnstableRuns : 1;
  Tried tried{Verdict::pass, {}, runs, 0};
  for (int i = 0; i < runs; ++i) {
    std::vector<Call> call{r.call};
    const Judgement j = examiner.examine(std::move(call), choices, kernels)[0].findings[0].judgement;
    if (i == 0 || j.verdict > tried.verdict) {
      tried.verdict = j.verdict;
      tried.detail = j.detail;
      tried.shown = 0;
    }
    tried.shown += j.verdict == tried.verdict ? 1 : 0;
  }
  return tried;
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

int replay_command(const ReplayFlags& flags) {
  const CaseFile file = read_calls(flags.file);
  std::set<std::string> plugins(flags.plugins.begin(), flags.plugins.end());
  bool with_torch = false;
  for (const RecordedCall& call : file.calls) {
    if (flags.plugins.empty() && flags.impls.empty() && !call.plugin.empty()) plugins.insert(call.plugin);
    with_torch |= selects_torch(flags.impls.empty() ? std::vector{call.impl} : flags.impls);
  }
  const auto registry = load_registry({plugins.begin(), plugins.end()}, with_torch);
  Examiner examiner(make_zygotes(), {});
  std::deque<Kernel> prepared;  // the examiner knows kernels by their addresses
  int faults = 0;
  int ran = 0;
  for (std::size_t n = 0; n < file.calls.size(); ++n) {
    const RecordedCall& call = file.calls[n];
    const Replayable replay = replayable(call);
    fmt::print("{}\n", call.case_text);
    fmt::print("  recorded  {:<20} {}{}{}\n", call.impl, call.verdict.empty() ? "-" : call.verdict,
               call.detail.empty() ? "" : ": ", call.detail);
    if (flags.impls.empty() && call.impl.starts_with(kFixturePrefix)) {
      const Judgement j = judge_fixture(fixture_of(call, fmt::format("{}, call {}", flags.file, n)));
      ++ran;
      faults += is_fault(j.verdict) ? 1 : 0;
      fmt::print("  now       {:<20} {}{}{}\n", call.impl, token(j.verdict), j.detail.empty() ? "" : ": ",
                 j.detail);
      continue;
    }
    const std::vector<const Kernel*> kernels = kernels_for(*registry, call, flags);
    if (kernels.empty())
      fmt::print("  not run   {}: this Assay has no such kernel for {}{}\n",
                 flags.impls.empty() ? call.impl : "--impl", call.op,
                 call.plugin.empty() ? "" : fmt::format("; name its library: --plugin {}", call.plugin));
    for (const Kernel* k : kernels) {
      if (!k->unavailable.empty()) {
        fmt::print("  not run   {:<20} {}\n", k->name, k->unavailable);
        continue;
      }
      // The recorded kernel gets what it ran under.
      Kernel& kernel = prepared.emplace_back(*k);
      if (k->name == call.impl)
        for (const std::string& v : call.variables) set_variable(kernel.environment, v, false);
      const Verdict recorded = call.verdict.empty() ? Verdict::pass : verdict_of(call.verdict);
      const Tried t = try_kernel(examiner, replay, kernel, recorded);
      if (t.verdict == Verdict::not_run) {
        fmt::print("  not run   {:<20} {}\n", k->name, t.detail);
        continue;
      }
      ++ran;
      faults += is_fault(t.verdict) ? 1 : 0;
      fmt::print("  now       {:<20} {}{}{}{}\n", k->name, token(t.verdict), t.detail.empty() ? "" : ": ",
                 t.detail, t.runs > 1 ? fmt::format(" ({}/{} runs)", t.shown, t.runs) : "");
    }
  }
  if (ran == 0) return kEnvironment;
  return faults > 0 ? kFaultFound : kAllWell;
}

}  // namespace

void add_replay(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("replay", "Run recorded calls again");
  command->footer(
      "Runs the calls of a case file with the recorded data, bit for bit, on the recorded kernel or on those of\n"
      "--impl. A call that was unstable runs a hundred times. Exit code 1: a fault shows again; 0: none does;\n"
      "3: no kernel could be run here.");
  auto flags = std::make_shared<ReplayFlags>();
  command->add_option("FILE", flags->file, "a case file (.h5)")->required()->type_name("");
  command->add_option("--impl", flags->impls, "shell globs on kernel names instead of the recorded kernel")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("GLOB");
  command->add_option("--plugin", flags->plugins, "a shared library of kernels, instead of the recorded one")
      ->allow_extra_args(false)
      ->type_name("LIB.so");
  command->callback([flags, &chosen] { chosen = [flags] { return replay_command(*flags); }; });
}

}  // namespace assay
