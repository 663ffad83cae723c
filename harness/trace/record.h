// Runs a PyTorch program and writes down every operator call that it makes: a case file whose calls are named and in order.
//
// Beside what every call of a case file has (files/case_file.h), one of a trace has the texts
//   name              "layers.0.act/prelu": the module that called, and the operator; "#2" for the second call of that name
//   called            what PyTorch called: "_prelu_kernel" for prelu
//   source            "model.py:12"
//   from.ARGUMENT     (ARGUMENT.0 in a list) "3:out": the result of call 3 that this input is; "3:out@offset(0)@strides(1,7)" if it is a view of one
//   through.ARGUMENT  "sin(3:out,5:out)": what a call of sin gave that is not recorded, which followed from these results
//   onto.RESULT       the same of a result that was written in place: the part of an earlier result that it is from now on
//                     ("5:whole" of call 5 itself: of the memory that it is a part of, which call 5 has as a result of that name)
//   over.RESULT       "3:out": the result of call 3 that this one was written over, all of it
//   parameter.ARGUMENT   "layers.0.act.weight": the parameter or buffer of a module that this input is; "0.weight#2" of the second module
//                     that is called and has one of this name
//   part.ARGUMENT     "offset(64)@strides(8,1)": the part of that parameter that it is, unless it is all of it
//   alias.ARGUMENT    "encoder.weight,.." : other names of the same parameter
//   state.ARGUMENT    "bn.running_mean": the same as parameter, of one that the program writes to, before or later
// Beside its calls, a trace of one call of an outermost module has what that was given (harness/python/recorded_outermost.py).
// Calls of operators that Assay does not have are recorded under PyTorch's name and schema.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "../registry/registry.h"

namespace assay {

struct RecordOptions {
  std::string script;                  // or what is_of_caller() is true of
  std::vector<std::string> arguments;  // of the script
  std::string trace;                   // the file to write
  bool keeps_earlier = false;          // a file of that name is moved away before: trace-2.h5
  std::vector<std::string> operators;  // shell globs on names of operators, PyTorch's or Assay's; empty: all
  std::uint64_t limit = std::uint64_t{2}
                        << 30;  // bytes of tensors; what comes after is counted, not recorded
  std::uint64_t call = 0;  // only what this call of an outermost module does, with what it was given; 1 is the first, 0 everything
  bool apart = false;  // what the program prints goes to standard error
  std::string exported;    // a file that this module is exported to, .onnx or TorchScript's .pt; or none
};

struct RecordSummary {
  std::uint64_t recorded = 0;
  std::map<std::string, std::uint64_t> passed;   // calls that are not recorded, by the reason
  bool full = false;                             // the limit was reached
  std::map<std::string, std::uint64_t> unknown;  // recorded calls of operators that Assay does not have
  std::vector<std::string> no_operator = {};     // names of --ops that are none, of PyTorch nor of Assay
  std::string lost;                              // why the trace could not be written, or empty
  int exit = 0;                                  // the program's exit code
  bool signalled = false;                        // this process was told to end, and told the program
  bool kept = true;  // false: the program was killed, or killed itself, and took the trace with it
  std::vector<std::string> outermost = {};  // of RecordOptions::call: what the first calls were given, "Net(x f32[2x3])"
  std::string not_exported = {};            // why RecordOptions::exported was not written, or empty
  std::string copy = {};  // what it had recorded until shortly before that, or empty
};

// The interpreter that PyTorch is imported from: ASSAY_TORCH_PYTHON, or what this build found.
std::string torch_python();

// Whether it stands for a module in the memory of the Python program that started this one, "@Net.py", and that forks itself to have it recorded
// ($ASSAY_PYTHON_SOCKET, run/forked.h).
bool is_of_caller(const std::string& script);

// This machine cannot record: the message says what to install.
struct CannotRecord : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The program shares the terminal. Until it ends, Ctrl-C is its own affair, and other signals to end are handed on to it: what it did
// before is in the trace. The contracts of PyTorch's kernels come from the registry.
RecordSummary record(const Registry& registry, const RecordOptions& options);

}  // namespace assay
