#include "answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "../diagnose/diagnosis.h"
#include "../diagnose/strictest.h"
#include "../judge/shown.h"
#include "../model/results.h"
#include "../registry/operator_json.h"
#include "audit.h"
#include "difference.h"
#include "drawn.h"
#include "graph/enrol_graph.h"
#include "judged.h"
#include "operands.h"
#include "vocabulary/operators.h"

namespace assay::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

// JSON has no infinities and no NaN.
Json number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

// What the results are judged by: the program's contract, or that of strangers' results.
struct JudgedBy {
  Contract contract;
  std::string text;  // for people
};
JudgedBy contract_of(const Request& request, const Call& call) {
  const Dtype dtype = call.outputs.empty() ? Dtype::f32 : call.outputs[0].computed_in;
  if (request.contract.empty())
    return {parse_contract(diagnose::strangers_contract(*call.op), dtype), "what common libraries do"};
  try {
    const Contract contract = parse_contract(overridden("", request.contract), dtype);
    return {contract, assay::text(contract)};
  } catch (const std::invalid_argument& e) {
    throw RequestError(kContract, fmt::format("the contract \"{}\": {}", request.contract, e.what()));
  }
}

Json element_json(const JudgedElement& e, const Shape& shape) {
  Json j{{"index", index_of(shape, e.at)}};
  if (e.integer) {
    j["actual"] = *e.integer;
    j["value"] = j["low"] = j["high"] = *e.right_integer;
  } else {
    j["actual"] = number(e.actual);
    j["value"] = number(e.right.value);
    const bool none = e.right.lower > e.right.upper;  // no finite result is right
    j["low"] = none ? Json(nullptr) : number(e.right.lower);
    j["high"] = none ? Json(nullptr) : number(e.right.upper);
  }
  j["times"] = number(e.ratio);
  j["text"] = e.text;
  return j;
}

Json output_json(const Call& call, const JudgedOutput& o) {
  const Checked::Output& shape = call.outputs[o.output];
  Json first = Json::array();
  for (const JudgedElement& e : o.first) first.push_back(element_json(e, shape.shape));
  return {{"name", output_name(*call.op, o.output)},
          {"dtype", name(shape.dtype)},
          {"shape", shape.shape},
          {"elements", o.elements},
          {"as_reference", o.as_reference},
          {"by_interval", o.by_interval},
          {"not_looked_at", o.not_looked_at},
          {"mismatched", o.mismatched},
          {"undecidable", o.undecidable},
          {"worst", number(o.worst)},
          {"max_absolute", number(o.most_absolute)},
          {"max_relative", number(o.most_relative)},
          {"first", std::move(first)},
          {"farthest", o.farthest ? element_json(*o.farthest, shape.shape) : Json(nullptr)}};
}

// How much is known of the cause; docs/python.md says what each word means.
std::string_view certainty(const diagnose::Diagnosis& d) {
  using Kind = diagnose::Diagnosis::Kind;
  switch (d.kind) {
    case Kind::named:
      return d.causes[0].proven ? "proven" : "probable";
    case Kind::recovered:
      return "recovered";
    case Kind::ambiguous:
      return "possible";
    case Kind::partly:
      return "in part";
    case Kind::no_fault:
    case Kind::unknown:
    case Kind::no_results:
    case Kind::undecided:
      break;
  }
  return "none";
}

Json diagnosis_json(const Operands& operands, const Request& request, const JudgedBy& by) {
  if (operands.call.op->graph != nullptr) enrol_wrong_graphs(*operands.call.op);
  diagnose::Evidence evidence(operands.call, by.contract, operands.results);
  const auto patience = std::chrono::milliseconds(static_cast<std::int64_t>(request.seconds * 1000));
  diagnose::Options options{.patience = {.singles = patience, .pairs = patience / 3}};
  options.stranger = request.contract.empty();
  diagnose::Diagnosis d = diagnose::diagnose(evidence, options);
  d.case_text = operands.case_text;
  d.impl = "actual";
  if (request.contract.empty()) d.contract = diagnose::kOfStrangers;
  Json j = Json::parse(diagnose::to_json({d}))["diagnoses"][0];
  j["certainty"] = certainty(d);
  j["summary"] = diagnose::summary(d);
  j["text"] = diagnose::to_text(d, Style(false));
  j["svg"] = d.where.empty() ? "" : diagnose::to_svg({d});
  return j;
}

