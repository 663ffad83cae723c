#include "case_file_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/enrol_graph.h"
#include "vocabulary/case.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

template <class... Arguments>
[[noreturn]] void wrong(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw std::runtime_error(fmt::format(format, std::forward<Arguments>(arguments)...));
}

std::string describe(Dtype dtype, const Shape& shape) {
  return fmt::format("{}[{}]", name(dtype), text(shape));
}

void check_name(std::string_view kind, const std::string& name) {
  const bool printable = std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < ' '; });
  if (name.empty() || name == "." || name == ".." || !printable || name.find('/') != std::string::npos)
    wrong("{} name \"{}\" cannot be used in a case file", kind, name);
}

// "self", or "tensors/0" for an entry of a list.
void check_tensor_name(std::string_view kind, const std::string& name) {
  const std::size_t slash = name.find('/');
  check_name(kind, name.substr(0, slash));
  if (slash != std::string::npos) check_name(kind, name.substr(slash + 1));
}

void check_length(const std::string& name, std::string_view part, std::size_t length,
                  const RecordedOutput& output) {
  // Multiplied as doubles: only equality with a real vector's length matters.
  double elements = 1;
  for (const std::int64_t size : output.shape) elements *= static_cast<double>(size);
  if (static_cast<double>(length) != elements)
    wrong("expected/{}/{} has {} numbers, its shape [{}] needs {}", name, part, length, text(output.shape),
          elements);
}

void check_output(const std::string& name, const RecordedOutput& output) {
  check_name("output", name);
  if (output.actual && output.actual->shape != output.shape)
    wrong("actual/{} is [{}], but expected is [{}]", name, text(output.actual->shape), text(output.shape));
  const bool only_actual = output.actual && output.value.empty() && output.lower.empty() &&
                           output.upper.empty() && output.special.empty();
  if (only_actual) return;
  check_length(name, "value", output.value.size(), output);
  if (output.lower.empty() != output.upper.empty())
    wrong("expected/{} has only one of lower and upper", name);
  if (!output.lower.empty()) check_length(name, "lower", output.lower.size(), output);
  if (!output.upper.empty()) check_length(name, "upper", output.upper.size(), output);
  if (!output.special.empty()) check_length(name, "special", output.special.size(), output);
}

class CaseTextCheck {
 public:
  explicit CaseTextCheck(const RecordedCall& call) : call_(call) {
    for (const auto& entry : call.inputs) left_.insert(entry.first);
  }

  void run(const Case& c) {
    const std::span<const Argument> arguments = c.op->schema.arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string name(arguments[i].name);
      if (const auto* tensor = std::get_if<TensorSpec>(&c.arguments[i])) expect(name, *tensor);
      if (const auto* list = std::get_if<std::vector<TensorSpec>>(&c.arguments[i]))
        for (std::size_t entry = 0; entry < list->size(); ++entry)
          expect(fmt::format("{}/{}", name, entry), (*list)[entry]);
    }
    if (!left_.empty())
      wrong("dataset inputs/{} is there, but the case text has no such tensor", *left_.begin());
  }

 private:
  void expect(const std::string& name, const TensorSpec& spec) {
    const auto found = call_.inputs.find(name);
    if (found == call_.inputs.end())
      wrong("dataset inputs/{} is missing: the case text has that tensor", name);
    const RecordedTensor& t = found->second;
    if (t.dtype != spec.dtype || t.shape != spec.shape)
      wrong("dataset inputs/{} is {}, but the case text says {}", name, describe(t.dtype, t.shape),
            describe(spec.dtype, spec.shape));
    left_.erase(name);
  }

  const RecordedCall& call_;
  std::set<std::string> left_;
};

// A graph is an operator from here on.
void know_graph(const RecordedCall& call) {
  const auto graph = call.notes.find("graph");
  if (graph == call.notes.end()) return;
  try {
    enrol_graph(graph->second);
  } catch (const GraphError& e) {
    wrong("attribute graph: {}", e.what());
  }
}

void check_case_text(const RecordedCall& call) {
  const Operator* op = find_operator(call.op);
  if (op == nullptr) return;
  Case c;
  try {
    c = parse_case(call.case_text);
  } catch (const CaseError& error) {
    wrong("attribute case: {}", error.what());
  }
  if (c.op != op) wrong("attribute op is {}, but the case text is of {}", call.op, c.op->schema.name);
  CaseTextCheck(call).run(c);
}

}  // namespace

void check_recorded(const RecordedCall& call) {
  if (call.op.empty()) wrong("attribute op is empty");
  for (const auto& entry : call.notes) check_name("attribute", entry.first);
  for (const auto& entry : call.inputs) check_tensor_name("input", entry.first);
  for (const auto& entry : call.stages) check_tensor_name("stage", entry.first);
  for (const auto& [name, output] : call.outputs) check_output(name, output);
  know_graph(call);
  check_case_text(call);
}

}  // namespace assay
