// Kernels that are functions of Python, named where a shared library may be named:
//
//   my.py:silu                     a function of a file, for the one operator that the command is about
//   softmax.int=my.py:softmax      for this operator
//   my.py                          all functions of it that @assay.kernel(OPERATOR) stands before
//   package.module:silu            of a module that Python finds
//
// They run in worker processes as other kernels do: the interpreter loads libassay_worker.so, which is the worker, and gives it a table of
// assay/kernel.h whose functions are Python's (harness/python/assay/_worker.py). The interpreter is $ASSAY_PYTHON, or the python3 on PATH.
//
// A Python program that verifies functions of its own, which no file has, listens on a socket and forks itself where an interpreter would
// be started: $ASSAY_PYTHON_SOCKET names it (run/forked.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "../model/kernel.h"

namespace assay {

struct PythonKernel {
  std::string op;     // as it was written, or empty
  std::string place;  // "my.py:silu"
};

// Nothing if the text means a shared library.
std::optional<PythonKernel> python_kernel(std::string_view text);

// The same with the path of a file from the root, and with the operator: what a report says, so that it can be said again.
std::string canonical(const PythonKernel& kernel);

// Whether the variable says to an interpreter where this program is, which is for no case file.
bool is_of_python(std::string_view variable);

// An interpreter that runs a text which may name the package `assay` and `sys`: its program, what stands before arguments, and variables.
// `program` is the path of the running executable, `interpreter` another one than for kernels. Throws std::runtime_error where there is no
// interpreter.
Environment python_program(std::string_view text, const std::string& program, const std::string& interpreter = {});

// In which process it runs. `program` is the path of the running executable. The kernel's operator is one of `among`: where these are
// several, the file says which. Throws std::runtime_error where there is no interpreter.
Environment python_environment(const PythonKernel& kernel, std::span<const Operator* const> among,
                               const std::string& program);

}  // namespace assay
