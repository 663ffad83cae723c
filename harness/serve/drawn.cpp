#include "drawn.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "graph/graph.h"
#include "operands.h"
#include "vocabulary/case.h"

namespace assay::serve {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinities and no NaN.
Json request_number(double x) {
  if (std::isfinite(x)) return x;
  return {{"number", std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf"}};
}

Json tensor_json(AnswerMemory& memory, const TensorData& t) {
  const std::uint64_t place = memory.add(t.memory);
  const auto first =
      static_cast<std::uint64_t>(t.strided.offset) * static_cast<std::uint64_t>(bytes(t.dtype));
  return {{"tensor",
           {{"dtype", name(t.dtype)},
            {"shape", t.shape},
            {"strides", t.strided.strides},
            {"offset", place + first}}}};
}

Json value_json(AnswerMemory& memory, const CallValue& value) {
  return std::visit(
      [&](const auto& v) -> Json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, None>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, TensorData>) {
          return tensor_json(memory, v);
        } else if constexpr (std::is_same_v<T, double>) {
          return request_number(v);
        } else if constexpr (std::is_same_v<T, Dtype>) {
          return {{"dtype", name(v)}};
        } else if constexpr (std::is_same_v<T, MemoryFormat>) {
          return {{"format", name(v)}};
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          Json all = Json::array();
          for (const double x : v) all.push_back(request_number(x));
          return all;
        } else if constexpr (std::is_same_v<T, std::vector<TensorData>>) {
          Json all = Json::array();
          for (const TensorData& t : v) all.push_back(tensor_json(memory, t));
          return all;
        } else {
          return v;
        }
      },
      value);
}

}  // namespace

Reply cases_of(const Request& request) {
  const Operator& op = operator_of(request);
  if (!op.dtypes.contains(request.dtype))
    throw RequestError(kArgument,
                       fmt::format("dtype {}: {} has no such results", name(request.dtype), op.schema.name));
  Json all = Json::array();
  for (std::uint64_t i = 0; i < request.count; ++i)
    all.push_back(text(generate(op, request.dtype, request.seed, i)));
  return {Json{{"op", op.schema.name}, {"cases", std::move(all)}}.dump(), {}};
}

Reply call_of_case(const Request& request) {
  if (!request.graph.empty()) operator_of(request);
  const Call call = materialise(parse_case(request.case_text));
  if (!call.error.empty())
    throw RequestError(kArgument, fmt::format("{}: {}", request.case_text, call.error));
  Reply reply;
  Json arguments = Json::array();
  for (const CallValue& v : call.arguments) arguments.push_back(value_json(reply.memory, v));
  reply.text =
      Json{{"op", call.op->schema.name},
           {"schema", call.op->graph != nullptr ? call.op->graph->text : std::string(call.op->schema.text)},
           {"arguments", std::move(arguments)}}
          .dump(-1, ' ', false, Json::error_handler_t::replace);
  return reply;
}

}  // namespace assay::serve
