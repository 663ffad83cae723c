#include "prediction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace assay::diagnose {
namespace {

std::size_t numel(const Shape& shape) {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

// What f32 adds to a result before it is stored in 16 bits, with room for a few operations.
constexpr double kBeforeStore = 0x1p-18;

}  // namespace

std::string Hypothesis::name() const {
  std::vector<std::string> names;
  for (const Variant* v : faults) names.push_back(v->name);
  return fmt::format("{}", fmt::join(names, " + "));
}

std::string Hypothesis::says() const {
  std::vector<std::string> said;
  for (const Variant* v : faults) said.push_back(v->says);
  return fmt::format("{}", fmt::join(said, ", and "));
}

bool disjoint(const Interval& a, const Interval& b) {
  if (a.undecidable() || b.undecidable()) return false;
  if ((a.nan && b.nan) || (a.positive_infinity && b.positive_infinity) ||
      (a.negative_infinity && b.negative_infinity))
    return false;
  if (!a.places.empty() || !b.places.empty()) {
    const Interval& listed = a.places.empty() ? b : a;
    const Interval& other = a.places.empty() ? a : b;
    return std::ranges::none_of(listed.places,
                                [&](std::int64_t p) { return other.contains(static_cast<double>(p)); });
  }
  const double lower = std::max(a.lower, b.lower), upper = std::min(a.upper, b.upper);
  if (lower > upper) return true;
  if (lower != 0 || upper != 0) return false;
  // Zero alone is common: with which sign?
  for (const double zero : {0.0, -0.0})
    if (a.contains(zero) && b.contains(zero)) return false;
  return true;
}

std::optional<Prediction> Prediction::of(const Hypothesis& hypothesis, const Call& call,
                                         const Contract& contract, const Rounding* rounding) {
  Call changed = call;
  for (const Variant* v : hypothesis.faults)
    if (v->arguments && !change_arguments(*v, changed)) return std::nullopt;
  Prediction p(std::move(changed), contract, hypothesis.faults);
  p.rounding_ = rounding;
  // Results that are moved, and land where they were, are no fault in this call.
  for (const Variant* v : p.results_) {
    if (!v->moves) continue;
    const bool moved = std::ranges::any_of(p.outputs_, [](const Output& o) {
      for (std::size_t i = 0; i < o.from.size(); ++i)
        if (o.from[i] != static_cast<std::int64_t>(i)) return true;
      return false;
    });
    const bool exact = std::ranges::any_of(p.outputs_, [](const Output& o) { return !o.integers.empty(); });
    if (!moved && !exact) return std::nullopt;
  }
  return p;
}

Prediction::Prediction(Call call, const Contract& contract) : Prediction(std::move(call), contract, {}) {}

Prediction::Prediction(Call call, const Contract& contract, std::vector<const Variant*> faults)
    : call_(std::make_unique<Call>(std::move(call))), contract_(contract), outputs_(call_->outputs.size()) {
  arguments_ = std::make_unique<Arguments>(*call_);
  const Reference* reference = find_reference(call_->op->schema.name);
  for (const Variant* v : faults) {
    if (v->formula != nullptr) reference = v->formula;
    wrong_formula_ = wrong_formula_ || v->formula != nullptr;
    if (!v->contract.empty()) {
      contract_ = parse_contract(v->contract, call_->outputs[0].computed_in);
      attack_ = v->attack;
    }
    if (v->results) results_.push_back(v);
    if (v->results && !v->moves) values_.push_back(v);
  }
  evaluation_ = reference->evaluate(arguments_->values(), call_->outputs);
  for (std::size_t k = 0; k < outputs_.size(); ++k) look_up(k);
}

// Where the elements of an output come from: what moves them is shown their own numbers, plus one.
void Prediction::look_up(std::size_t output) {
  Output& o = outputs_[output];
  const Checked::Output& shape = call_->outputs[output];
  const std::size_t n = numel(shape.shape);
  o.integers.resize(n);
  const auto vary = [&](VariantResult r, const Variant& v) {
    std::vector<VariantResult> all(outputs_.size());  // a variant may be about one of the results alone
    all[output] = std::move(r);
    v.results(all, *call_);
    return std::move(all[output]);
  };
  if (evaluation_->integers(static_cast<int>(output), o.integers)) {
    for (const Variant* v : results_) {
      VariantResult r{shape.dtype, shape.shape, {}, o.integers, n};
      o.integers = vary(std::move(r), *v).integers;
    }
    return;
  }
  o.integers.clear();
  if (results_.empty()) return;
  std::vector<std::int64_t> from(n);
  std::iota(from.begin(), from.end(), std::int64_t{1});
  const std::vector<std::int64_t> own = from;
  for (const Variant* v : results_)
    if (v->moves) from = vary({shape.dtype, shape.shape, {}, from, n}, *v).integers;
  if (from == own) return;
  for (std::int64_t& i : from) --i;
  o.from = std::move(from);
}

// What is stored of a result, if variants change numbers on the way.
Interval Prediction::stored(Interval i, Dtype dtype) const {
  if (values_.empty()) return i;
  const Format& f = format(dtype);
  double least = i.lower, most = i.upper, middle = i.value;
  // Numbers of 16 bits are computed in 32 before: what happens to them on the way out happens to those.
  if (bytes(dtype) == 2 && std::isfinite(middle) && least <= most &&
      most - least <= 2 * f.unit * std::fabs(middle) * 2) {
    least = std::min(middle * (1 - kBeforeStore), middle * (1 + kBeforeStore));
    most = std::max(middle * (1 - kBeforeStore), middle * (1 + kBeforeStore));
  }
  std::vector<double> points;
  if (i.lower <= i.upper) {
    points = {least, middle, most};
    if (least < 0 && most > 0) points.push_back(0.0);
  } else {
    points = {middle};
  }
  if (i.nan) points.push_back(std::nan(""));
  if (i.positive_infinity) points.push_back(HUGE_VAL);
  if (i.negative_infinity) points.push_back(-HUGE_VAL);
  for (const Variant* v : values_) {
    VariantResult r{dtype, {static_cast<std::int64_t>(points.size())}, points, {}, points.size()};
    std::vector<VariantResult> all(outputs_.size(), r);
    v->results(all, *call_);
    points = all[0].values;
  }
  Interval s;
  s.value = points.size() > 1 ? points[1] : points[0];
  s.lower = HUGE_VAL;
  s.upper = -HUGE_VAL;
  s.exact_zero_sign = true;
  bool negative = false, positive = false;
  for (const double unrounded : points) {
    const double x = round_to(unrounded, f);
    s.nan = s.nan || std::isnan(x);
    s.positive_infinity = s.positive_infinity || x == HUGE_VAL;
    s.negative_infinity = s.negative_infinity || x == -HUGE_VAL;
    if (!std::isfinite(x)) continue;
    s.lower = std::min(s.lower, x);
    s.upper = std::max(s.upper, x);
    (std::signbit(x) ? negative : positive) = true;
  }
  s.exact_zero_sign = s.lower == 0 && s.upper == 0 && negative != positive;
  if (s.exact_zero_sign) s.value = negative ? -0.0 : 0.0;
  return s;
}

std::vector<double> Prediction::values(int output) {
  const auto o = static_cast<std::size_t>(output);
  const Checked::Output& shape = call_->outputs[o];
  const std::size_t n = numel(shape.shape);
  std::vector<double> computed(n);
  evaluation_->values(output, computed);
  if (results_.empty()) return computed;
  std::vector<VariantResult> all(outputs_.size());  // a variant may be about one of the results alone
  all[o] = {shape.dtype, shape.shape, std::move(computed), {}, n};
  for (const Variant* v : results_) v->results(all, *call_);
  return std::move(all[o].values);
}

double Prediction::exact(const Element& e) {
  if (is_exact(e.output)) return static_cast<double>(integer(e.output, e.at));
  std::vector<double>& all = outputs_[static_cast<std::size_t>(e.output)].values;
  if (all.empty()) all = values(e.output);
  return all[static_cast<std::size_t>(e.at)];
}

const Interval& Prediction::interval(int output, std::int64_t at) {
  Output& o = outputs_[static_cast<std::size_t>(output)];
  const auto found = o.known.find(at);
  if (found != o.known.end()) return found->second;
  Interval i;
  if (is_exact(output)) {
    i.value = i.lower = i.upper = static_cast<double>(integer(output, at));
  } else {
    const std::int64_t from = o.from.empty() ? at : o.from[static_cast<std::size_t>(at)];
    if (from < 0)
      i.exact_zero_sign = true;
    else
      i = stored(evaluation_->interval(output, from, contract_),
                 call_->outputs[static_cast<std::size_t>(output)].dtype);
    if (rounding_ != nullptr) i = rounding_->widened(std::move(i), output, std::max<std::int64_t>(from, 0));
  }
  return o.known.emplace(at, std::move(i)).first->second;
}

bool Prediction::admits(const Element& e) {
  if (is_exact(e.output)) return integer(e.output, e.at) == e.integer;
  return interval(e.output, e.at).contains(e.actual);
}

bool Prediction::differs(const Element& e) {
  if (is_exact(e.output)) {
    // Of the reference only the double is at hand, which tells apart what matters here.
    return static_cast<double>(integer(e.output, e.at)) != e.right.value;
  }
  return disjoint(interval(e.output, e.at), e.right);
}

bool Prediction::allows_more(const Element& e) {
  if (is_exact(e.output)) return differs(e);
  const Interval& i = interval(e.output, e.at);
  if (e.right.undecidable()) return false;
  return (i.lower <= i.upper && (!e.right.contains(i.lower) || !e.right.contains(i.upper))) ||
         (i.nan && !e.right.nan) || (i.positive_infinity && !e.right.positive_infinity) ||
         (i.negative_infinity && !e.right.negative_infinity) || !i.places.empty();
}

bool Prediction::typically_diverges(const Element& e) {
  if (is_exact(e.output)) return differs(e);
  if (!results_.empty() || e.right.undecidable()) return false;
  if (wrong_formula_) {
    const Dtype dtype = call_->outputs[static_cast<std::size_t>(e.output)].dtype;
    return !e.right.contains(round_to(interval(e.output, e.at).value, format(dtype)));
  }
  const Attack plain{.rounding = Attack::Rounding::nearest, .shuffle = false};
  return !e.right.contains(evaluation_->attacked(e.output, e.at, contract_, plain));
}

std::optional<double> Prediction::typical(const Element& e) { return typical(e, contract_.chain); }

std::optional<double> Prediction::typical(const Element& e, const Chain& chain) {
  if (is_exact(e.output) || !values_.empty() || wrong_formula_ || e.right.undecidable()) return std::nullopt;
  const Output& o = outputs_[static_cast<std::size_t>(e.output)];
  const std::int64_t from = o.from.empty() ? e.at : o.from[static_cast<std::size_t>(e.at)];
  if (from < 0) return value(e.output, e.at);
  Contract contract = contract_;
  contract.chain = chain;
  return evaluation_->attacked(e.output, from, contract, attack_);
}

std::optional<double> Prediction::typical_error(const Element& e) {
  const std::optional<double> x = typical(e);
  return x ? std::optional(std::fabs(*x - value(e.output, e.at))) : std::nullopt;
}

bool Prediction::differs(const Element& e, Prediction& other) {
  if (is_exact(e.output) && other.is_exact(e.output))
    return integer(e.output, e.at) != other.integer(e.output, e.at);
  return disjoint(interval(e.output, e.at), other.interval(e.output, e.at));
}

double Prediction::width(const Element& e) { return width_of(interval(e.output, e.at)); }

double width_of(const Interval& i) {
  if (i.undecidable()) return 1024;
  const double size = std::max(std::fabs(i.lower), std::fabs(i.upper));
  const double width = i.lower < i.upper && size > 0 ? (i.upper - i.lower) / size : 0;
  return std::log2(std::max(width, 0x1p-60));
}

}  // namespace assay::diagnose
