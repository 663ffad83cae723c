#include "folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "../diagnose/evidence.h"
#include "../diagnose/rounding.h"
#include "../diagnose/strictest.h"
#include "../files/tensor_data.h"
#include "another.h"
#include "graph/enrol_graph.h"
#include "region_text.h"
#include "vocabulary/case.h"

namespace assay {
namespace {

// What people take for the epsilon of a batch norm.
constexpr std::array<std::string_view, 9> kEpsilons{"0.001", "0.0001", "1e-05", "1e-06", "1e-07",
                                                    "1e-08", "1e-12",  "0.01",  "0"};

// Other scales that people fold by, for `{0}` of the norm's weight, `{1}` of its variance with eps.
struct WrongScale {
  std::string_view scale, says;
};
constexpr std::array<WrongScale, 5> kWrongScales{{
    {"{0} / ({1})", "divided by the variance and not by its root"},
    {"{0} * sqrt({1})", "multiplied by the root of the variance, and not divided by it"},
    {"{0} * ({1})", "multiplied by the variance, and not divided by its root"},
    {"{0} + 0.0 * ({1})", "without the variance"},
    {"0.0 * {0} + rsqrt({1})", "without the weight of the norm"},
}};

std::string scale_of(const FoldedTerms& t) {
  if (!t.wrong_scale.empty())
    return fmt::format(fmt::runtime(t.wrong_scale), t.gamma == "none" ? "1.0" : t.gamma, fmt::format("{} + {}", t.variance, t.eps));
  const std::string root = fmt::format("rsqrt({} + {})", t.variance, t.eps);
  return t.gamma == "none" ? root : fmt::format("{} * {}", t.gamma, root);
}

std::string case_word(const RecordedCall& call, std::string_view name) {
  const Case parsed = parse_case(call.case_text);
  const int i = parsed.op->schema.find(name);
  return i < 0 ? std::string() : text(parsed.arguments[static_cast<std::size_t>(i)]);
}

// A graph of parameters, whose only result stands in `expression`.
struct ParameterGraph {
  RegionText text;
  FoldedTerms terms;

  ParameterGraph(const RecordedCall& convolution, const RecordedCall& norm, bool takes_weight) {
    const auto term = [&](const RecordedCall& call, const char* argument, const char* name) {
      const auto found = call.inputs.find(argument);
      if (found == call.inputs.end()) return std::string("none");
      text.argument({text.name(name), tensor_of(found->second), {}, true});
      return std::string(name);
    };
    if (takes_weight) {
      terms.weight = term(convolution, "weight", "weight");
      terms.dimensions = convolution.inputs.at("weight").shape.size();
    } else {
      terms.bias = term(convolution, "bias", "bias");
      terms.beta = term(norm, "bias", "beta");
      terms.mean = term(norm, "running_mean", "mean");
    }
    terms.gamma = term(norm, "weight", "gamma");
    terms.variance = term(norm, "running_var", "variance");
    terms.eps = case_word(norm, "eps");
  }
};

// Whether these are the folded parameters, and how far they are from them.
struct Held {
  bool right = false;
  std::vector<double> folded;  // as the reference has them
};

std::optional<Held> held_against(const RecordedCall& convolution, const RecordedCall& norm, bool is_weight,
                                 const TensorData& own, const std::string& eps, std::string_view wrong_scale = {}) {
  ParameterGraph g(convolution, norm, is_weight);
  g.terms.wrong_scale = wrong_scale;
  if (!eps.empty()) g.terms.eps = eps;
  g.text.statement({"folded"}, is_weight ? folded_weight(g.terms) : folded_bias(g.terms), "folded");
  g.text.result("folded", own.shape);
  RegionText::Written written = std::move(g.text).written();
  Call call;
  for (RegionText::Argument& a : written.arguments) call.arguments.emplace_back(std::move(a.data));
  try {
    call.op = &enrol_graph_alone(written.text);
  } catch (const GraphError&) {
    return std::nullopt;
  }
  Checked checked = check_arguments(*call.op, Arguments(call).values());
  if (!checked.ok() || checked.outputs[0].shape != own.shape) return std::nullopt;
  call.outputs = std::move(checked.outputs);
  call.output_layouts.resize(1);
  const auto same = exactly_as(own, call.outputs[0].dtype);
  if (!same) return std::nullopt;
  diagnose::Rounding rounding;
  if (diagnose::is_narrower(own.dtype, same->dtype)) rounding.stored = {own.dtype};
  diagnose::Evidence evidence(call,
                              diagnose::contract_or_strangers("", call),
                              {same->packed()}, rounding);
  return Held{evidence.diverging() == 0, evidence.expectation().values(0)};
}

double median_distance(const TensorData& t, const auto& other) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < t.numel(); ++i) all.push_back(std::fabs(t.get(i) - other(i)));
  if (all.empty()) return 0;
  const auto middle = all.begin() + std::ssize(all) / 2;
  std::ranges::nth_element(all, middle);
  return *middle;
}

}  // namespace

std::string folded_weight(const FoldedTerms& t) {
  std::string ones;
  for (std::size_t d = 1; d < t.dimensions; ++d) ones += ", 1";
  return fmt::format("{} * reshape({}, [-1{}])", t.weight, scale_of(t), ones);
}

