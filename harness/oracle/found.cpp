#include "found.h"

#include <pybind11/embed.h>

#include <filesystem>

#include "interpreter.h"

namespace assay::oracle {

std::string found_torch() {
  start_interpreter();
  std::string all = interpreter_path() + "\n";
  try {
    const pybind11::object find_spec = pybind11::module_::import("importlib.util").attr("find_spec");
    for (const char* const package : {"torch", "numpy"}) {
      const pybind11::object spec = find_spec(package);
      if (spec.is_none() || spec.attr("origin").is_none()) continue;
      const std::filesystem::path origin(spec.attr("origin").cast<std::string>());
      for (const char* const file :
           {"__init__.py", "version.py", "lib/libtorch_cpu.so", "lib/libtorch_python.so"})
        all += (origin.parent_path() / file).string() + "\n";
    }
  } catch (const pybind11::error_already_set& error) {
    throw Missing(error.what());
  }
  return all;
}

}  // namespace assay::oracle
