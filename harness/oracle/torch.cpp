#include "torch.h"

#include <fmt/format.h>

#include <cstdlib>

#include "backtraces.h"
#include "contracts.h"
#include "interpreter.h"
#include "rejection.h"
#include "schema_text.h"
#include "unavailable.h"
#include "vocabulary/kernel.h"

namespace assay::oracle {
namespace {

std::string message(const py::error_already_set& error) {
  // what() would add a traceback.
  return error.value() ? std::string(py::str(error.value())) : std::string(error.what());
}

std::string type_name(const py::error_already_set& error) { return py::str(error.type().attr("__name__")); }

py::module_ import_torch() {
  const std::string path = interpreter_path();
  try {
    py::module_::import("warnings").attr("simplefilter")("ignore");
    return py::module_::import("torch");
  } catch (const py::error_already_set& error) {
    const bool absent = error.matches(PyExc_ModuleNotFoundError) && error.value() &&
                        std::string(py::str(error.value().attr("name"))) == "torch";
    if (absent && path == ASSAY_PYTHON)
      throw Missing(fmt::format("PyTorch is not installed for {}: apt-get install python3-torch", path));
    if (absent)
      throw Missing(fmt::format("PyTorch is not installed for {}, which ASSAY_TORCH_PYTHON names: {} -m pip install "
                                "torch, or unset the variable and apt-get install python3-torch",
                                path, path));
    throw Missing(fmt::format("PyTorch is installed for {}, but cannot be imported: {}", path, message(error)));
  }
}

// "CPU capability usage: AVX2"
std::string cpu_capability(const py::module_& torch) {
  constexpr std::string_view kLabel = "CPU capability usage: ";
  const std::string config = py::str(torch.attr("__config__").attr("show")());
  const std::size_t at = config.find(kLabel);
  if (at == std::string::npos) return "unknown CPU capability";
  const std::string_view rest = std::string_view(config).substr(at + kLabel.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

int threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  const int n = text == nullptr ? 1 : std::atoi(text);
  return n > 0 ? n : 1;
}

// Inference mode belongs to a thread, and lasts as long as it: leaving and entering it would cost more than many calls.
void enter_inference_mode() {
  static thread_local const bool entered = [] {
    const py::object mode = py::module_::import("torch").attr("inference_mode")();
    mode.attr("__enter__")();
    mode.inc_ref();
    return true;
  }();
  (void)entered;
}

}  // namespace

Torch::Torch()
    : torch_(import_torch()),
      version_(py::str(torch_.attr("__version__"))),
      capability_(cpu_capability(torch_)),
      tensors_(torch_) {
  torch_.attr("set_num_threads")(threads());
  drop_backtraces();
}

std::string Torch::information() const { return fmt::format("torch {} {}", version_, capability_); }

void Torch::after_fork() const {
  const py::gil_scoped_acquire gil;
  PyOS_AfterFork_Child();
}

py::object Torch::overload(std::string_view name) const {
  const std::size_t dot = name.find('.');
  const std::string base(name.substr(0, dot));
  const std::string last(dot == std::string_view::npos ? "default" : name.substr(dot + 1));
  const py::object aten = torch_.attr("ops").attr("aten");
  if (!py::hasattr(aten, base.c_str())) return {};
  const py::object packet = aten.attr(base.c_str());
  if (!py::hasattr(packet, last.c_str())) return {};
  return packet.attr(last.c_str());
}

std::string Torch::drift(std::string_view schema) const {
  if (schema.starts_with("aten::")) schema.remove_prefix(6);
  const std::string_view name = schema.substr(0, schema.find('('));
  const py::object found = overload(name);
  if (!found) return fmt::format("torch {} has no aten::{}", version_, name);
  const std::string theirs = py::str(found.attr("_schema"));
  try {
    // Read and printed again by torch, so that quotes and defaults are written alike.
    const std::string ours = py::str(torch_.attr("_C").attr("parse_schema")(fmt::format("aten::{}", schema)));
    if (comparable(ours) == comparable(theirs)) return {};
  } catch (const py::error_already_set& error) {
    return fmt::format("torch {} cannot read the schema {}: {}", version_, schema, brief(message(error)));
  }
  return fmt::format("the schema differs from that of torch {}: Assay says {}, torch says {}", version_, schema, theirs);
}

std::vector<assay_kernel> Torch::kernels(std::span<const Operator* const> operators) {
  std::vector<assay_kernel> table;
  for (const Operator* op : operators) {
    const Schema& schema = op->schema;
    if (schema.ns != "aten") continue;
    assay_kernel kernel{};
    kernel.size = sizeof kernel;
    kernel.flags = ASSAY_PEER | ASSAY_CHECKS_ARGUMENTS;
    kernel.schema = schema.text.data();
    kernel.name = "torch";
    kernel.run = run_torch;
    kernel.contract = contract_of(schema.name).data();
    if (std::string reason = drift(schema.text); !reason.empty()) {
      kernel.unavailable = unavailable(std::move(reason));
    } else {
      TorchOperator& entry = operators_.emplace_back();
      const py::object found = overload(schema.name);
      entry.tensors = &tensors_;
      // The overload's own callable saves a Python frame.
      entry.function = py::hasattr(found, "_op") ? py::object(found.attr("_op")) : found;
      for (const Argument& argument : schema.arguments()) {
        if (argument.keyword_only)
          entry.keywords.emplace_back(argument.name.data(), argument.name.size());
        else
          ++entry.positional;
      }
      kernel.context = &entry;
    }
    table.push_back(kernel);
  }
  return table;
}

namespace {

py::object to_python(const Tensors& tensors, const assay_value& value) {
  const auto list = [&](auto item) {
    py::tuple items(value.count);
    for (std::size_t i = 0; i < value.count; ++i) items[i] = item(i);
    return items;
  };
  switch (value.kind) {
    case ASSAY_KIND_NONE: return py::none();
    case ASSAY_KIND_TENSOR: return tensors.wrap(*value.as.tensor);
    case ASSAY_KIND_TENSORS:
      return list([&](std::size_t i) -> py::object {
        if (value.as.tensors[i] == nullptr) return py::none();
        return tensors.wrap(*value.as.tensors[i]);
      });
    case ASSAY_KIND_INT: return py::int_(value.as.integer);
    case ASSAY_KIND_DOUBLE: return py::float_(value.as.real);
    case ASSAY_KIND_BOOL: return py::bool_(value.as.integer != 0);
    case ASSAY_KIND_STRING: return py::str(value.as.string);
    case ASSAY_KIND_DTYPE: return py::reinterpret_borrow<py::object>(tensors.dtype(value.as.dtype));
    case ASSAY_KIND_INTS: return list([&](std::size_t i) { return py::int_(value.as.integers[i]); });
    case ASSAY_KIND_DOUBLES: return list([&](std::size_t i) { return py::float_(value.as.reals[i]); });
    case ASSAY_KIND_BOOLS: return list([&](std::size_t i) { return py::bool_(value.as.integers[i] != 0); });
    default: throw Unsupported(fmt::format("a value of unknown kind {}", value.kind));
  }
}

py::object call_torch(const TorchOperator& op, std::span<const assay_value> values) {
  py::tuple positional(op.positional);
  for (std::size_t i = 0; i < op.positional; ++i) positional[i] = to_python(*op.tensors, values[i]);
  py::object keywords;
  if (!op.keywords.empty()) {
    py::dict named;
    for (std::size_t i = 0; i < op.keywords.size(); ++i)
      named[op.keywords[i]] = to_python(*op.tensors, values[op.positional + i]);
    keywords = std::move(named);
  }
  auto result = py::reinterpret_steal<py::object>(PyObject_Call(op.function.ptr(), positional.ptr(), keywords.ptr()));
  if (!result) throw py::error_already_set();
  return result;
}

// The message is there whether the call failed or was refused.
int say(const assay_call* call, int status, const std::string& text) {
  refuse(call, text.c_str());
  return status;
}

int store_results(const TorchOperator& op, const py::object& result, const assay_call* call) {
  if (call->output_count == 0) return ASSAY_OK;
  const bool several = py::isinstance<py::tuple>(result) || py::isinstance<py::list>(result);
  const std::size_t returned = several ? py::len(result) : 1;
  if (returned != call->output_count)
    return say(call, 1, fmt::format("torch returned {} results, the rule says {}", returned, call->output_count));
  for (std::size_t i = 0; i < returned; ++i) {
    const py::object one = several ? py::object(result[py::int_(i)]) : result;
    if (const std::string why = op.tensors->store(one, *call->outputs[i]); !why.empty()) return say(call, 1, why);
  }
  return ASSAY_OK;
}

int run(const assay_call* call) {
  const TorchOperator& op = *static_cast<const TorchOperator*>(call->kernel->context);
  if (call->argument_count != op.positional + op.keywords.size())
    return say(call, ASSAY_REFUSED,
               fmt::format("invalid argument: {} arguments given, the schema has {}", call->argument_count,
                           op.positional + op.keywords.size()));
  enter_inference_mode();
  py::object result;
  try {
    result = call_torch(op, {call->arguments, call->argument_count});
  } catch (const py::error_already_set& error) {
    const std::string text = message(error);
    switch (rejection(type_name(error), text)) {
      case Rejection::unsupported: return say(call, ASSAY_REFUSED, brief(text));
      case Rejection::invalid: return say(call, ASSAY_REFUSED, "invalid argument: " + brief(text));
      case Rejection::failed: return say(call, 1, brief(text));
    }
  }
  return store_results(op, result, call);
}

}  // namespace

int run_torch(const assay_call* call) {
  try {
    const py::gil_scoped_acquire gil;
    try {
      return run(call);
    } catch (const Unsupported& reason) {
      return say(call, ASSAY_REFUSED, reason.what());
    } catch (const py::error_already_set& error) {
      return say(call, 1, brief(message(error)));
    }
  } catch (const std::exception& error) {
    return say(call, 1, error.what());
  }
}

}  // namespace assay::oracle
