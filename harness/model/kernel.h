// A kernel as the harness knows it: what it computes, what its contract allows, and in which process it runs.
//
//   for (const Kernel* k : registry.kernels_of(op))
//     if (k->unavailable.empty()) tasks.push_back({.kernel = k, .call = &call});
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/operator.h"

namespace assay {

// A process in which kernels run. Kernels with equal environments share worker processes.
struct Environment {
  std::string
      program;  // path of the executable: assay itself, assay-torch, a Python, or "@NAME" (run/forked.h)
  std::vector<std::string> arguments;    // for example --plugin /path/libmine.so
  std::vector<std::string> variables;    // NAME=VALUE, put before the inherited ones
  std::vector<std::string> before = {};  // arguments that stand before the word `worker`
  friend bool operator==(const Environment&, const Environment&) = default;
  friend auto operator<=>(const Environment&, const Environment&) = default;
};

// Puts NAME=VALUE into the environment; of names that it has, its own value stays, or with `replace` the new one.
void set_variable(Environment& environment, const std::string& variable, bool replace);

inline constexpr std::string_view kPluginPrefix = "plugin:";

struct Kernel {
  const Operator* op = nullptr;
  std::string schema;  // as the kernel's table states it
  std::string name;    // "cpu.avx2", "onednn.avx512", "torch", "plugin:mine"
  std::string
      table_name;        // the name in the table of its worker process ("mine"'s own name), to find it there
  std::string contract;  // clauses, see vocabulary/contract.h
  std::string source;    // "file:line", or empty
  std::string unavailable;  // why this machine cannot run it, or empty
  bool peer = false;
  bool on_device = false;  // timed by the clock of a GPU
  bool checks_arguments = false;
  Environment environment;
};

// Whether it is a CUDA kernel that runs on the processor: in one thread, whatever it is told.
bool is_cuda_on_the_processor(const Kernel& kernel);

}  // namespace assay
