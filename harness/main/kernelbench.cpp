// assay kernelbench: the command of the Python package, whose interpreter takes this process's place.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "commands.h"
#include "terminal.h"

namespace assay {
namespace {

// Does not return where it can be started.
int become_python(const std::vector<std::string>& words) {
  Environment python;
  try {
    python = python_program("from assay.kernelbench import main; raise SystemExit(main(sys.argv[1:]))",
                            this_program());
  } catch (const std::runtime_error& e) {
    complain(e.what());
    return kEnvironment;
  }
  for (const std::string& variable : python.variables) putenv(strdup(variable.c_str()));
  std::vector<char*> arguments{python.program.data()};
  for (std::string& word : python.before) arguments.push_back(word.data());
  std::vector<std::string> given = words;
  for (std::string& word : given) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  complain(fmt::format("cannot start {}: {}", python.program, std::strerror(errno)));
  return kEnvironment;
}

}  // namespace

void add_kernelbench(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "kernelbench", "Is ModelNew of a KernelBench solution what Model of its problem is?");
  command->footer(
      "Model is traced to a graph of operators, whose results have derived bounds: there is no tolerance. ModelNew runs in worker\n"
      "processes, on inputs, parameters and buffers that Assay draws, between guard pages, twice on each call and again with other data at\n"
      "the same addresses. Sizes are the problem's, halved until a reference can compute each element exactly. It needs PyTorch in the\n"
      "Python that ASSAY_PYTHON names, or the python3 on PATH; a solution in Triton runs in its interpreter with TRITON_INTERPRET=1.\n\n"
      "  assay kernelbench level1/19_ReLU.py                   the problem's graph\n"
      "  assay kernelbench level1/19_ReLU.py my_solution.py    the verdict\n\n"
      "Exit code 0: no fault; 1: a fault was found; 2: wrong usage, or a problem with operators that Assay lacks, which are listed; 3: nothing\n"
      "could be judged.");
  auto words = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("FILES", *words, "PROBLEM.py with Model and get_inputs(), and SOLUTION.py with ModelNew")
      ->required()
      ->expected(1, 2)
      ->type_name("");
  const auto pass = [&](const char* name, const char* says, const char* type) {
    command
        ->add_option_function<std::string>(
            name,
            [words, name](const std::string& value) {
              words->insert(words->end(), {name, value});
            },
            says)
        ->type_name(type);
  };
  pass("--dtype", "of inputs and parameters, with commas between several; default f32", "DTYPE");
  pass("--contract", "what ModelNew promises of its numbers; default what libraries under Python do", "TEXT");
  pass("--device", "of ModelNew's tensors, as torch has it; default cpu", "DEVICE");
  pass("--seed", "of the data; default 0", "N");
  pass("--timeout", "seconds that one call may take", "S");
  pass("--out", "folder for case files", "DIR");
  command->callback([words, &chosen] { chosen = [words] { return become_python(*words); }; });
}

}  // namespace assay
