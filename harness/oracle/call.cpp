#include "call.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "rejection.h"
#include "vocabulary/kernel.h"
#include "vocabulary/layout.h"

namespace assay::oracle {
namespace {

// Keeps the memory of remembered refusals bounded.
constexpr std::size_t kRemembered = 4096;

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

// `to_tensor` makes torch's tensor of one of ours.
template <class ToTensor>
py::object to_python(const Tensors& tensors, const assay_value& value, const ToTensor& to_tensor) {
  const auto list = [&](auto item) {
    py::tuple items(value.count);
    for (std::size_t i = 0; i < value.count; ++i) items[i] = item(i);
    return items;
  };
  switch (value.kind) {
    case ASSAY_KIND_NONE:
      return py::none();
    case ASSAY_KIND_TENSOR:
      return to_tensor(*value.as.tensor);
    case ASSAY_KIND_TENSORS:
      return list([&](std::size_t i) -> py::object {
        if (value.as.tensors[i] == nullptr) return py::none();
        return to_tensor(*value.as.tensors[i]);
      });
    case ASSAY_KIND_INT:
      return py::int_(value.as.integer);
    case ASSAY_KIND_DOUBLE:
      return py::float_(value.as.real);
    case ASSAY_KIND_BOOL:
      return py::bool_(value.as.integer != 0);
    case ASSAY_KIND_STRING:
      return py::str(value.as.string);
    case ASSAY_KIND_DTYPE:
      return py::reinterpret_borrow<py::object>(tensors.dtype(value.as.dtype));
    case ASSAY_KIND_MEMORY_FORMAT:
      return py::module_::import("torch").attr(name(static_cast<MemoryFormat>(value.as.integer)).data());
    case ASSAY_KIND_INTS:
      return list([&](std::size_t i) { return py::int_(value.as.integers[i]); });
    case ASSAY_KIND_DOUBLES:
      return list([&](std::size_t i) { return py::float_(value.as.reals[i]); });
    case ASSAY_KIND_BOOLS:
      return list([&](std::size_t i) { return py::bool_(value.as.integers[i] != 0); });
    default:
      throw Unsupported(fmt::format("a value of unknown kind {}", value.kind));
  }
}

template <class ToTensor>
py::object call_torch(const TorchOperator& op, std::span<const assay_value> values,
                      const ToTensor& to_tensor) {
  py::tuple positional(op.positional);
  for (std::size_t i = 0; i < op.positional; ++i)
    positional[i] = to_python(*op.tensors, values[i], to_tensor);
  py::object keywords;
  if (!op.keywords.empty()) {
    py::dict named;
    for (std::size_t i = 0; i < op.keywords.size(); ++i)
      named[op.keywords[i]] = to_python(*op.tensors, values[op.positional + i], to_tensor);
    keywords = std::move(named);
  }
  auto result =
      py::reinterpret_steal<py::object>(PyObject_Call(op.function.ptr(), positional.ptr(), keywords.ptr()));
  if (!result) throw py::error_already_set();
  return result;
}

// The message is there whether the call failed or was refused.
int say(const assay_call* call, int status, const std::string& text) {
  refuse(call, text.c_str());
  return status;
}

Rejection meaning(const py::error_already_set& error) {
  return rejection(std::string(py::str(error.type().attr("__name__"))), what(error));
}

// Whether a result's elements lie elsewhere than was asked for. PyTorch lays results out as it likes, like an input most often.
bool lies_otherwise(const py::object& result, const assay_tensor& asked) {
  const auto strides = py::tuple(result.attr("stride")());
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (asked.shape[d] > 1 && strides[d].cast<std::int64_t>() != asked.strides[d]) return true;
  return false;
}

bool is_asked_for(const TorchOperator& op, const assay_call& call, std::size_t i) {
  return op.mask < 0 || call.arguments[op.mask].as.integers[i] != 0;
}

// Whether one of the results that are asked for does.
bool any_lies_otherwise(const TorchOperator& op, const py::object& made, const assay_call& call) {
  for (std::size_t i = 0; i < call.output_count; ++i)
    if (is_asked_for(op, call, i) &&
        lies_otherwise(py::isinstance<py::tuple>(made) ? py::object(made[py::int_(i)]) : made,
                       *call.outputs[i]))
      return true;
  return false;
}

int store_results(const TorchOperator& op, const py::object& result, const assay_call* call) {
  if (call->output_count == 0) return ASSAY_OK;
  const bool several = py::isinstance<py::tuple>(result) || py::isinstance<py::list>(result);
  const std::size_t returned = several ? py::len(result) : 1;
  if (returned != call->output_count)
    return say(call, 1,
               fmt::format("torch returned {} results, the rule says {}", returned, call->output_count));
  for (std::size_t i = 0; i < returned; ++i) {
    if (!is_asked_for(op, *call, i)) continue;  // it may be None, or be there all the same
    const py::object one = several ? py::object(result[py::int_(i)]) : result;
    if (const std::string why = op.tensors->store(one, *call->outputs[i]); !why.empty())
      return say(call, 1, why);
  }
  return ASSAY_OK;
}

py::object tensor_for(const TorchOperator& op, const assay_tensor& tensor) {
  return op.device != nullptr ? op.device->there(tensor) : op.tensors->wrap(tensor);
}

int run(const TorchOperator& op, const assay_call* call) {
  py::object result;
  try {
    const std::span values(call->arguments, call->argument_count);
    result = call_torch(op, values, [&](const assay_tensor& t) { return tensor_for(op, t); });
  } catch (const py::error_already_set& error) {
    switch (meaning(error)) {
      case Rejection::unsupported:
        return say(call, ASSAY_REFUSED, brief(what(error)));
      case Rejection::invalid:
        return say(call, ASSAY_REFUSED, "invalid argument: " + brief(what(error)));
      case Rejection::failed:
        return say(call, 1, brief(what(error)));
    }
  }
  const int status = store_results(op, result, call);
  if (status == ASSAY_OK && call->information_capacity != 0 && any_lies_otherwise(op, result, *call))
    std::snprintf(call->information, call->information_capacity,
                  "lays its result out otherwise: a copy is in its time");
  return status;
}

struct Described {
  std::string text;    // all that torch chooses its code by
  bool empty = false;  // there is a tensor without elements: torch returns before it chooses
};

Described described(std::span<const assay_value> values) {
  Described d;
  const auto add = [&](const void* data, std::size_t n) { d.text.append(static_cast<const char*>(data), n); };
  const auto add_tensor = [&](const assay_tensor* t) {
    if (t == nullptr) return;
    add(&t->dtype, sizeof t->dtype);
    add(&t->ndim, sizeof t->ndim);
    d.empty |= static_cast<const View*>(t)->numel() == 0;
  };
  for (const assay_value& v : values) {
    add(&v.kind, sizeof v.kind);
    add(&v.count, sizeof v.count);
    switch (v.kind) {
      case ASSAY_KIND_NONE:
        break;
      case ASSAY_KIND_TENSOR:
        add_tensor(v.as.tensor);
        break;
      case ASSAY_KIND_TENSORS:
        for (std::size_t i = 0; i < v.count; ++i) add_tensor(v.as.tensors[i]);
        break;
      case ASSAY_KIND_STRING:
        d.text += v.as.string;
        break;
      case ASSAY_KIND_DTYPE:
        add(&v.as.dtype, sizeof v.as.dtype);
        break;
      case ASSAY_KIND_DOUBLES:
        add(v.as.reals, v.count * sizeof *v.as.reals);
        break;
      case ASSAY_KIND_INTS:
      case ASSAY_KIND_BOOLS:
        add(v.as.integers, v.count * sizeof *v.as.integers);
        break;
      default:
        add(&v.as.integer, sizeof v.as.integer);
        break;  // int, float and bool: 8 bytes each
    }
  }
  return d;
}

// Why torch has no code for the call, or nothing.
std::string probe(const TorchOperator& op, std::span<const assay_value> values) {
  try {
    call_torch(op, values, [&](const assay_tensor& t) {
      return op.device != nullptr ? op.device->zeros(t) : op.tensors->zeros(t);
    });
  } catch (const py::error_already_set& error) {
    if (meaning(error) == Rejection::unsupported) return brief(what(error));
  }
  return {};
}

int find_refusal(const TorchOperator& op, const assay_call* call) {
  const std::span values(call->arguments, call->argument_count);
  const Described key = described(values);
  if (key.empty) {
    const std::string why = probe(op, values);
    return why.empty() ? ASSAY_OK : say(call, ASSAY_REFUSED, why);
  }
  auto at = op.refusals.find(key.text);
  if (at == op.refusals.end()) {
    if (op.refusals.size() == kRemembered) op.refusals.clear();
    at = op.refusals.emplace(key.text, probe(op, values)).first;
  }
  return at->second.empty() ? ASSAY_OK : say(call, ASSAY_REFUSED, at->second);
}

// A Python function with its arguments.
struct PythonCall {
  py::object function;
  py::object positional;
  py::object keywords;         // or null
  std::vector<py::object> to;  // where its results are copied, if they lie otherwise than was asked for

