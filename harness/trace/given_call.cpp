#include "given_call.h"

#include <algorithm>
#include <string_view>

#include "../model/results.h"
#include "graph/movement.h"
#include "vocabulary/case.h"
#include "vocabulary/domain.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

// Keys of the tensors that the trace has for an argument.
std::vector<std::string> keys_of(const RecordedCall& recorded, const std::string& argument) {
  if (recorded.inputs.contains(argument)) return {argument};
  std::vector<std::string> keys;
  for (std::size_t n = 0;; ++n) {
    std::string key = argument + "/" + std::to_string(n);
    if (!recorded.inputs.contains(key)) return keys;
    keys.push_back(std::move(key));
  }
}

// What "cat:tensors=[f32[2],f32[3]],dim=1" says of each argument.
std::map<std::string, std::string> words_of(std::string_view text) {
  std::map<std::string, std::string> words;
  const std::size_t colon = text.find(':');
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    int depth = 0;
    std::size_t end = 0;
    while (end < rest.size() && (rest[end] != ',' || depth > 0)) {
      depth += rest[end] == '[' || rest[end] == '(' ? 1 : rest[end] == ']' || rest[end] == ')' ? -1 : 0;
      ++end;
    }
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos)
      words[std::string(word.substr(0, equals))] = std::string(word.substr(equals + 1));
  }
  return words;
}

// What is written over all of a tensor is that tensor from then on.
std::optional<GivenCall> as_copy(const RecordedCall& recorded) {
  const auto from = recorded.inputs.find("src"), onto = recorded.inputs.find("self");
  if (from == recorded.inputs.end() || onto == recorded.inputs.end() ||
      from->second.dtype != onto->second.dtype || from->second.shape != onto->second.shape)
    return std::nullopt;
  GivenCall call{.node = "contiguous"};
  call.arguments.push_back({.name = "self", .tensors = {"src"}});
  call.results = {"out"};
  return call;
}

// Of an operator that Assay does not have, but whose results are elements of its arguments.
std::optional<GivenCall> as_movement(const RecordedCall& recorded) {
  const bool converts = recorded.op == "_to_copy";
  const Movement* m = find_movement(converts ? "to.dtype" : recorded.op);
  if (m == nullptr || m->schema.result_storage[0].list) return std::nullopt;
  const auto words = words_of(recorded.case_text);
  GivenCall call{.node = std::string(m->schema.name)};
  for (const Argument& a : m->schema.arguments()) {
    GivenCall::Argument argument{.name = std::string(a.name), .is_list = a.list && a.is_tensor()};
    if (a.is_tensor()) {
      argument.tensors = keys_of(recorded, argument.name);
      if (argument.tensors.empty()) return std::nullopt;
    } else if (const auto word = words.find(argument.name); word != words.end() && word->second != "none") {
      argument.text = word->second;
    } else {
      // A conversion to nothing, such as to another device.
      if (!a.has_default) return std::nullopt;
      continue;
    }
    call.arguments.push_back(std::move(argument));
  }
  call.results = {"out"};
  return call;
}

}  // namespace

std::optional<GivenCall> as_node(const RecordedCall& recorded) {
  const Operator* op = find_operator(recorded.op);
  if (op == nullptr) return recorded.op == "copy_" ? as_copy(recorded) : as_movement(recorded);
  if (op->graph != nullptr) return std::nullopt;
  const Case parsed = parse_case(recorded.case_text);
  GivenCall call{.node = std::string(op->schema.name)};
  for (std::size_t i = 0; i < op->schema.argument_count; ++i) {
    const Argument& a = op->schema.argument_storage[i];
    GivenCall::Argument argument{.name = std::string(a.name), .is_list = a.list && a.is_tensor()};
    if (a.is_tensor())
      argument.tensors = keys_of(recorded, argument.name);
    else
      argument.text = text(parsed.arguments[i]);
    if (a.is_tensor() && argument.tensors.empty()) argument.text = "none";
    if (const auto* x = std::get_if<double>(&parsed.arguments[i]);
        x != nullptr && domain(*op, a.name).kind == Domain::Kind::epsilon)
      argument.epsilon = *x;
    call.arguments.push_back(std::move(argument));
  }
  for (std::size_t r = 0; r < op->schema.result_count; ++r) call.results.push_back(output_name(*op, r));
  return call;
}

}  // namespace assay
