#include "prediction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace assay::diagnose {
namespace {

// What f32 adds to a result before it is stored in 16 bits, with room for a few operations.
constexpr double kBeforeStore = 0x1p-18;

// Functions that cancel, such as x (1 + erf(x)), do so between minus this and 0: below it they give 0.
constexpr double kCancels = 8;

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
                                         const Contract& contract, const Rounding* rounding,
                                         Evaluation* right) {
  std::unique_ptr<Call> changed;
  for (const Variant* v : hypothesis.faults) {
    if (!v->arguments) continue;
    std::optional<Call> next = changed_by(*v, changed ? std::move(*changed) : Call(call));
    if (!next) return std::nullopt;
    changed = std::make_unique<Call>(std::move(*next));
  }
  Prediction p(changed ? *changed : call, contract, hypothesis.faults, changed ? nullptr : right);
  if (changed) p.own(std::move(changed));
  p.rounding_ = rounding;
  for (const Variant* v : hypothesis.faults)
    if (v->within) p.reach(*v, call, contract, right);
  // Results that are moved, and land where they were, are no fault in this call.
  for (const Variant* v : p.results_) {
    if (!v->moves) continue;
    const bool moved = std::ranges::any_of(p.outputs_, &Output::moves);
    const bool exact = std::ranges::any_of(p.outputs_, [](const Output& o) { return !o.integers.empty(); });
    if (!moved && !exact) return std::nullopt;
  }
  return p;
}

Prediction::Prediction(const Call& call, const Contract& contract, std::vector<const Variant*> faults,
                       Evaluation* right)
    : call_(&call), evaluation_(right), contract_(contract), outputs_(call_->outputs.size()) {
  const Reference* reference = find_reference(call_->op->schema.name);
  for (const Variant* v : faults) {
    if (v->formula != nullptr) reference = v->formula;
    wrong_formula_ = wrong_formula_ || v->formula != nullptr;
    if (!v->contract.empty()) {
      contract_ = parse_contract(v->contract, call_->outputs[0].computed_in);
      attack_ = v->attack;
    }
    if (v->results || v->of_place) results_.push_back(v);
    if ((v->results || v->of_place) && !v->moves) values_.push_back(v);
  }
  if (evaluation_ == nullptr || wrong_formula_) {
    own_evaluation_ = reference->evaluate(Arguments(call).values(), call.outputs);
    evaluation_ = own_evaluation_.get();
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) look_up(k);
}

void Prediction::own(std::unique_ptr<Call> changed) {
  own_ = std::move(changed);
  call_ = own_.get();
  if (!results_.empty()) return;
  for (CallValue& v : own_->arguments) {
    if (auto* const t = std::get_if<TensorData>(&v)) t->memory = {};
    if (auto* const all = std::get_if<std::vector<TensorData>>(&v))
      for (TensorData& t : *all) t.memory = {};
  }
}

void Prediction::reach(const Variant& fault, const Call& call, const Contract& contract, Evaluation* right) {
  within_ = &fault;
  elsewhere_ = std::unique_ptr<Prediction>(new Prediction(call, contract, {}, right));
  elsewhere_->rounding_ = rounding_;
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    for (std::size_t i = 0; i < outputs_[o].integers.size(); ++i)
      if (!fault.within(static_cast<int>(o), static_cast<std::int64_t>(i)))
        outputs_[o].integers[i] = elsewhere_->outputs_[o].integers[i];
}