  // Null if Python raised an exception, which is then gone.
  py::object result() const {
    auto made =
        py::reinterpret_steal<py::object>(PyObject_Call(function.ptr(), positional.ptr(), keywords.ptr()));
    if (!made) PyErr_Clear();
    return made;
  }
  // False if Python raised an exception.
  bool operator()() const {
    const py::object made = result();
    if (!made) return false;
    try {
      for (std::size_t i = 0; i < to.size(); ++i)
        if (!to[i].is_none())
          to[i].attr("copy_")(py::isinstance<py::tuple>(made) ? py::object(made[py::int_(i)]) : made);
    } catch (const py::error_already_set&) {
      return false;
    }
    return true;
  }
  // The fastest of a few tries, in nanoseconds; none if it fails.
  std::optional<double> time() const {
    if (!(*this)()) return std::nullopt;
    double best = 1e300;
    for (int i = 0; i < 5; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      (*this)();
      best = std::min(
          best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  }
};

// The call as it stands, with tensors that `wrap` makes.
template <class ToTensor>
PythonCall plain_call(const TorchOperator& op, const assay_call& call, const ToTensor& wrap) {
  const std::span values(call.arguments, call.argument_count);
  py::tuple positional(op.positional);
  for (std::size_t i = 0; i < op.positional; ++i) positional[i] = to_python(*op.tensors, values[i], wrap);
  py::dict keywords;
  for (std::size_t i = 0; i < op.keywords.size(); ++i)
    keywords[op.keywords[i]] = to_python(*op.tensors, values[op.positional + i], wrap);
  return {op.function, positional, keywords.empty() ? py::object() : py::object(keywords), {}};
}

// Where results are copied that lie otherwise than was asked for: work that others do, and that was else left out. Empty if none does.
std::vector<py::object> copied_to(const TorchOperator& op, const PythonCall& plain, const assay_call& call) {
  std::vector<py::object> to;
  const py::object made = plain.result();
  if (!made || !any_lies_otherwise(op, made, call)) return to;
  for (std::size_t i = 0; i < call.output_count; ++i)
    to.push_back(is_asked_for(op, call, i) ? tensor_for(op, *call.outputs[i]) : py::object(py::none()));
  return to;
}

PythonCall faster_call(const TorchOperator& op, const assay_call& call) {
  const auto wrap = [&](const assay_tensor& t) { return op.tensors->wrap(t); };
  PythonCall plain = plain_call(op, call, wrap);
  plain.to = copied_to(op, plain, call);
  if (!op.out_function || op.out_keywords.size() != call.output_count) return plain;
  py::dict with_out;
  if (plain.keywords)
    for (const auto& [name, value] : py::dict(plain.keywords)) with_out[name] = value;
  for (std::size_t i = 0; i < op.out_keywords.size(); ++i)
    with_out[op.out_keywords[i]] = wrap(*call.outputs[i]);
  const PythonCall into{op.out_function, plain.positional, with_out, {}};
  const std::optional<double> plain_ns = plain.time(), into_ns = into.time();
  return into_ns && (!plain_ns || *into_ns <= *plain_ns) ? into : plain;
}

// `function` is one of those above, under the lock and with every exception as a status.
template <class Function>
int enter(const assay_call* call, const Function& function) {
  try {
    const py::gil_scoped_acquire gil;
    try {
      const TorchOperator& op = *static_cast<const TorchOperator*>(call->kernel->context);
      const std::size_t expected = op.positional + op.keywords.size();
      if (call->argument_count != expected)
        return say(call, ASSAY_REFUSED,
                   fmt::format("invalid argument: {} arguments given, the schema has {}",
                               call->argument_count, expected));
      enter_inference_mode();
      return function(op, call);
    } catch (const Unsupported& reason) {
      return say(call, ASSAY_REFUSED, reason.what());
    } catch (const py::error_already_set& error) {
      return say(call, 1, brief(what(error)));
    }
  } catch (const std::exception& error) {
    return say(call, 1, error.what());
  }
}

}  // namespace

int run_torch(const assay_call* call) { return enter(call, run); }
int refuses_torch(const assay_call* call) { return enter(call, find_refusal); }

std::function<int()> prepare_torch(const assay_call& call) {
  const py::gil_scoped_acquire gil;
  enter_inference_mode();
  const auto& op = *static_cast<const TorchOperator*>(call.kernel->context);
  // Python objects must not go without the lock.
  const std::shared_ptr<PythonCall> shared(new PythonCall(faster_call(op, call)), [](PythonCall* p) {
    const py::gil_scoped_acquire lock;
    delete p;
  });
  return [shared] {
    const py::gil_scoped_acquire lock;
    return (*shared)() ? ASSAY_OK : 1;
  };
}

py::object call_on_device(const assay_call& call) {
  enter_inference_mode();
  const auto& op = *static_cast<const TorchOperator*>(call.kernel->context);
  const PythonCall plain = plain_call(op, call, [&](const assay_tensor& t) { return tensor_for(op, t); });
  const py::object partial = py::module_::import("functools").attr("partial");
  const py::dict keywords = plain.keywords ? py::dict(plain.keywords) : py::dict();
  const py::object alone = partial(plain.function, *py::tuple(plain.positional), **keywords);
  const std::vector<py::object> to = copied_to(op, plain, call);
  if (to.empty()) return alone;
  py::tuple places(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) places[i] = to[i];
  return op.device->with_copies(alone, places);
}

int store_results(const py::object& result, const assay_call* call) {
  return store_results(*static_cast<const TorchOperator*>(call->kernel->context), result, call);
}

std::string what(const py::error_already_set& error) {
  return error.value() ? std::string(py::str(error.value())) : std::string(error.what());
}

}  // namespace assay::oracle
