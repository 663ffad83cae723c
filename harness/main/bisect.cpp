// assay bisect
#include "../trace/bisect.h"

#include <fmt/format.h>

#include <algorithm>

#include "../trace/engine_nodes.h"
#include "bisect_made.h"
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
  std::string trace, dump, nodes, map, contract, json;
  MadeFlags made;
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

int compare(const BisectFlags& flags) {
  keep_freed_memory();
  std::vector<std::string> inputs = files_of_tensors(flags.dump);
  const std::string nodes = flags.nodes.empty() ? nodes_beside(flags.dump) : flags.nodes;
  inputs.insert(inputs.end(), {flags.trace, flags.map, nodes});
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

// CLI11 gives DUMP the first word after "--" where it is left out.
void separate_arguments(BisectFlags& flags) {
  const std::vector<std::string>& words = command_line();
  const auto dashes = std::ranges::find(words, "--");
  const auto after = static_cast<std::size_t>(words.end() - dashes) - (dashes == words.end() ? 0 : 1);
  std::vector<std::string>& arguments = flags.made.arguments;
  if (arguments.size() < after && !flags.dump.empty()) {
    arguments.insert(arguments.begin(), flags.dump);
    flags.dump.clear();
  }
  if (arguments.size() > after)
    throw UsageError(fmt::format("assay bisect takes no argument \"{}\" here; arguments of a program come after --", arguments[0]));
  if (!arguments.empty() && !is_program(flags.trace))
    throw UsageError(fmt::format("-- {}: arguments are for a program, and {} is none", arguments[0], flags.trace));
}

void add_made(CLI::App& command, MadeFlags& made) {
  command.add_option("--engine", made.engine, "what runs the model: onnxruntime, openvino, ncnn, or FILE.py:FUNCTION")->type_name("NAME");
  command.add_option("--option", made.options, "of the engine: optimization=disabled, providers=.., precision=f32, threads=1")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command
      .add_option("--input", made.inputs, "an input of the engine's model, instead of what the program gave; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=F.npy");
  command.add_option("--call", made.call, "which call of the program's outermost modules is compared; default 1")
      ->check(number_within(1, 1'000'000'000))
      ->type_name("N");
  command.add_option("--limit", made.limit, "of a program's trace: bytes of tensors, 2 GiB by default")
      ->check(whole_number())
      ->type_name("BYTES");
}

void check_places(const BisectFlags& flags) {
  if (flags.dump.empty() && flags.made.engine.empty())
    throw UsageError("DUMP is missing: what another engine gave, or its model's file; or --engine of what runs it");
  if (!is_program(flags.dump)) return;
  if (!is_program(flags.trace))
    throw UsageError(fmt::format("{0} is a program, which stands first: assay bisect {0} {1}", flags.dump, flags.trace));
  throw UsageError(fmt::format("{0}: which function of it is the engine? Name it: {0}:run", flags.dump));
}

int bisect_command(BisectFlags flags) {
  separate_arguments(flags);
  check_places(flags);
  std::vector<std::string> inputs = flags.dump.empty() ? std::vector<std::string>{} : files_of_tensors(flags.dump);
  inputs.insert(inputs.end(), {flags.trace, flags.map, flags.nodes});
  check_files({{"--json", flags.json}}, inputs);
  const MadeFiles made(flags.trace, flags.dump, flags.made);
  if (made.files().ended) return *made.files().ended;
  flags.trace = made.files().trace;
  flags.dump = made.files().dump;
  if (!made.files().nodes.empty()) flags.nodes = made.files().nodes;
  return compare(flags);
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
      "A program as TRACE is recorded first: what one call of its outermost torch.nn.Module does (--call). A model's file as DUMP is run by\n"
      "its engine, on what that call was given: .onnx by ONNX Runtime, .xml by OpenVINO, .param by ncnn, or by --engine; so is a function of\n"
      "Python (my_engine.py:run), which takes and returns arrays by name. Without DUMP, --engine gets the module exported. The interpreter\n"
      "is that of `assay record`, ASSAY_TORCH_PYTHON, and ASSAY_ENGINE_PYTHON for the engine, if that has one of its own. Trace, dump and what\n"
      "is known of its tensors are kept in the folder of results, in bisect-NAME.\n\n"
      "  assay bisect model.py model.onnx\n"
      "  assay bisect model.py model.onnx --engine openvino --option precision=f32 -- --batch 2\n"
      "  assay bisect model.py my_engine.py:run\n"
      "  assay bisect trace.h5 engine.npz\n"
      "  assay bisect trace.h5 dumps/ --map names.txt --json -\n\n"
      "A call whose results are inside a bound that is far wider than kernels err, and that are far from what they give, is not decided.\n\n"
      "Exit code 0: no call is at fault; 1: one is, or what is not decided may be the reason for another last result, or less than half of\n"
      "the program was judged; 2: a file cannot be read, the program or the engine failed, or inputs do not fit; 3: PyTorch or the engine is\n"
      "not installed; 130: it was interrupted.");
  auto flags = std::make_shared<BisectFlags>();
  command->add_option("TRACE", flags->trace, "a recorded program (.h5), or a program (.py)")->required()->type_name("");
  command->add_option("DUMP", flags->dump, "what the engine gave, or the engine's model")->type_name("");
  command->add_option("ARGS", flags->made.arguments, "of the program; after --")->type_name("");
  add_made(*command, flags->made);
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