std::string folded_bias(const FoldedTerms& t) {
  const std::string shift =
      t.bias == "none" ? fmt::format("(-1 * {})", t.mean) : fmt::format("({} - {})", t.bias, t.mean);
  const std::string scaled = fmt::format("{} * ({})", shift, scale_of(t));
  return t.beta == "none" ? scaled : fmt::format("{} + {}", scaled, t.beta);
}

Foldings::Foldings(const CaseFile& trace, const Readers& readers, Dump& dump)
    : trace_(trace), readers_(readers), dump_(dump) {
  for (std::size_t k = 0; k < trace.calls.size(); ++k)
    if (trace.calls[k].op == "convolution") find(k);
}

const Foldings::Folding* Foldings::of(std::size_t convolution) const {
  const auto found = all_.find(convolution);
  return found == all_.end() ? nullptr : &found->second;
}

std::optional<std::size_t> Foldings::convolution_of(std::size_t norm) const {
  const auto found = convolutions_.find(norm);
  return found == convolutions_.end() ? std::nullopt : std::optional(found->second);
}

// Of what files say nothing is certain: a call of another schema is no convolution, and no batch norm.
void Foldings::find(std::size_t convolution) {
  const Reader* reader = readers_.only_one(convolution, "out");
  if (reader == nullptr || reader->argument != "input") return;
  const RecordedCall &own = trace_.calls[convolution], &norm = trace_.calls[reader->call];
  if (norm.op != "native_batch_norm" || !norm.inputs.contains("running_var") ||
      !norm.inputs.contains("running_mean") || !own.inputs.contains("weight"))
    return;
  try {
    if (case_word(norm, "training") != "false" || case_word(own, "transposed") != "false") return;
    Folding f;
    f.norm = reader->call;
    look_at_parameters(convolution, f);
    convolutions_[f.norm] = convolution;
    all_[convolution] = std::move(f);
  } catch (const CaseError&) {
  }
}

std::string Foldings::fault_of(const RecordedCall& own, const RecordedCall& norm, std::size_t convolution,
                               const Folding& f, bool is_weight, const TensorData& dumped,
                               const std::string& name) const {
  std::string says = fmt::format("{} of the dump is not that of {} with {} folded into it", name,
                                 name_of(trace_, convolution), name_of(trace_, f.norm));
  for (const std::string_view other : kEpsilons)
    if (const auto again = held_against(own, norm, is_weight, dumped, std::string(other));
        again && again->right)
      return fmt::format("{}: it is with an eps of {} in place of {}", says, other, case_word(norm, "eps"));
  for (const WrongScale& wrong : kWrongScales)
    if (const auto again = held_against(own, norm, is_weight, dumped, "", wrong.scale); again && again->right)
      return fmt::format("{}: it is {}", says, wrong.says);
  return says;
}

void Foldings::look_at_parameters(std::size_t convolution, Folding& f) {
  const RecordedCall &own = trace_.calls[convolution], &norm = trace_.calls[f.norm];
  const std::string weight = note_of(own, "parameter.weight");
  if (weight.empty()) return;
  std::string bias = note_of(own, "parameter.bias");
  if (bias.empty() && weight.ends_with("weight")) bias = weight.substr(0, weight.size() - 6) + "bias";
  std::string unscaled;  // the weight, if it is not folded
  for (const bool is_weight : {true, false}) {
    const auto name = dump_.parameter(is_weight ? weight : bias);
    if (!name) continue;
    TensorData dumped = dump_.peek(*name);
    const auto recorded = own.inputs.find(is_weight ? "weight" : "bias");
    std::optional<TensorData> plain;
    if (recorded != own.inputs.end()) plain = tensor_of(recorded->second);
    const Shape shape = is_weight ? plain->shape : Shape{own.inputs.at("weight").shape.at(0)};
    if (dumped.shape != shape || !is_float(dumped.dtype)) continue;
    // A norm that hardly changes anything (variance 1, mean 0) leaves numbers that are nearly the ones before.
    const auto exact = plain ? exactly_as(dumped, plain->dtype) : std::nullopt;
    if (exact && same_bits(packed_copy(*exact), packed_copy(*plain))) {
      if (is_weight) unscaled = *name;
      continue;
    }
    const auto held = held_against(own, norm, is_weight, dumped, "");
    if (!held) continue;
    if (!held->right) {
      if (plain && are_alike(dumped, *plain)) continue;
      // Nearer to the folded ones than to those that were recorded: they were folded, and wrongly.
      constexpr double kMuchNearer = 0.5;
      const double to_folded =
          median_distance(dumped, [&](std::int64_t i) { return held->folded[static_cast<std::size_t>(i)]; });
      const double to_plain =
          median_distance(dumped, [&](std::int64_t i) { return plain ? plain->get(i) : 0; });
      if (!(to_folded < kMuchNearer * to_plain)) continue;
      if (f.fault.empty()) f.fault = fault_of(own, norm, convolution, f, is_weight, dumped, *name);
    }
    dump_.read(*name);
    (is_weight ? f.weight_name : f.bias_name) = *name;
    auto same = exactly_as(dumped, own.inputs.at("weight").dtype);
    if (same) (is_weight ? f.weight : f.bias) = std::move(*same);
  }
  if (unscaled.empty() || !f.bias || !f.fault.empty()) return;
  const auto held = held_against(own, norm, true, dump_.peek(unscaled), "");
  if (held && !held->right)
    f.fault = fmt::format("{} of the dump is the one that was recorded, not scaled by {}, which is folded into {}", unscaled, name_of(trace_, f.norm),
                          f.bias_name);
}

}  // namespace assay
