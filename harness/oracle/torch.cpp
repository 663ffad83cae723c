#include "torch.h"

#include <fmt/format.h>
#include <pybind11/eval.h>

#include <algorithm>
#include <cstdlib>

#include "../registry/configured.h"
#include "contracts.h"
#include "interpreter.h"
#include "quiet.h"
#include "rejection.h"
#include "schema_text.h"
#include "unavailable.h"
#include "vocabulary/check.h"

namespace assay::oracle {
namespace {

py::module_ import_torch() {
  const std::string path = interpreter_path();
  try {
    py::module_::import("warnings").attr("simplefilter")("ignore");
    return py::module_::import("torch");
  } catch (const py::error_already_set& error) {
    const bool absent = error.matches(PyExc_ModuleNotFoundError) && error.value() &&
                        std::string(py::str(error.value().attr("name"))) == "torch";
    if (absent && path == configured::python)
      throw Missing(fmt::format("PyTorch is not installed for {}: apt-get install python3-torch", path));
    if (absent)
      throw Missing(
          fmt::format("PyTorch is not installed for {}, which ASSAY_TORCH_PYTHON names: {} -m pip install "
                      "torch, or unset the variable and apt-get install python3-torch",
                      path, path));
    throw Missing(fmt::format("PyTorch is installed for {}, but cannot be imported: {}", path, what(error)));
  }
}

// "AVX2". Since 2.1 torch has a function for it; its text on all there is counts GPUs by now, which starts the driver in a
// process that will be forked, and no child of it could use one ("CUDA error: initialization error").
std::string cpu_capability(const py::module_& torch) {
  const py::object cpu = py::getattr(torch.attr("backends"), "cpu", py::none());
  if (py::hasattr(cpu, "get_cpu_capability")) return py::str(cpu.attr("get_cpu_capability")());
  constexpr std::string_view kLabel = "CPU capability usage: ";
  const std::string config = py::str(torch.attr("__config__").attr("show")());
  const std::size_t at = config.find(kLabel);
  if (at == std::string::npos) return "unknown CPU capability";
  const std::string_view rest = std::string_view(config).substr(at + kLabel.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

// What is called where torch's operator of the name would not do.
struct StandIn {
  std::string_view op;
  std::string_view calls;  // the schema of the operator of torch's that it calls
  const char* function;    // of Python, with the names of the module torch
};
constexpr StandIn kStandIns[] = {
    // Quantised tensors are integers to us, and to torch a type of their own.
    {"quantize_per_tensor",
     "quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor",
     "lambda self, scale, zero_point, dtype: quantize_per_tensor(self, scale, zero_point, "
     "{uint8: quint8, int8: qint8}[dtype]).int_repr()"},
    // PyTorch 2.15 takes a bound of u8 as it is, where the operator's is converted to u8 first (cases/ops/clamp.h).
    {"clamp", "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     "lambda self, *bounds: clamp(self, *(b % 256 if self.dtype == uint8 and b is not None and -256 < b < 0 else b "
     "for b in bounds))"},
    // Torch has it since 2.0, as this: the operator that updates running statistics in place, on copies of them.
    {"_native_batch_norm_legit_functional",
     "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
     "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     "lambda input, weight, bias, mean, var, *rest: (lambda mean, var: "
     "(*native_batch_norm(input, weight, bias, mean, var, *rest), mean, var))(mean.clone(), var.clone())"},
};

int threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  const int n = text == nullptr ? 1 : std::atoi(text);
  return n > 0 ? n : 1;
}

// The overload's own callable saves a Python frame.
py::object callable(const py::object& overload) {
  return py::hasattr(overload, "_op") ? py::object(overload.attr("_op")) : overload;
}

}  // namespace

Torch::Torch()
    : torch_(import_torch()),
      version_(py::str(torch_.attr("__version__"))),
      capability_(cpu_capability(torch_)),
      tensors_(torch_) {
  torch_.attr("set_num_threads")(threads());
  if (std::optional<std::string> name = TorchDevice::named(torch_))
    device_ = std::make_unique<TorchDevice>(torch_, tensors_, *std::move(name));
  quieten_torch();
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

void Torch::add_out(TorchOperator& entry, std::string_view name) const {
  const std::size_t dot = name.find('.');
  const std::string out =
      dot == std::string_view::npos ? fmt::format("{}.out", name) : fmt::format("{}_out", name);
  const py::object found = overload(out);
  if (!found) return;
  for (const py::handle argument : found.attr("_schema").attr("arguments"))
    if (py::hasattr(argument, "is_out") && py::cast<bool>(argument.attr("is_out")))
      entry.out_keywords.emplace_back(argument.attr("name"));
  if (!entry.out_keywords.empty()) entry.out_function = callable(found);
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
    return fmt::format("torch {} cannot read the schema {}: {}", version_, schema, brief(what(error)));
  }
  return fmt::format("the schema differs from that of torch {}: Assay says {}, torch says {}", version_,
                     schema, theirs);
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
    kernel.refuses = refuses_torch;
    const bool known = std::string_view(version_).starts_with(kKnownVersion);
    kernel.contract = (known ? contract_of(schema.name) : contract_of_other_versions(schema.name)).data();
    const auto* const stand_in = std::ranges::find(kStandIns, schema.name, &StandIn::op);
    const bool direct = stand_in == std::end(kStandIns);
    if (std::string reason = drift(direct ? schema.text : stand_in->calls); !reason.empty()) {
      kernel.unavailable = unavailable(std::move(reason));
    } else {
      TorchOperator& entry = operators_.emplace_back();
      entry.tensors = &tensors_;
      entry.function = direct ? callable(overload(schema.name))
                              : py::object(py::eval(stand_in->function, torch_.attr("__dict__")));
      if (direct) add_out(entry, schema.name);
      for (const Argument& argument : schema.arguments()) {
        // Torch writes where these say, unchecked: a wrong one would end the worker, or worse.
        if (domain(*op, argument.name).plane) kernel.flags &= ~std::uint32_t{ASSAY_CHECKS_ARGUMENTS};
        if (domain(*op, argument.name).kind == Domain::Kind::mask) entry.mask = schema.find(argument.name);
        if (argument.keyword_only)
          entry.keywords.emplace_back(argument.name.data(), argument.name.size());
        else
          ++entry.positional;
      }
      kernel.context = &entry;
    }
    table.push_back(kernel);
    if (device_ == nullptr) continue;
    kernel.name = "torch.cuda";
    // What the processor's kernels check ends a GPU's process.
    kernel.flags = ASSAY_PEER | ASSAY_ON_DEVICE;
    kernel.contract = TorchDevice::contract();
    if (kernel.context != nullptr) {
      TorchOperator& there = operators_.emplace_back(operators_.back());
      there.device = device_.get();
      there.out_function = py::object();
      kernel.unavailable = TorchDevice::missing;
      kernel.context = &there;
    }
    table.push_back(kernel);
  }
  return table;
}

}  // namespace assay::oracle
