// assay-torch: PyTorch as a worker of the harness. An executable of its own, because CPython and torch bring along
// libraries and state (OpenMP, oneDNN, signal handlers) that no other kernel shall share a process with.

#include <fmt/format.h>
#include <pybind11/embed.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../bench/timer.h"
#include "../registry/configured.h"
#include "../run/lane.h"
#include "call.h"
#include "found.h"
#include "interpreter.h"
#include "torch.h"
#include "vocabulary/reference.h"

namespace {

using assay::oracle::Torch;

constexpr std::string_view kHelp =
    "assay-torch runs PyTorch's operators for assay, which starts it by itself.\n"
    "\n"
    "  assay-torch worker --list   prints the operators that torch can run, as JSON\n"
    "  assay-torch found           prints the paths of the torch that would be imported\n"
    "  assay-torch schema TEXT...  compares ATen schemas with torch's own of that name; exit 1 if one differs\n"
    "  assay-torch --help\n"
    "\n"
    "environment\n"
    "  ASSAY_TORCH_PYTHON   the Python interpreter whose torch is used, of the same version as {} (Python {}.{}),\n"
    "                       which is used otherwise; in a virtual environment: its bin/python3\n"
    "  OMP_NUM_THREADS      how many threads torch uses, 1 by default\n"
    "\n"
    "exit status: 0 well, 1 schemas differ, 2 wrong usage, 3 Python or PyTorch is missing: standard error says what\n"
    "to install.\n";

// Never destroyed: its Python objects must not outlive the interpreter, which torch does not survive the end of.
Torch& torch() {
  static Torch* loaded = [] {
    // Read by OpenMP and BLAS when they are loaded. With one thread, this process may be forked after the import.
    setenv("OMP_NUM_THREADS", "1", 0);
    // For a torch that logs without glog; see quiet.h.
    setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);
    assay::oracle::start_interpreter();
    auto* made = new Torch;
    // Calls may come on any thread: each takes the lock for itself.
    PyEval_SaveThread();
    return made;
  }();
  return *loaded;
}

assay::WorkerTable table(std::span<const std::string> arguments) {
  if (!arguments.empty())
    throw std::invalid_argument(fmt::format("unknown argument \"{}\"", arguments.front()));
  std::vector<const assay::Operator*> operators;
  for (const assay::Reference* reference : assay::references()) operators.push_back(&reference->op());
  Torch& loaded = torch();
  const pybind11::gil_scoped_acquire gil;
  assay::WorkerTable made;
  made.kernels = loaded.kernels(operators);
  made.after_fork = [&loaded] { loaded.after_fork(); };
  made.timing = assay::oracle::TorchDevice::timing();
  made.information = [&loaded] { return loaded.information(); };
  return made;
}

int compare_schemas(std::span<char*> schemas) {
  const Torch& loaded = torch();
  const pybind11::gil_scoped_acquire gil;
  int status = 0;
  for (const std::string_view schema : schemas) {
    const std::string drift = loaded.drift(schema);
    if (!drift.empty()) status = 1;
    fmt::print("{}\n", drift.empty()
                           ? fmt::format("torch {} has the same schema: {}", loaded.version(), schema)
                           : drift);
  }
  return status;
}

int dispatch(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const std::string_view command = argc > 1 ? words[1] : "--help";
  // A terminal that closes tells all its processes: this one ends with the harness, which reports what was done.
  std::signal(SIGHUP, SIG_IGN);
  if (assay::is_timer(argc, argv))
    return assay::timer_main(argc, argv, [] {
      return assay::TimedTable{table({}),
                               [](const assay_call& call) { return assay::oracle::prepare_torch(call); }};
    });
  if (command == "worker") {
    // Loaded here, what is missing becomes this program's exit status. A zygote must tell the harness instead.
    if (argc > 2 && std::string_view(words[2]) == "--list") torch();
    return assay::worker_main(argc, argv, table);
  }
  if (command == "found" && argc == 2) {
    fmt::print("{}", assay::oracle::found_torch());
    return 0;
  }
  if (command == "schema" && argc > 2) return compare_schemas(words.subspan(2));
  if (command == "--help" && argc <= 2) {
    fmt::print(kHelp, assay::configured::python, PY_MAJOR_VERSION, PY_MINOR_VERSION);
    return 0;
  }
  fmt::print(stderr, "assay-torch: unknown arguments; assay-torch --help lists what there is\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 2;
  try {
    status = dispatch(argc, argv);
  } catch (const assay::oracle::Missing& missing) {
    fmt::print(stderr, "{}\n", missing.what());
    status = 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "assay-torch: {}\n", error.what());
  }
  // Without the destructors of Python's and torch's libraries.
  std::fflush(nullptr);
  std::_Exit(status);
}
