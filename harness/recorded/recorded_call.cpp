#include "recorded_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "../files/tensor_data.h"
#include "../generate/data.h"
#include "../plugin/sanitized.h"
#include "../registry/machine.h"
#include "../registry/python_kernel.h"
#include "graph/graph.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

constexpr std::chrono::seconds kBoundsTime{10};  // of one result, whose elements may each be a long sum

std::string spec(Dtype dtype, const Shape& shape) { return fmt::format("{}[{}]", name(dtype), text(shape)); }

void restore(TensorData& t, const RecordedTensor& from, const std::string& argument) {
  if (from.dtype != t.dtype || from.shape != t.shape)
    throw CaseError(fmt::format("dataset inputs/{} is {}, but the case text says {}", argument,
                                spec(from.dtype, from.shape), spec(t.dtype, t.shape)));
  const auto size = static_cast<std::size_t>(bytes(t.dtype));
  for (std::int64_t e = 0; e < t.numel(); ++e)
    std::memcpy(t.element(e), from.data.data() + static_cast<std::size_t>(e) * size, size);
}

// The reference's values, and the bounds; what time does not suffice for is left out.
RecordedOutput expected(Expectation& expectation, int output, const Contract& contract,
                        std::string& left_out) {
  RecordedOutput r;
  r.shape = expectation.call().outputs[static_cast<std::size_t>(output)].shape;
  try {
    r.value = expectation.values(output);
  } catch (const Stopped&) {
    left_out = "the reference's values and bounds";
    return r;
  }
  std::vector<std::size_t> all(r.value.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  try {
    const StopScope scope(after(std::chrono::steady_clock::now() + kBoundsTime));
    const Expectation::Intervals& intervals = expectation.intervals(output, all, contract);
    for (const std::size_t e : all) {
      const Interval& i = intervals[e];
      r.lower.push_back(i.lower);
      r.upper.push_back(i.upper);
      r.special.push_back(static_cast<std::uint8_t>(
          (i.nan ? kAdmitsNan : 0) | (i.positive_infinity ? kAdmitsPositiveInfinity : 0) |
          (i.negative_infinity ? kAdmitsNegativeInfinity : 0) | (i.exact_zero_sign ? kZeroSignDecided : 0)));
    }
  } catch (const Stopped&) {
    if (left_out.empty()) left_out = "the bounds";
  }
  return r;
}

}  // namespace

RecordedCall record_inputs(const std::string& case_text, std::uint64_t seed, const Call& call,
                           const Kernel& kernel) {
  RecordedCall r;
  r.op = call.op->schema.name;
  if (call.op->graph != nullptr) r.notes["graph"] = call.op->graph->text;
  r.case_text = case_text;
  r.seed = seed;
  r.impl = kernel.name;
  r.contract = kernel.contract;
  // Which program of Assay's; where it and its parts were installed says nothing elsewhere.
  r.program = {std::filesystem::path(kernel.environment.program).filename().string()};
  const std::vector<std::string>& arguments = kernel.environment.arguments;
  if (kernel.name.starts_with(kPluginPrefix)) {
    for (const char* const flag : {"--plugin", "--python", "--source"})
      if (const auto plugin = std::ranges::find(arguments, flag);
          plugin != arguments.end() && plugin + 1 != arguments.end())
        r.plugin = *(plugin + 1);
    r.program.insert(r.program.end(), arguments.begin(), arguments.end());
  }
  for (const std::string& v : kernel.environment.variables) {
    if (is_of_python(v)) continue;
    // The sanitizer's come again with the plugin.
    const std::string recorded = is_of_thread_sanitizer(v) ? asked_of_thread_sanitizer(v) : v;
    if (!recorded.empty()) r.variables.push_back(recorded);
  }
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string argument(call.op->schema.argument_storage[i].name);
    if (const auto* t = std::get_if<TensorData>(&call.arguments[i])) r.inputs[argument] = recorded(*t);
    if (const auto* list = std::get_if<std::vector<TensorData>>(&call.arguments[i]))
      for (std::size_t n = 0; n < list->size(); ++n)
        r.inputs[fmt::format("{}/{}", argument, n)] = recorded((*list)[n]);
  }
  return r;
}