// Where the elements of an output come from: what moves them is shown their own numbers, plus one.
void Prediction::look_up(std::size_t output) {
  Output& o = outputs_[output];
  const Checked::Output& shape = call_->outputs[output];
  const auto n = static_cast<std::size_t>(numel(shape.shape));
  const bool in_integers = call_->op->in_integers && !is_float(call_->outputs[0].computed_in);
  const auto vary = [&](VariantResult r, const Variant& v) {
    if (!v.results) return r;
    std::vector<VariantResult> all(outputs_.size());  // a variant may be about one of the results alone
    all[output] = std::move(r);
    v.results(all, *call_);
    return std::move(all[output]);
  };
  if (in_integers) {
    o.integers.resize(n);
    evaluation_->integers(static_cast<int>(output), o.integers);
    for (const Variant* v : results_) {
      VariantResult r{shape.dtype, shape.shape, {}, o.integers, n};
      o.integers = vary(std::move(r), *v).integers;
    }
    // As they are stored: a dtype holds the low bits alone.
    std::array<std::byte, 8> stored{};
    if (!results_.empty() && !is_float(shape.dtype))
      for (std::int64_t& i : o.integers) {
        store_integer(stored.data(), shape.dtype, i);
        i = load_integer(stored.data(), shape.dtype);
      }
    return;
  }
  if (std::ranges::none_of(results_, &Variant::moves)) return;
  if (std::ranges::all_of(results_, [](const Variant* v) { return !v->moves || v->from; }))
    return look_up_moves(o, shape);
  std::vector<std::int64_t> from(n);
  std::iota(from.begin(), from.end(), std::int64_t{1});
  for (const Variant* v : results_)
    if (v->moves) from = vary({shape.dtype, shape.shape, {}, from, n}, *v).integers;
  for (std::int64_t& i : from) --i;
  const auto n_own = static_cast<std::int64_t>(n);
  std::int64_t at = 0;
  while (at < n_own && from[static_cast<std::size_t>(at)] == at) ++at;
  if (at == n_own) return;
  o.from = std::move(from);
}

// Without a place for each element of a large result.
void Prediction::look_up_moves(Output& o, const Checked::Output& shape) {
  const std::int64_t n = numel(shape.shape);
  for (const Variant* v : results_)
    if (v->moves) o.moved.push_back(v->from(shape.shape, static_cast<std::size_t>(n)));
  std::int64_t at = 0;
  while (at < n && o.source(at) == at) ++at;
  if (at == n) o.moved.clear();
}

std::int64_t Prediction::Output::source(std::int64_t at) const {
  if (!from.empty()) return from[static_cast<std::size_t>(at)];
  for (auto by = moved.rbegin(); by != moved.rend(); ++by) {
    const std::optional<std::size_t> before = (*by)(static_cast<std::size_t>(at));
    if (!before) return -1;
    at = static_cast<std::int64_t>(*before);
  }
  return at;
}

double Prediction::of_place(std::size_t value, double x, std::int64_t at) {
  if (places_.empty()) {
    places_.resize(values_.size());
    std::vector<double> computed;
    if (std::ranges::any_of(values_, [](const Variant* v) { return v->of_place && v->looks_at_others; })) {
      computed.resize(static_cast<std::size_t>(numel(call_->outputs[0].shape)));
      evaluation_->values(0, computed);
    }
    for (std::size_t v = 0; v < values_.size(); ++v)
      if (values_[v]->of_place) places_[v] = values_[v]->of_place(computed, *call_);
  }
  return places_[value](x, at);
}

