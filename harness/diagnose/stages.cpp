#include "stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "../files/tensor_data.h"
#include "evidence.h"
#include "rounding.h"
#include "vocabulary/operators.h"

namespace assay::diagnose {
namespace {

struct Moment {
  std::string_view name, phrase;
};
constexpr Moment kSource{"source", "the source"};
constexpr Moment kReceived{"received", "what was received"};
constexpr Moment kPacked{"packed", "what was packed"};
constexpr Moment kExecuted{"executed", "what the kernel read"};
constexpr Moment kAfter{"after", "what is there after the call"};
constexpr Moment kReturned{"returned", "what the kernel returned"};
constexpr Moment kRead{"read", "what its consumer read"};

std::vector<double> sorted(const TensorData& t) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < t.numel(); ++i)
    if (const double x = t.get(i); x != 0) all.push_back(x);  // zeros may be padding
  std::ranges::sort(all, [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
  return all;
}

// In another shape only the numbers can be compared, whatever their order.
std::optional<std::string> other_numbers(const TensorData& before, const TensorData& after) {
  const std::vector<double> a = sorted(before), b = sorted(after);
  if (std::ranges::equal(a, b, [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }))
    return std::nullopt;
  return fmt::format("in the shape [{}] it has other numbers, in whatever order", text(after.shape));
}

// Precondition: they have one shape.
bool same_numbers(const TensorData& before, const TensorData& after) {
  const auto same_dtype = exactly_as(after, before.dtype);
  return same_dtype && same_bits(*same_dtype, before);
}

Step step(const std::string& tensor, const Snapshot& from, const Snapshot& to, Blame blame,
          const std::string& says) {
  return {tensor, from.moment, to.moment, blame,
          fmt::format("{}: {} is not {}: {}", tensor, to.phrase, from.phrase, says)};
}

class Stages {
 public:
  explicit Stages(const std::map<std::string, RecordedTensor>& all) : all_(all) {
    for (const auto& entry : all) unused_.push_back(entry.first);
  }

  std::optional<TensorData> take(const Moment& moment, const std::string& tensor) {
    const auto found = all_.find(fmt::format("{}/{}", moment.name, tensor));
    if (found == all_.end()) return std::nullopt;
    std::erase(unused_, found->first);
    return tensor_of(found->second);
  }
  const std::vector<std::string>& unused() const { return unused_; }

 private:
  const std::map<std::string, RecordedTensor>& all_;
  std::vector<std::string> unused_;
};

// An argument's snapshots, from the source on.
std::vector<Snapshot> of_argument(Stages& stages, const std::string& name, const TensorData& input,
                                  bool is_parameter) {
  std::vector<Snapshot> all;
  const auto add = [&](const Moment& m, Blame blame, std::optional<TensorData> t) {
    if (t) all.push_back({std::string(m.name), std::string(m.phrase), blame, std::move(*t)});
  };
  std::optional<TensorData> source = stages.take(kSource, name), received = stages.take(kReceived, name);
  if (received && !source)
    source = packed_copy(input);
  else if (!received)
    received = packed_copy(input);
  const Blame handed = is_parameter ? Blame::parameters : Blame::input;
  add(kSource, handed, std::move(source));
  add(kReceived, handed, std::move(received));
  add(kPacked, Blame::packing, stages.take(kPacked, name));
  add(kExecuted, Blame::changed, stages.take(kExecuted, name));
  add(kAfter, Blame::changed, stages.take(kAfter, name));
  return all;
}

// The argument as one of these was, as far as its shape and dtype allow.
std::optional<TensorData> as_argument(const TensorData& argument, const TensorData& t) {
  if (t.shape != argument.shape) return std::nullopt;
  return exactly_as(t, argument.dtype);
}

bool same_argument(const CallValue& a, const CallValue& b) {
  const auto* x = std::get_if<TensorData>(&a);
  const auto* y = std::get_if<TensorData>(&b);
  return x == nullptr || y == nullptr || same_bits(*x, *y);
}

}  // namespace

std::string_view token(Blame b) {
  constexpr std::array<std::string_view, 4> kTokens{"parameters", "input", "packing", "changed"};
  return kTokens[static_cast<std::size_t>(b)];
}

std::vector<Step> steps(const std::string& tensor, std::span<const Snapshot> snapshots,
                        const std::vector<Source>& sources) {
  std::vector<Source> writers;
  std::ranges::copy_if(sources, std::back_inserter(writers),
                       [&](const Source& s) { return s.own != tensor; });
  std::vector<Step> all;
  for (std::size_t k = 1; k < snapshots.size(); ++k) {
    const Snapshot& s = snapshots[k];
    const Snapshot& last = snapshots[k - 1];
    if (last.data.shape != s.data.shape) {
      // Only a packed form may have another shape, and then its numbers can be compared, but not their order.
      if (last.blame != Blame::packing && s.blame != Blame::packing)
        all.push_back(step(tensor, last, s, s.blame, change(last.data, s.data)));
      else if (const auto says = other_numbers(last.data, s.data))
        all.push_back(step(tensor, last, s, s.blame, *says));
    }
    // With the one before it in the same shape, so that what happened inside a packed form shows after it.
    std::size_t same = k;
    while (same > 0 && snapshots[same - 1].data.shape != s.data.shape) --same;
    if (same == 0 || same_numbers(snapshots[same - 1].data, s.data)) continue;
    const Snapshot& from = snapshots[same - 1];
    const TensorData before = but_for_rounding(from.data, s.data);
    std::string says = change(before, s.data);
    if (const auto writer = written_from(before, s.data, writers)) says += "; " + *writer;
    all.push_back(step(tensor, from, s, same == k ? s.blame : Blame::packing, says));
  }
  return all;
}

std::optional<StagedCall> staged(const Call& call, const std::map<std::string, RecordedTensor>& recorded,
                                 const ExpectedOutputs& actual, std::vector<std::string> parameters,
                                 const std::vector<Source>& writers) {
  if (recorded.empty()) return std::nullopt;
  StagedCall result{call, call, {}, std::vector<bool>(call.arguments.size()), {}};
  Stages stages(recorded);
  bool first = true;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto* input = std::get_if<TensorData>(&call.arguments[i]);
    if (input == nullptr) continue;
    const std::string name(call.op->schema.argument_storage[i].name);
    result.is_parameter[i] = parameters.empty() ? !first : std::ranges::count(parameters, name) > 0;
    first = false;
    const std::vector<Snapshot> snapshots = of_argument(stages, name, *input, result.is_parameter[i]);
    for (Step& s : steps(name, snapshots, writers)) result.steps.push_back(std::move(s));
    if (auto source = as_argument(*input, snapshots.front().data))
      result.source.arguments[i] = std::move(*source);
    for (const Snapshot& s : snapshots)
      if (s.moment != kAfter.name)
        if (auto executed = as_argument(*input, s.data)) result.executed.arguments[i] = std::move(*executed);
  }
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const std::string name = output_name(*call.op, o);
    auto read = stages.take(kRead, name);
    if (!read || o >= actual.size() || !actual[o]) continue;
    TensorData returned(call.outputs[o].dtype, call.outputs[o].shape);
    returned.memory = *actual[o];
    const Snapshot both[] = {
        {std::string(kReturned.name), std::string(kReturned.phrase), Blame::changed, std::move(returned)},
        {std::string(kRead.name), std::string(kRead.phrase), Blame::changed, std::move(*read)}};
    for (Step& s : steps(name, both, writers)) result.steps.push_back(std::move(s));
  }
  result.unused = stages.unused();
  return result;
}