Reply judge(const Request& request, const ReadMemory& read) {
  const Operator& op = operator_of(request);
  const std::uint64_t most = request.sample.value_or(kMostUnasked);
  if (request.results.empty())
    throw RequestError(kArgument, fmt::format("{}: no result was given", op.schema.name));
  const Operands operands = operands_of(op, request, most, read);
  const JudgedBy by = contract_of(request, operands.call);
  Json j{{"op", op.schema.name}, {"case", operands.case_text}, {"contract", by.text}};
  if (!operands.misfit.empty()) {
    j.update(
        {{"verdict", token(Verdict::diverged)}, {"misfit", operands.misfit}, {"outputs", Json::array()}});
    return {dumped(j), {}};
  }
  Expectation expectation(operands.call);
  const Judged judged = judge_results(expectation, by.contract, operands.results, {.most = request.sample},
                                      static_cast<std::size_t>(request.first));
  j["verdict"] = token(judged.verdict);
  j["outputs"] = Json::array();
  for (const JudgedOutput& o : judged.outputs) j["outputs"].push_back(output_json(operands.call, o));
  if (judged.verdict == Verdict::diverged && request.seconds > 0)
    j["diagnosis"] = diagnosis_json(operands, request, by);
  return {dumped(j), {}};
}

Reply diagnosed(const Request& request, const ReadMemory& read) {
  const Operator& op = operator_of(request);
  if (request.results.empty())
    throw RequestError(kArgument, fmt::format("{}: no result was given", op.schema.name));
  const Operands operands = operands_of(op, request, diagnose::kMostJudged, read);
  if (!operands.misfit.empty()) throw RequestError(kArgument, operands.misfit);
  return {dumped({{"op", op.schema.name},
                  {"diagnosis", diagnosis_json(operands, request, contract_of(request, operands.call))}}),
          {}};
}

// The least and the greatest result that is right; NaN where none but NaN is.
std::pair<double, double> ends(const Interval& i) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double low = i.lower <= i.upper ? i.lower : kInfinity, high = i.lower <= i.upper ? i.upper : -kInfinity;
  if (i.positive_infinity) high = kInfinity;
  if (i.negative_infinity) low = -kInfinity;
  if (low > high) return {std::nan(""), std::nan("")};
  return {low, high};
}

// NumPy has no bf16 and no f8.
Dtype dtype_of_array(Dtype d) {
  return d == Dtype::bf16 || d == Dtype::f8e4m3 || d == Dtype::f8e5m2 ? Dtype::f32 : d;
}

Json array_json(AnswerMemory& memory, Dtype dtype, const Shape& shape, const std::vector<std::byte>& packed) {
  return {{"dtype", name(dtype)}, {"shape", shape}, {"offset", memory.add(packed)}, {"bytes", packed.size()}};
}

Json exact_json(AnswerMemory& memory, Expectation& expectation, int output) {
  const Checked::Output& o = expectation.call().outputs[static_cast<std::size_t>(output)];
  const Json array = array_json(memory, o.dtype, o.shape, expectation.rounded(output));
  return {{"value", array}, {"low", array}, {"high", array}};
}

