#include "operator_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "../model/results.h"
#include "vocabulary/domain.h"
#include "vocabulary/reference.h"

namespace assay {

std::vector<Dtype> dtypes_of(const Operator& op) {
  std::vector<Dtype> all;
  for (int d = 0; d < kDtypes; ++d)
    if (op.dtypes.contains(static_cast<Dtype>(d))) all.push_back(static_cast<Dtype>(d));
  return all;
}

namespace {

using Json = nlohmann::ordered_json;

// What a tensor argument may be: of its own dtypes, or of the operator's.
Json tensor_json(const Operator& op, const Argument& a) {
  const Domain& d = domain(op, a.name);
  Json dtypes = Json::array();
  for (const Dtype dtype : d.own.empty() ? dtypes_of(op) : d.own) dtypes.push_back(name(dtype));
  return {{"name", a.name},
          {"kind", "tensor"},
          {"optional", a.optional},
          {"dtypes", std::move(dtypes)},
          {"rule", !d.own.empty()                        ? "its own"
                   : op.dtype_rule == DtypeRule::promote ? "promoted"
                                                         : "shared"}};
}

bool computes_in_integers(const Operator& op) {
  return op.in_integers &&
         std::ranges::any_of(dtypes_of(op), [](Dtype d) { return !is_float(d) && d != Dtype::boolean; });
}

// Of each argument that has a dtype, or whose numbers depend on one.
Json arguments_json(const Operator& op) {
  Json all = Json::array();
  for (const Argument& a : op.schema.arguments()) {
    const Domain& d = domain(op, a.name);
    if (a.is_tensor())
      all.push_back(tensor_json(op, a));
    else if (a.type == Type::dtype)
      all.push_back({{"name", a.name},
                     {"kind", "dtype"},
                     {"rule", d.kind == Domain::Kind::dtype_of
                                  ? fmt::format("the dtype of {}", op.schema.argument_storage[d.of].name)
                              : a.optional ? "none, or one of these"
                                           : "one of these"}});
    else if (a.type == Type::scalar && computes_in_integers(op))
      all.push_back(
          {{"name", a.name}, {"kind", "number"}, {"rule", "an integer where the result is of integers"}});
  }
  return all;
}

// Which dtype each result has.
Json results_json(const Operator& op) {
  std::string rule = "f32";
  const auto arguments = op.schema.arguments();
  const auto decides = std::ranges::find_if(
      arguments, [&](const Argument& a) { return a.is_tensor() && domain(op, a.name).own.empty(); });
  if (decides != arguments.end()) rule = fmt::format("the dtype of {}", decides->name);
  if (op.dtype_rule == DtypeRule::promote)
    rule = "the dtype that tensors are promoted to, as torch.result_type";
  if (op.dtype_rule == DtypeRule::dtype_argument)
    rule = decides == arguments.end() ? "the argument dtype"
           : computes_in_integers(op)
               ? fmt::format("the argument dtype; where that is none, the dtype of {}, and i64 for integers",
                             decides->name)
               : fmt::format("the argument dtype; where that is none, the dtype of {}", decides->name);
  Json all = Json::array();
  for (std::size_t k = 0; k < op.schema.result_count; ++k)
    all.push_back({{"name", output_name(op, k)}, {"rule", (op.positions >> k & 1) != 0 ? "i64"
                             : (op.truths >> k & 1) != 0  ? "bool"
                                                          : rule}});
  return all;
}

}  // namespace

Json operator_json(const Operator& op) {
  const Reference* reference = find_reference(op.schema.name);
  Json dtypes = Json::array();
  for (const Dtype dtype : dtypes_of(op)) dtypes.push_back(name(dtype));
  return {{"op", op.schema.name},
          {"schema", op.schema.text},
          {"formula", op.formula},
          {"shapes", op.shapes},
          {"domains", op.domains},
          {"dtypes", std::move(dtypes)},
          {"arguments", arguments_json(op)},
          {"results", results_json(op)},
          {"source", op.source},
          {"reference", fmt::format("{}:{}", reference->file(), reference->line())},
          {"oracle", op.schema.ns == "aten" ? "torch" : "none"}};
}

}  // namespace assay
