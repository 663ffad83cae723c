// Every operator, every kernel, and where each kernel runs.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "vocabulary/contract.h"
#include "vocabulary/kernel.h"
#include "vocabulary/reference.h"

namespace assay {

// A process in which kernels run. Kernels with equal environments share worker processes.
struct Environment {
  std::string program;                 // path of the executable: assay itself, or assay-torch
  std::vector<std::string> arguments;  // for example --plugin /path/libmine.so
  std::vector<std::string> variables;  // NAME=VALUE, put before the inherited ones
  friend bool operator==(const Environment&, const Environment&) = default;
  friend auto operator<=>(const Environment&, const Environment&) = default;
};

struct Kernel {
  const Operator* op = nullptr;
  std::string schema;       // as the kernel's table states it
  std::string name;         // "cpu.avx2", "onednn.avx512", "torch", "plugin:mine"
  std::string table_name;   // the name in the table of its worker process ("mine"'s own name), to find it there
  std::string contract;     // clauses, see vocabulary/contract.h
  std::string source;       // "file:line", or empty
  std::string unavailable;  // why this machine cannot run it, or empty
  bool peer = false;
  bool checks_arguments = false;
  Environment environment;
};

class Registry {
 public:
  // Built-in kernels. Throws std::runtime_error when the registry is broken: an operator without reference, a kernel
  // whose schema is no operator's, two kernels of one name, a contract that does not parse, a file that enrolled
  // nothing. `program` is the path of the running executable.
  explicit Registry(const std::string& program);

  // Adds the kernels that `program arguments... --list` prints as JSON (see describe.h).
  // Throws std::runtime_error with what the program said.
  void add(const Environment& environment, const std::string& prefix);

  std::span<const Kernel> kernels() const { return kernels_; }
  std::vector<const Operator*> operators() const;
  std::vector<const Kernel*> kernels_of(const Operator& op) const;  // fastest first, peers last
  const Operator* find(std::string_view name) const;

 private:
  std::vector<Kernel> kernels_;
};

}  // namespace assay
