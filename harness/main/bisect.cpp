// assay bisect
#include "../trace/bisect.h"

#include <fmt/format.h>

#include <algorithm>

#include "../trace/engine_nodes.h"
#include "commands.h"
#include "interrupt.h"
#include "kept_run.h"
#include "memory.h"
#include "number_checks.h"
#include "reports/file.h"
#include "shared_flags.h"
#include "terminal.h"

namespace assay {
namespace {

struct BisectFlags {
  std::string trace, dump, map, nodes, contract, json;
  double seconds = 5;
  ResumeFlag resume;
};

// Precondition: some call was compared, or this says why none was.
void require_compared(const Bisection& b, const BisectFlags& flags) {
  const auto compared = [](const BisectedCall& c) {
    return !c.dumped_as.empty() || c.compared || !c.blames.empty();
  };
  if (std::ranges::any_of(b.calls, compared)) return;
  for (const BisectedCall& c : b.calls)
    if (!c.says.empty()) throw UsageError(fmt::format("nothing was compared: {}: {}", c.name, c.says[0]));
  if (!b.unread.empty()) throw UsageError("nothing was compared: " + b.unread[0]);
  throw UsageError(fmt::format(
      "nothing was compared: no tensor of {} has the name of a call of {}, such as \"{}\", nor the shape of its result "
      "alone; --map says which is which",
      flags.dump, flags.trace, b.calls[0].name));
}

int bisect_command(const BisectFlags& flags) {
  keep_freed_memory();
  std::vector<std::string> inputs = files_of_tensors(flags.dump);
  const std::string nodes = flags.nodes.empty() ? nodes_beside(flags.dump) : flags.nodes;
  inputs.insert(inputs.end(), {flags.trace, flags.map, nodes});
  check_files({{"--json", flags.json}}, inputs);
  const CaseFile trace = read_calls(flags.trace);
  const auto dump = open_tensors(flags.dump);
  const auto of_a_call = [](const TensorEntry& e) { return e.name.starts_with("calls/"); };
  if (!dump->entries().empty() && std::ranges::all_of(dump->entries(), of_a_call))
    throw UsageError(fmt::format(
        "{} is a trace itself, whose tensors have no names of calls: `assay diff` compares two traces",
        flags.dump));
  BisectOptions options;
  if (!flags.map.empty()) options.map = diff::read_name_map(flags.map);
  options.nodes = nodes;
  options.contract = contract_of_flag(flags.contract);
  options.diagnosis.patience.pairs =
      std::chrono::milliseconds(static_cast<std::int64_t>(flags.seconds * 1000));
  options.diagnosis.patience.interrupted = &interrupted();
  KeptRun kept("bisect", "bisect", false, default_folder(), flags.resume, inputs);
  options.journal = kept.journal();
  Bisection b;
  {
    ProgressLine line;
    b = bisect(trace, *dump, options, [&](const std::string& doing) {
      line.show(doing);
      kept.snapshot({flags.json});
    });
  }
  b.trace = flags.trace;
  try {
    require_compared(b, flags);
  } catch (const UsageError&) {
    kept.end(true);  // there is nothing to go on with
    throw;
  }
  if (flags.json != "-") fmt::print("{}", to_text(b, Style(use_colour())));
  if (!flags.json.empty()) write_file(flags.json, to_json(b));
  kept.end(true);
  return b.any_finding() || b.any_doubt() || !b.judged().is_most() ? kFaultFound : kAllWell;
}

}  // namespace

void add_bisect(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("bisect", "Where an engine's numbers leave a recorded program's, and why");
  command->footer(
      "TRACE is what `assay record` wrote; DUMP has what another engine gave for the same program: .npz, .h5, safetensors, or a\n"
      "folder of .npy. Its names are those of calls (\"features.0/convolution\"), or of modules that make one call (\"features.0\");\n"
      "\":out1\" after it is another result, \":self\" what the kernel received as that argument, \":packed/weight\" how it was packed\n"
      "(in the argument's own shape), \":executed/weight\" what the kernel read, \":after/self\" what was there when it had returned,\n"
      "\":read/out\" the result as its consumer read it; and those of parameters (\"features.0.weight\"). --map has a line for each name\n"
      "that is another one, with # for a comment at the start of a line or after a space (act/prelu#2 is a name), and \"..\" around a name\n"
      "with spaces. Not everything need be there.\n\n"
      "Each call is computed again on the engine's own inputs and parameters, so that a fault is not blamed on what follows it, and\n"
      "several are found. For each: whether it was given other parameters, they were packed wrongly, something changed in between,\n"
      "or the operator is wrong, and then why, as `assay diagnose` says it. Calls that the dump does not have, as of an engine\n"
      "that fuses, are judged with the next one that it has as one graph of operators, by a bound for all of them; the cause says which\n"
      "of them is wrong, where it can be told. Batch norms may be folded into convolutions. Where there is no such graph, which is said\n"
      "with the reason, calls that the dump does not have are taken for right, within their bounds; what is wrong after one names it as\n"
      "well, as the dump cannot say which of them it is. Without the engine's parameters in the dump, those of\n"
      "the trace are used: what was changed on the way to the engine then shows as a fault of the operator. Results in fewer bits than the call computes in (f16 or\n"
      "bf16 of f32) are taken for rounded ones and judged within that rounding, as is what follows from them.\n\n"
      "  assay bisect trace.h5 engine.npz\n"
      "  assay bisect trace.h5 dumps/ --map names.txt --json -\n\n"
      "A call whose results are inside a bound that is far wider than kernels err, and that are far from what they give, is not decided.\n\n"
      "Exit code 0: no call is at fault; 1: one is, or what is not decided may be the reason for another last result, or less than half of\n"
      "the program was judged; 2: a file cannot be read.");
  auto flags = std::make_shared<BisectFlags>();
  command->add_option("TRACE", flags->trace, "a recorded program (.h5)")->required()->type_name("");
  command->add_option("DUMP", flags->dump, "what the engine gave")->required()->type_name("");
  command
      ->add_option("--map", flags->map,
                   "a text file: a line for each pair, the name in the trace and the name in the dump")
      ->type_name("FILE");
  command
      ->add_option("--nodes", flags->nodes,
                   "a file of the engine's nodes (assay.engine/1), from which names are matched; default: DUMP with\n"
                   ".nodes.json at its end, where there is one")
      ->type_name("FILE");
  command
      ->add_option("--contract", flags->contract,
                   "what the engine's kernels promise about their numbers: fields of a contract, or strict "
                   "(`assay ops --help` explains them)")
      ->type_name("TEXT");
  command
      ->add_option("--time", flags->seconds,
                   "for pairs of causes, of each call that no single one explains; default 5")
      ->type_name("SECONDS")
      ->check(duration_number());
  add_resume(*command, flags->resume);
  command->add_option("--json", flags->json, "write the result; - is standard output")->type_name("F");
  command->callback([flags, &chosen] { chosen = [flags] { return bisect_command(*flags); }; });
}

}  // namespace assay