Json bounds_json(AnswerMemory& memory, Expectation& expectation, int output, const Contract& contract) {
  if (expectation.integers(output) != nullptr) return exact_json(memory, expectation, output);
  const Checked::Output& o = expectation.call().outputs[static_cast<std::size_t>(output)];
  const std::vector<double>& values = expectation.values(output);
  std::vector<std::size_t> all(values.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Expectation::Intervals& intervals = expectation.intervals(output, all, contract);
  std::vector<double> low(values.size()), high(values.size()), value(values.size());
  const Format& f = format(o.dtype);
  for (const std::size_t e : all) {
    std::tie(low[e], high[e]) = ends(intervals[e]);
    value[e] = round_to(values[e], f);
  }
  const Dtype dtype = dtype_of_array(o.dtype);
  const auto stored = [&](const std::vector<double>& numbers) {
    std::vector<std::byte> packed(numbers.size() * static_cast<std::size_t>(bytes(dtype)));
    store_all(packed.data(), dtype, numbers);
    return array_json(memory, dtype, o.shape, packed);
  };
  return {{"value", stored(value)}, {"low", stored(low)}, {"high", stored(high)}};
}

Reply bounds(const Request& request, const ReadMemory& read) {
  const Operator& op = operator_of(request);
  const Operands operands = operands_of(op, request, kAllElements, read);
  const JudgedBy by = contract_of(request, operands.call);
  Expectation expectation(operands.call);
  Reply reply;
  Json outputs = Json::array();
  for (std::size_t o = 0; o < operands.call.outputs.size(); ++o) {
    Json one = bounds_json(reply.memory, expectation, static_cast<int>(o), by.contract);
    one["name"] = output_name(op, o);
    outputs.push_back(std::move(one));
  }
  reply.text = dumped({{"op", op.schema.name},
                       {"case", operands.case_text},
                       {"contract", by.text},
                       {"outputs", std::move(outputs)}});
  return reply;
}

Json faults_json(const std::vector<PlantedFault>& faults) {
  Json all = Json::array();
  for (const PlantedFault& f : faults) all.push_back({{"name", f.name}, {"says", f.says}});
  return all;
}

Reply audited(const Request& request, const ReadMemory& read) {
  const Operator& op = operator_of(request);
  const Operands operands = operands_of(op, request, kMostIntervals, read);
  if (op.graph != nullptr) enrol_wrong_graphs(op);
  const JudgedBy by = contract_of(request, operands.call);
  Expectation expectation(operands.call);
  const Audit a = audit(expectation, by.contract, request.relative, request.absolute, request.seconds);
  return {dumped({{"op", op.schema.name},
                  {"case", operands.case_text},
                  {"contract", by.text},
                  {"relative", request.relative},
                  {"absolute", request.absolute},
                  {"rejected", a.rejected},
                  {"let_pass", faults_json(a.let_pass)},
                  {"invisible", faults_json(a.invisible)},
                  {"within_bounds", faults_json(a.within_bounds)},
                  {"not_tried", a.not_tried}}),
          {}};
}

Reply described(const Request& request) {
  if (request.op.empty() && request.graph.empty()) {
    Json all = Json::array();
    for (const Operator* op : operators())
      all.push_back({{"op", op->schema.name}, {"schema", op->schema.text}, {"formula", op->formula}});
    return {dumped({{"operators", std::move(all)}}), {}};
  }
  Json fields = Json::array();
  for (const ContractField& f : contract_fields())
    fields.push_back({{"field", f.name}, {"values", f.values}, {"meaning", f.meaning}});
  return {dumped({{"operator", operator_json(operator_of(request))}, {"contract_fields", std::move(fields)}}),
          {}};
}

}  // namespace

Reply reply_to(const Request& request, const ReadMemory& read) {
  try {
    switch (request.asked) {
      case Asked::judge:
        return judge(request, read);
      case Asked::bounds:
        return bounds(request, read);
      case Asked::diagnose:
        return diagnosed(request, read);
      case Asked::diff:
        return {difference_of(request, read), {}};
      case Asked::operators:
        return described(request);
      case Asked::audit:
        return audited(request, read);
      case Asked::cases:
        return cases_of(request);
      case Asked::call:
        return call_of_case(request);
    }
  } catch (const CaseError& e) {
    throw RequestError(kArgument, e.what());
  }
  throw RequestError(kProtocol, "an unknown request");
}

Reply failure(std::string_view kind, std::string_view error) {
  return {dumped({{"error", error}, {"kind", kind}}), {}};
}

}  // namespace assay::serve
