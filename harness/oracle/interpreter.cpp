#include "interpreter.h"

#include <fmt/format.h>
#include <pybind11/embed.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "../registry/configured.h"
#include "../registry/subprocess.h"

namespace assay::oracle {
namespace {

[[noreturn]] void cannot_start(const std::string& path, std::string_view why) {
  throw Missing(
      fmt::format("Python {}.{} cannot start as {}: {}; ASSAY_TORCH_PYTHON must name an interpreter of this "
                  "version, or be unset",
                  PY_MAJOR_VERSION, PY_MINOR_VERSION, path, why));
}

void demand(const PyStatus& status, const std::string& path) {
  if (PyStatus_Exception(status) != 0)
    cannot_start(path, status.err_msg != nullptr ? status.err_msg : "unknown error");
}

// An interpreter has the standard library of its version beside it; a virtual environment's is a link to one that has.
// CPython itself would quietly fall back to the library that it was built with, and so to other packages.
bool has_our_library(const std::string& path) {
  std::error_code error;
  const auto prefix = std::filesystem::canonical(path, error).parent_path().parent_path();
  const std::string folder = fmt::format("python{}.{}", PY_MAJOR_VERSION, PY_MINOR_VERSION);
  return std::filesystem::exists(prefix / "lib" / folder, error) ||
         std::filesystem::exists(prefix / "lib64" / folder, error);
}

// What the program at this path says of itself if it is a Python: any program may stand where one is looked for, and CPython would
// take the folder it stands in for its own.
void demand_python(const std::string& path) {
  const Finished said =
      run_program(path, {"-I", "-S", "-c", "import sys; print(*sys.version_info[:2], sep='.')"});
  if (!said.started) cannot_start(path, said.err);
  const bool is_version = !said.out.empty() && said.out[0] >= '0' && said.out[0] <= '9';
  if (said.status != 0 || !is_version) cannot_start(path, "it is no Python interpreter");
  if (said.out != fmt::format("{}.{}\n", PY_MAJOR_VERSION, PY_MINOR_VERSION))
    cannot_start(path, "it is of another version");
}

}  // namespace

std::string interpreter_path() {
  const char* chosen = std::getenv("ASSAY_TORCH_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : configured::python;
}

void start_interpreter() {
  const std::string path = interpreter_path();
  if (access(path.c_str(), X_OK) != 0)
    throw Missing(
        fmt::format("there is no Python interpreter at {}: apt-get install python3-torch, or let "
                    "ASSAY_TORCH_PYTHON name one that has torch",
                    path));
  if (!has_our_library(path)) cannot_start(path, "it is of another version");
  if (path != configured::python) demand_python(path);

  // Python leaves an ignored SIGINT ignored, also when `import signal` installs its handler.
  std::signal(SIGINT, SIG_IGN);

  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  config.install_signal_handlers = 0;
  config.write_bytecode = 0;
  config.pathconfig_warnings = 0;
  // Both, because the search for the library and the virtual environment starts at either.
  demand(PyConfig_SetBytesString(&config, &config.program_name, path.c_str()), path);
  demand(PyConfig_SetBytesString(&config, &config.executable, path.c_str()), path);
  const PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  demand(status, path);
}

}  // namespace assay::oracle