// What is stored of a result, if variants change numbers on the way.
Interval Prediction::stored(Interval i, int output, std::int64_t at) {
  if (values_.empty()) return i;
  const Dtype dtype = call_->outputs[static_cast<std::size_t>(output)].dtype;
  const Format& f = format(dtype);
  double least = i.lower, most = i.upper, middle = i.value;
  // Numbers of 16 bits are computed in 32 before: what happens to them on the way out happens to those.
  if (bytes(dtype) == 2 && std::isfinite(middle) && least <= most &&
      most - least <= 2 * f.unit * std::fabs(middle) * 2) {
    least = std::min(middle * (1 - kBeforeStore), middle * (1 + kBeforeStore));
    most = std::max(middle * (1 - kBeforeStore), middle * (1 + kBeforeStore));
  }
  for (const Variant* v : values_) {
    least = middle + (least - middle) * v->beside_errs;
    most = middle + (most - middle) * v->beside_errs;
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
  for (std::size_t k = 0; k < values_.size(); ++k) {
    const Variant* v = values_[k];
    std::vector<double> before = points;
    if (v->of_place) {
      if (output != 0) continue;
      for (double& x : points) x = of_place(k, x, at);
    } else {
      VariantResult r{dtype, {static_cast<std::int64_t>(points.size())}, points, {}, points.size()};
      std::vector<VariantResult> all(outputs_.size(), r);
      v->results(all, *call_);
      points = std::move(all[0].values);
    }
    if (v->change_errs == 0) continue;
    for (std::size_t p = 0; p < before.size(); ++p) {
      const double size = std::max({std::fabs(points[p]), v->errs_at_least,
                                    v->errs_as_input ? std::min(std::fabs(before[p]), kCancels) : 0});
      for (const double sign : {-1.0, 1.0}) points.push_back(points[p] + sign * v->change_errs * size);
    }
    if (v->rounded_to)
      for (double& x : points) x = round_to(x, format(*v->rounded_to));
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

std::vector<double> Prediction::values(int output, const std::vector<double>* reference) {
  const auto o = static_cast<std::size_t>(output);
  const Checked::Output& shape = call_->outputs[o];
  const auto n = static_cast<std::size_t>(numel(shape.shape));
  std::vector<double> computed;
  if (own_evaluation_ == nullptr && reference != nullptr) {
    computed = *reference;
  } else {
    computed.resize(n);
    evaluation_->values(output, computed);
  }
  std::vector<VariantResult> all(outputs_.size());  // a variant may be about one of the results alone
  all[o] = {shape.dtype, shape.shape, std::move(computed), {}, n};
  for (const Variant* v : results_) {
    if (v->results) v->results(all, *call_);
    if (!v->of_place || output != 0) continue;
    const auto k = static_cast<std::size_t>(std::ranges::find(values_, v) - values_.begin());
    for (std::size_t i = 0; i < n; ++i)
      all[o].values[i] = of_place(k, all[o].values[i], static_cast<std::int64_t>(i));
  }
  if (within_ != nullptr) {
    const std::vector<double> right = elsewhere_->values(output, reference);
    for (std::size_t i = 0; i < n; ++i)
      if (!within_->within(output, static_cast<std::int64_t>(i))) all[o].values[i] = right[i];
  }
  return std::move(all[o].values);
}

double Prediction::exact(const Element& e) {
  if (is_exact(e.output)) return static_cast<double>(integer(e.output, e.at));
  std::vector<double>& all = outputs_[static_cast<std::size_t>(e.output)].values;
  if (all.empty()) all = values(e.output);
  return all[static_cast<std::size_t>(e.at)];
}

const Interval& Prediction::interval(int output, std::int64_t at) {
  if (Prediction* p = beside(output, at)) return p->interval(output, at);
  Output& o = outputs_[static_cast<std::size_t>(output)];
  const auto found = o.known.find(at);
  if (found != o.known.end()) return found->second;
  Interval i;
  if (is_exact(output)) {
    i.value = i.lower = i.upper = static_cast<double>(integer(output, at));
  } else {
    const std::int64_t from = o.source(at);
    if (from < 0)
      i.exact_zero_sign = true;
    else
      i = stored(evaluation_->interval(output, from, contract_), output, from);
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
  if (!results_.empty() || within_ != nullptr || e.right.undecidable()) return false;
  if (wrong_formula_) {
    const Dtype dtype = call_->outputs[static_cast<std::size_t>(e.output)].dtype;
    return !e.right.contains(round_to(interval(e.output, e.at).value, format(dtype)));
  }
  const Attack plain{.rounding = Attack::Rounding::nearest, .shuffle = false};
  return !e.right.contains(evaluation_->attacked(e.output, e.at, contract_, plain));
}

std::optional<double> Prediction::typical(const Element& e) { return typical(e, contract_.chain); }

std::optional<double> Prediction::typical(const Element& e, const Chain& chain) {
  if (is_exact(e.output) || !values_.empty() || within_ != nullptr || wrong_formula_ || e.right.undecidable())
    return std::nullopt;
  const Output& o = outputs_[static_cast<std::size_t>(e.output)];
  const std::int64_t from = o.source(e.at);
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
