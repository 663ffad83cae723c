#include "audit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "../judge/judge.h"
#include "../variants/variant.h"

namespace assay::serve {
namespace {

std::size_t size_of(const Checked::Output& o) {
  return static_cast<std::size_t>(
      std::accumulate(o.shape.begin(), o.shape.end(), std::int64_t{1}, std::multiplies<>()));
}

std::vector<double> numbers_of(const std::vector<std::byte>& packed, const Checked::Output& o) {
  std::vector<double> numbers(size_of(o));
  load_all(packed.data(), o.dtype, numbers);
  return numbers;
}

std::vector<std::byte> packed_of(std::span<const double> numbers, Dtype dtype) {
  std::vector<std::byte> packed(numbers.size() * static_cast<std::size_t>(bytes(dtype)));
  store_all(packed.data(), dtype, numbers);
  return packed;
}

bool close(double actual, double right, double relative, double absolute) {
  if (std::isnan(right) || std::isnan(actual)) return std::isnan(right) && std::isnan(actual);
  if (std::isinf(right) || std::isinf(actual)) return actual == right;
  return std::abs(actual - right) <= absolute + relative * std::abs(right);
}

class Auditor {
 public:
  Auditor(Expectation& expectation, const Contract& contract, double relative, double absolute)
      : expectation_(expectation), contract_(contract), relative_(relative), absolute_(absolute) {
    for (std::size_t o = 0; o < outputs().size(); ++o)
      right_.push_back(numbers_of(expectation.rounded(static_cast<int>(o)), outputs()[o]));
  }

  const std::vector<Checked::Output>& outputs() const { return expectation_.call().outputs; }
  const std::vector<double>& right(std::size_t output) const { return right_[output]; }

  void take(PlantedFault fault, const std::vector<std::vector<double>>& numbers) {
    ExpectedOutputs results;
    bool same = true, is_close = true;
    for (std::size_t o = 0; o < outputs().size(); ++o) {
      const std::vector<std::byte> packed = packed_of(numbers[o], outputs()[o].dtype);
      same = same && packed == expectation_.rounded(static_cast<int>(o));
      const std::vector<double> stored = numbers_of(packed, outputs()[o]);
      for (std::size_t i = 0; is_close && i < stored.size(); ++i)
        is_close = close(stored[i], right_[o][i], relative_, absolute_);
      results.emplace_back(packed);
    }
    if (same)
      found_.invisible.push_back(std::move(fault));
    else if (!is_close)
      ++found_.rejected;
    else if (judge_outputs(contract_, expectation_, results).verdict == Verdict::diverged)
      found_.let_pass.push_back(std::move(fault));
    else
      found_.within_bounds.push_back(std::move(fault));
  }

  // Results of other shapes are seen by everybody.
  void take(PlantedFault fault, const std::vector<VariantResult>& results) {
    std::vector<std::vector<double>> numbers;
    for (std::size_t o = 0; o < results.size() && o < outputs().size(); ++o) {
      const VariantResult& r = results[o];
      if (r.shape != outputs()[o].shape || r.dtype != outputs()[o].dtype || r.size() != right_[o].size())
        break;
      std::vector<double> one(r.values);
      if (one.empty()) one.assign(r.integers.begin(), r.integers.end());
      // What is not written holds whatever was there, of which zeros are the kindest.
      for (std::size_t i = r.stored; i < one.size(); ++i) one[i] = 0;
      numbers.push_back(std::move(one));
    }
    if (numbers.size() == outputs().size())
      take(std::move(fault), numbers);
    else
      ++found_.rejected;
  }

  // The call has nothing of what the fault is about.
  void cannot_show(PlantedFault fault) { found_.invisible.push_back(std::move(fault)); }

  Audit found() && { return std::move(found_); }

  void leave(std::uint64_t faults) { found_.not_tried = faults; }

 private:
  Expectation& expectation_;
  const Contract& contract_;
  double relative_, absolute_;
  std::vector<std::vector<double>> right_;
  Audit found_;
};

void take_what_computes_nothing(Auditor& auditor, const Call& call) {
  std::vector<std::vector<double>> zeros, means;
  for (std::size_t o = 0; o < auditor.outputs().size(); ++o) {
    const std::vector<double>& right = auditor.right(o);
    zeros.emplace_back(right.size(), 0.0);
    const double sum = std::accumulate(right.begin(), right.end(), 0.0);
    means.emplace_back(right.size(), right.empty() ? 0 : sum / static_cast<double>(right.size()));
  }
  auditor.take({"zeros", "gives zeros"}, zeros);
  auditor.take({"mean", "gives the mean of the right result everywhere"}, means);
  if (auditor.outputs().size() != 1) return;
  for (const CallValue& v : call.arguments)
    if (const auto* t = std::get_if<TensorData>(&v)) {
      if (t->shape != auditor.outputs()[0].shape || t->dtype != auditor.outputs()[0].dtype) return;
      std::vector<double> own(static_cast<std::size_t>(t->numel()));
      for (std::size_t i = 0; i < own.size(); ++i) own[i] = t->get(static_cast<std::int64_t>(i));
      auditor.take({"input", "returns its first tensor"}, std::vector<std::vector<double>>{own});
      return;
    }
}

// Whether it is about numbers, and not about memory, refusals or the process.
bool has_numbers(const Variant& v, Dtype dtype) {
  return v.name != "none" && !v.accepts_anything && v.blamed.empty() && !v.first && !v.last && !v.garbage &&
         v.dtypes.contains(dtype);
}

}  // namespace

Audit audit(Expectation& expectation, const Contract& contract, double relative, double absolute,
            double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const Call& call = expectation.call();
  Auditor auditor(expectation, contract, relative, absolute);
  take_what_computes_nothing(auditor, call);
  std::vector<Variant> variants = variants_of(*call.op);
  std::erase_if(variants, [&](const Variant& v) { return !has_numbers(v, call.outputs[0].dtype); });
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (Clock::now() >= end) {
      auditor.leave(variants.size() - i);
      break;
    }
    const Variant& v = variants[i];
    const std::optional<Call> changed = v.arguments ? changed_by(v, call) : std::optional<Call>();
    if (v.arguments && !changed)
      auditor.cannot_show({v.name, v.says});
    else
      auditor.take({v.name, v.says}, results_of(v, changed ? *changed : call));
  }
  return std::move(auditor).found();
}

}  // namespace assay::serve
