// CPython inside this process.
#pragma once

#include <stdexcept>
#include <string>

namespace assay::oracle {

// Python or PyTorch is not there. The message says what is missing and what to install; the program then exits with
// status 3.
struct Missing : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The interpreter whose packages are imported: $ASSAY_TORCH_PYTHON, or the one that the build was configured with.
// Never the first `python3` on PATH: inside a virtual environment that is one without torch.
std::string interpreter_path();

// Starts CPython as that interpreter, once in a process. PYTHONPATH, PYTHONHOME and the user's own site-packages are
// ignored, so that a result does not depend on the shell it was started from. SIGINT is ignored from here on: Python
// and torch would install a handler, and the harness ends its workers itself.
// Throws Missing.
void start_interpreter();

}  // namespace assay::oracle