Swap swap(const StagedCall& staged, const Contract& contract, const ExpectedOutputs& actual,
          const RunKernel& run) {
  // With these of the call as they were, and the others as they should be.
  const auto mixed = [&](bool parameters, bool inputs) {
    Call c = staged.source;
    for (std::size_t i = 0; i < c.arguments.size(); ++i)
      if (staged.is_parameter[i] ? parameters : inputs) c.arguments[i] = staged.executed.arguments[i];
    return c;
  };
  bool other[2] = {};  // inputs, parameters
  for (std::size_t i = 0; i < staged.source.arguments.size(); ++i)
    if (!same_argument(staged.source.arguments[i], staged.executed.arguments[i]))
      other[staged.is_parameter[i] ? 1 : 0] = true;
  Swap s;
  const auto diverging = [&](const Call& base, const ExpectedOutputs& results) {
    Evidence evidence(base, contract, results);
    s.elements = evidence.judged();
    return evidence.diverging();
  };
  for (const bool parameters : {false, true})
    for (const bool inputs : {false, true}) {
      const Call c = mixed(parameters, inputs);
      Expectation expectation(c);
      ExpectedOutputs results(c.outputs.size());
      for (std::size_t o = 0; o < results.size(); ++o)
        if (actual[o]) results[o] = expectation.rounded(static_cast<int>(o));
      s.rows.push_back({parameters, inputs, false, diverging(staged.source, results)});
      const bool as_recorded = (parameters || !other[1]) && (inputs || !other[0]);
      if (as_recorded)
        s.rows.push_back({parameters, inputs, true, diverging(staged.source, actual)});
      else if (run)
        if (const auto given = run(c))
          s.rows.push_back({parameters, inputs, true, diverging(staged.source, *given), true});
    }
  s.of_kernel = diverging(staged.executed, actual);
  return s;
}

}  // namespace assay::diagnose