RecordedCall record_call(const std::string& case_text, std::uint64_t seed, const Call& call,
                         const Kernel& kernel, const Judgement& judgement, const PackedResults& outputs) {
  RecordedCall r = record_inputs(case_text, seed, call, kernel);
  r.verdict = token(judgement.verdict);
  r.detail = judgement.detail;
  if (!call.error.empty()) return r;  // wrong arguments: no result is expected
  Expectation expectation(call);
  const Contract contract = contract_for(kernel, call);
  std::string left_out;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    RecordedOutput out = expected(expectation, static_cast<int>(o), contract, left_out);
    if (o < outputs.size()) out.actual = {call.outputs[o].dtype, call.outputs[o].shape, outputs[o]};
    if (out.actual || !out.value.empty()) r.outputs[output_name(*call.op, o)] = std::move(out);
  }
  if (!left_out.empty()) r.notes["left_out"] = left_out + ": there was no time to compute them";
  return r;
}

Replayable replayable(const RecordedCall& recorded) {
  Replayable r;
  r.parsed = parse_case(recorded.case_text);
  if (r.parsed.op->schema.name != recorded.op)
    throw CaseError(fmt::format("attribute op is \"{}\", but the case text is of {}", recorded.op,
                                r.parsed.op->schema.name));
  r.call = materialise(r.parsed);
  for (std::size_t i = 0; i < r.call.arguments.size(); ++i) {
    const std::string argument(r.call.op->schema.argument_storage[i].name);
    if (auto* t = std::get_if<TensorData>(&r.call.arguments[i])) {
      const auto from = recorded.inputs.find(argument);
      if (from != recorded.inputs.end()) restore(*t, from->second, argument);
    }
    if (auto* list = std::get_if<std::vector<TensorData>>(&r.call.arguments[i]))
      for (std::size_t n = 0; n < list->size(); ++n) {
        const auto from = recorded.inputs.find(fmt::format("{}/{}", argument, n));
        if (from != recorded.inputs.end()) restore((*list)[n], from->second, from->first);
      }
  }
  // What was said of the family's data says nothing of the recorded: indices that are no rows reach no reference.
  Checked checked = check_arguments(*r.call.op, Arguments(r.call).values());
  r.call.error = std::move(checked.error);
  r.call.blamed = std::move(checked.argument);
  r.call.outputs = std::move(checked.outputs);
  r.call.output_layouts.resize(r.call.outputs.size());
  return r;
}

ExpectedOutputs recorded_results(const RecordedCall& recorded, const Call& call) {
  ExpectedOutputs results(call.outputs.size());
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const std::string output = output_name(*call.op, o);
    const auto found = recorded.outputs.find(output);
    if (found == recorded.outputs.end() || !found->second.actual) continue;
    const RecordedTensor& t = *found->second.actual;
    if (t.dtype != call.outputs[o].dtype || t.shape != call.outputs[o].shape)
      throw CaseError(fmt::format("dataset actual/{} is {}, but this call gives {}", output,
                                  spec(t.dtype, t.shape),
                                  spec(call.outputs[o].dtype, call.outputs[o].shape)));
    results[o] = t.data;
  }
  return results;
}

std::optional<Verdict> recorded_verdict(const RecordedCall& recorded) {
  if (recorded.verdict.empty()) return std::nullopt;
  try {
    return verdict_of(recorded.verdict);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(fmt::format("attribute verdict: {}", e.what()));
  }
}

CaseFile new_case_file() {
  const Machine m = machine();
  CaseFile file;
  file.creator = fmt::format("assay {}", m.version);
  file.cpu = m.cpu;
  file.isa = m.isa;
  file.libraries = m.libraries;
  return file;
}

}  // namespace assay
