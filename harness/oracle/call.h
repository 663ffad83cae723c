// One function for every operator: a call of Assay's as a call of torch's.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device.h"
#include "tensors.h"

namespace assay::oracle {

// One operator, as the context of its kernel.
struct TorchOperator {
  const Tensors* tensors = nullptr;
  const TorchDevice* device = nullptr;  // where it is called; null: on the processor
  py::object function;                  // torch's callable
  std::size_t positional = 0;           // arguments in front of the *
  std::vector<py::str> keywords;
  py::object out_function;            // the overload that writes into given tensors, or null
  std::vector<py::str> out_keywords;  // what it calls them
  int mask = -1;                      // the argument that says which results are asked for
  // What torch said of calls with these dtypes, ranks and numbers: why it has no code for them, or nothing.
  mutable std::map<std::string, std::string> refusals;
};

// Runs assay_call::kernel->context, a TorchOperator, on the call. The one function of every kernel of torch.
//
// Refusals say what torch lacks ("... not implemented for 'Half'"), or begin with "invalid argument: " when torch
// calls the arguments wrong. A result of another dtype or shape than the output is a failure, not a refusal: then
// Assay's rule or torch is wrong. A call without outputs, whose arguments the rule does not allow, is accepted if
// torch accepts it.
int run_torch(const assay_call* call);

// The same call, to be made many times: its Python objects are made here, once. Of torch's two ways, a new tensor for the result or
// writing into ours, it is the one that is faster for this call. The call must outlive what is returned, which gives the status;
// results are not looked at, and where torch makes new tensors they are dropped.
std::function<int()> prepare_torch(const assay_call& call);

// The call of an operator that has a device, with copies of its tensors there, as a function of Python without arguments. The GIL
// is held. Throws Unsupported, or py::error_already_set.
py::object call_on_device(const assay_call& call);
// Stores what it returns in the call's outputs. A status, with a message.
int store_results(const py::object& result, const assay_call* call);

// Whether torch has code for the call, found by making it once with zeros in place of the tensors: torch has no other
// way to tell. Remembered for every call with the same dtypes, ranks and numbers.
int refuses_torch(const assay_call* call);

// The message of a Python exception, without the traceback that what() adds.
std::string what(const py::error_already_set& error);

}  // namespace assay::oracle
