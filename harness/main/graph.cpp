// assay graph
#include "../graph/torch_graph.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "commands.h"
#include "reports/file.h"
#include "reports/text.h"
#include "shared_flags.h"
#include "terminal.h"

namespace assay {
namespace {

struct GraphFlags {
  std::string program, name, output = "-";
  std::vector<std::string> inputs;
};

// "model.py:Block" is Block of model.py, unless there is a file of that name.
TorchProgram program_of(const GraphFlags& flags) {
  TorchProgram program{.file = flags.program, .name = flags.name, .inputs = flags.inputs};
  const std::size_t colon = flags.program.rfind(':');
  if (colon != std::string::npos && !std::filesystem::exists(flags.program)) {
    program.file = flags.program.substr(0, colon);
    program.member = flags.program.substr(colon + 1);
  }
  const bool of_caller = std::getenv("ASSAY_PYTHON_SOCKET") != nullptr;
  if (!of_caller && !std::filesystem::is_regular_file(program.file))
    throw UsageError(fmt::format("{} is no file: name a Python file, and perhaps what of it, model.py:Block",
                                 program.file));
  return program;
}

bool is_word(const std::string& text) {
  return text.empty() ||
         (text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
              std::string::npos &&
          (text[0] < '0' || text[0] > '9'));
}

int graph_command(const GraphFlags& flags) {
  const TorchProgram program = program_of(flags);
  if (!is_word(flags.name))
    throw UsageError(fmt::format("--name {}: a name has letters, digits and \"_\"", flags.name));
  check_file("-o", flags.output);
  if (same_place(program.file, flags.output))
    throw UsageError(
        fmt::format("-o {}: is the program itself, which the graph would take the place of", flags.output));
  try {
    const TorchGraph graph = graph_of_torch(program);
    fmt::print(stderr, "{}", printable_lines(graph.printed));
    for (const std::string& note : graph.notes) complain(note);
    write_file(flags.output, graph.json + "\n");
    return kAllWell;
  } catch (const NoTorchGraph& e) {
    fmt::print(stderr, "{}", printable_lines(e.printed));
    complain(e.what());
    return kWrongUsage;
  } catch (const NoTorch& e) {
    complain(e.what());
    return kEnvironment;
  }
}

}  // namespace

void add_graph(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("graph", "Trace a PyTorch function or module to a graph of operators, for --graph");
  command->footer(
      "What the program computes becomes one operator, which every command that takes --graph knows: the reference that a fused\n"
      "kernel is held against. Nothing is computed, so that sizes cost no time.\n\n"
      "  assay graph model.py -o block.json                       its Model, called with what its get_inputs() returns\n"
      "  assay graph model.py:attention --input 'f32[2x8x64]' --input 'f32[2x8x64]' --input 'f32[2x8x64]'\n"
      "  assay verify --graph block.json --plugin fused.so 'model'\n\n"
      "The file is a Python module. NAME is a function, a module, or a module's class; without it, Model, else model, else the only\n"
      "function. A class is called with what get_init_inputs() returns, if there is that. Modules are in eval() mode. Inputs,\n"
      "parameters and buffers are the graph's arguments. It needs PyTorch (python3-torch). Exit code 2: a graph cannot have what the\n"
      "program computes, all of which is listed, or the program failed; 3: PyTorch is missing.");
  auto flags = std::make_shared<GraphFlags>();
  command->add_option("PROGRAM", flags->program, "a Python file, and perhaps what of it: model.py:NAME")
      ->required()
      ->type_name("");
  command
      ->add_option("--input", flags->inputs,
                   "an input, f32[2x3]; may be repeated; without, those of get_inputs()")
      ->allow_extra_args(false)
      ->type_name("DTYPE[SHAPE]");
  command->add_option("--name", flags->name, "the operator's name; default from the file's")
      ->type_name("NAME");
  command->add_option("-o,--output", flags->output, "the graph to write; - is standard output, the default")
      ->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return graph_command(*flags); }; });
}

}  // namespace assay
