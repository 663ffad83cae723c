// Every operator, every kernel, and where each kernel runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../model/kernel.h"
#include "python_kernel.h"
#include "vocabulary/contract.h"
#include "vocabulary/kernel.h"
#include "vocabulary/reference.h"

namespace assay {

struct RegistryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Registry {
 public:
  // The kernels that are linked into this program, and those of the parts that are built (parts.h). Throws RegistryError when
  // the registry is broken: a kernel whose schema is no operator's, two kernels of one name, a contract that does not parse.
  // `program` is the path of the running executable.
  explicit Registry(std::string program);

  // Adds the kernels that `program arguments... worker --list` describes (run/describe.h). A kernel's name becomes
  // `prefix` + its own. Throws RegistryError with what the program said.
  void add(const Environment& environment, const std::string& prefix);
  // The same of a description that is known.
  void add(const Environment& environment, const std::string& prefix, std::string_view description);
  // Adds the kernels of a shared library, of its source text (source_plugin.h), or of Python's (python_kernel.h), as "plugin:NAME". `about`: the operators that the command is
  // about; a function of Python that does not say its own is one of them.
  void add_plugin(const std::string& library, std::span<const Operator* const> about = {});
  // Adds PyTorch's operators. Without PyTorch each operator gets a kernel "torch" that says what to install.
  void add_torch();

  // Sets environment variables, NAME=VALUE, of the processes of all kernels. What a kernel brings along stays: its ISA level.
  void set_variables(std::span<const std::string> variables);

  // Of every kernel: what it declares is overridden by these fields (vocabulary/contract.h), as they are judged from now on. Throws
  // RegistryError naming the kernel for what is no contract.
  void judge_by(std::string_view contract);

  const std::string& program() const { return program_; }
  std::span<const Kernel> kernels() const { return kernels_; }
  std::vector<const Kernel*> kernels_of(const Operator& op) const;  // fastest of ours first, peers last

 private:
  void add_python(PythonKernel kernel, std::span<const Operator* const> about);
  void add_parts();
  void insert(Kernel kernel);

  std::string program_;
  std::vector<Kernel> kernels_;
};

}  // namespace assay
