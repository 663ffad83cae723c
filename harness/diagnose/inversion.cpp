#include "inversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "affine.h"
#include "groups.h"
#include "known_number.h"
#include "observed.h"
#include "relation.h"
#include "solve.h"
#include "vocabulary/domain.h"

namespace assay::diagnose {
namespace {

constexpr double kAffine = 1e-9;
constexpr std::int64_t kLeastScaled = 8;   // elements of a tensor
constexpr std::size_t kMostAsked = 6;      // for a number that others are held against

// What is made of a tensor with a number.
enum class Of : std::uint8_t { each_element, a_factor };

// Results of the call with one argument changed.
class Function {
 public:
  Function(const Call& call, std::size_t argument, int output, Of of = Of::each_element)
      : call_(call), argument_(argument), output_(output), of_(of) {
    if (of == Of::a_factor) given_ = packed_copy(std::get<TensorData>(call.arguments[argument]));
  }

  // For every element: the result where the argument is p, or each of its elements, or p times what was given.
  const std::vector<double>& at(double p) {
    auto& known = known_[p];
    if (!known.empty()) return known;
    if (auto* t = std::get_if<TensorData>(&call_.arguments[argument_]))
      for (std::int64_t i = 0; i < t->numel(); ++i) t->set(i, of_ == Of::a_factor ? p * given_->get(i) : p);
    else
      call_.arguments[argument_] = p;
    known.resize(static_cast<std::size_t>(numel(call_.outputs[static_cast<std::size_t>(output_)].shape)));
    const Arguments arguments(call_);
    find_reference(call_.op->schema.name)
        ->evaluate(arguments.values(), call_.outputs)
        ->values(output_, known);
    return known;
  }

 private:
  Call call_;
  std::size_t argument_;
  int output_;
  Of of_;
  std::optional<TensorData> given_;
  std::map<double, std::vector<double>> known_;
};

// Solves y(p) = `wanted` for each element, where y is a straight line. Nothing if it is none for most.
std::optional<std::vector<Solution>> straight(Function& y, const std::vector<Observed>& elements,
                                              bool of_the_reference, double size) {
  const std::vector<double>&a = y.at(0.5), &b = y.at(1), &c = y.at(2);
  std::vector<Solution> all;
  std::size_t bent = 0, informing = 0;
  for (const Observed& o : elements) {
    const auto i = static_cast<std::size_t>(o.at);
    Solution s{
        .at = o.at, .fits = of_the_reference || !o.diverges, .diverges = !of_the_reference && o.diverges};
    const double slope = (b[i] - a[i]) / 0.5, expected = b[i] + slope;
    const double wanted = of_the_reference ? o.right : o.came;
    const bool finite = std::isfinite(slope) && std::isfinite(c[i]) && std::isfinite(wanted);
    if (finite && slope != 0) {
      if (std::fabs(expected - c[i]) > kAffine * (std::fabs(c[i]) + std::fabs(slope))) ++bent;
      s.value = 1 + (wanted - b[i]) / slope;
      s.within = o.within / std::fabs(slope);
      s.informs = s.within < size;
      informing += s.informs ? 1 : 0;
    }
    all.push_back(s);
  }
  if (informing == 0 || bent * 10 > informing) return std::nullopt;
  return all;
}

// The elements that diverge most clearly, most clearly first.
std::vector<const Observed*> clearest(const std::vector<Observed>& elements, std::size_t most) {
  std::vector<const Observed*> all;
  for (const Observed& o : elements)
    if (o.diverges && std::isfinite(o.came) && std::isfinite(o.right)) all.push_back(&o);
  const auto clarity = [](const Observed* o) { return std::fabs(o->came - o->right) / o->within; };
  const auto n = static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::ranges::partial_sort(all, all.begin() + n, std::greater<>(), clarity);
  all.resize(static_cast<std::size_t>(n));
  return all;
}

// The same of a number that the result depends on in any way: near the number that the first element says.
std::optional<std::vector<Solution>> near(Function& y, const std::vector<Observed>& elements, double given,
                                          const Observed* clearest) {
  const auto at = static_cast<std::size_t>(clearest->at);
  const double unit = given != 0 ? std::fabs(given) : 1e-3;
  double p0 = given, p1 = given + 0.25 * unit;
  double f0 = y.at(p0)[at] - clearest->came, f1 = y.at(p1)[at] - clearest->came;
  for (int step = 0; step < 60 && f1 != 0 && f1 != f0; ++step) {
    double p2 = p1 - f1 * (p1 - p0) / (f1 - f0);
    if (!std::isfinite(p2)) return std::nullopt;
    p2 = std::clamp(p2, p1 - 8 * std::max(std::fabs(p1), unit), p1 + 8 * std::max(std::fabs(p1), unit));
    p0 = p1, f0 = f1;
    p1 = p2, f1 = y.at(p1)[at] - clearest->came;
    if (std::fabs(p1 - p0) <= 1e-12 * std::fabs(p1)) break;
  }
  if (!(std::fabs(f1) <= 2 * clearest->within)) return std::nullopt;
  const double h = 1e-3 * std::max(std::fabs(p1), 1e-3 * unit);
  const std::vector<double>&low = y.at(p1 - h), &middle = y.at(p1), &high = y.at(p1 + h);
  std::vector<Solution> all;
  for (const Observed& o : elements) {
    const auto i = static_cast<std::size_t>(o.at);
    const double slope = (high[i] - low[i]) / (2 * h);
    Solution s{.at = o.at, .fits = !o.diverges, .diverges = o.diverges};
    if (std::isfinite(slope) && slope != 0 && std::isfinite(o.came)) {
      s.value = p1 + (o.came - middle[i]) / slope;
      s.within = o.within / std::fabs(slope);
      s.informs = s.within < 0.5 * std::max(std::fabs(p1), unit);
    }
    // What hardly depends on the number must be as it is with it.
    if (!s.informs)
      s.fits = std::fabs(o.came - middle[i]) <= 2 * o.within || (std::isnan(o.came) && std::isnan(middle[i]));
    all.push_back(s);
  }
  return all;
}

class Inverter {
 public:
  Inverter(Evidence& evidence, int output)
      : call_(evidence.call()),
        output_(output),
        shape_(call_.outputs[static_cast<std::size_t>(output)].shape),
        observed_(observe(evidence, output)) {}

  bool is_possible() const { return observed_.diverging >= 2; }
  const Observations& observed() const { return observed_; }

  void argument(std::size_t i, std::vector<Inverted>& found) {
    const Argument& a = call_.op->schema.argument_storage[i];
    const std::string name(a.name);
    if (const auto* t = std::get_if<TensorData>(&call_.arguments[i])) {
      if (!is_float(t->dtype) || t->numel() == 0 || domain(*call_.op, a.name).kind == Domain::Kind::index)
        return;
      std::vector<double> given;
      double size = 1;
      for (std::int64_t e = 0; e < t->numel(); ++e) {
        given.push_back(t->get(e));
        if (std::isfinite(given.back())) size = std::max(size, std::fabs(given.back()));
      }
      if (t->numel() > 1 && t->shape.size() > 1) return;  // no list of parameters
      Function y(call_, i, output_);
      const auto of_reference = straight(y, observed_.elements, true, size);
      if (!of_reference) return;
      const auto right = agreement(*of_reference, shape_);
      const auto solutions = straight(y, observed_.elements, false, size);
      if (!right || !solutions) return;
      const auto used = agreement(*solutions, shape_);
      if (!used) return;
      if (used->dimension == right->dimension && are_given(*used, given)) return;
      add(name, *used, right->dimension, given, found);
    } else if (const std::optional<double> x = number(a, call_.arguments[i])) {
      Function y(call_, i, output_);
      auto solutions = straight(y, observed_.elements, false, std::max(1.0, std::fabs(*x)));
      if (!solutions || !agreement_along(*solutions, shape_, std::nullopt)) solutions = found_near(y, *x);
      if (!solutions) return;
      const auto used = agreement_along(*solutions, shape_, std::nullopt);
      const std::array given{*x};
      if (!used || are_given(*used, given)) return;
      add(name, *used, std::nullopt, given, found);
    }
  }

  // A number that a tensor is multiplied with before the formula: the scale of logits.
  void factor(std::size_t i, std::vector<Inverted>& found) {
    const auto* t = std::get_if<TensorData>(&call_.arguments[i]);
    const std::string name(call_.op->schema.argument_storage[i].name);
    if (t == nullptr || !is_float(t->dtype) || t->numel() < kLeastScaled ||
        domain(*call_.op, name).kind == Domain::Kind::index)
      return;
    Function y(call_, i, output_, Of::a_factor);
    const auto solutions = found_near(y, 1);
    if (!solutions) return;
    const auto used = agreement_along(*solutions, shape_, std::nullopt);
    const std::array given{1.0};
    if (!used || are_given(*used, given)) return;
    found.push_back({name,
                     fmt::format("{} times that given{}", few_digits(used->values[0], used->within[0]),
                                 known_number(used->values[0], used->within[0])),
                     used->values, std::nullopt, used->share});
  }

  // What one element says may be one of two numbers, where it grows with the number and shrinks again: then another one is asked.
  std::optional<std::vector<Solution>> found_near(Function& y, double given) const {
    const std::size_t most = observed_.elements.size() < kMostEquations / 4 ? kMostAsked : 1;
    for (const Observed* o : clearest(observed_.elements, most)) {
      auto solutions = near(y, observed_.elements, given, o);
      if (solutions && agreement_along(*solutions, shape_, std::nullopt)) return solutions;
    }
    return std::nullopt;
  }

  // A Scalar may be written as an integer.
  static std::optional<double> number(const Argument& a, const CallValue& value) {
    if (const auto* x = std::get_if<double>(&value)) return *x;
    const auto* n = std::get_if<std::int64_t>(&value);
    if (n != nullptr && (a.type == Type::scalar || a.type == Type::real)) return static_cast<double>(*n);
    return std::nullopt;
  }

 private:
  void add(const std::string& name, const Agreement& used, std::optional<int> right,
           std::span<const double> given, std::vector<Inverted>& found) const {
    std::string says;
    if (used.dimension) {
      says = fmt::format("one number for each index of dimension {}", *used.dimension);
      if (!right)
        says += ", where the reference has one for all";
      else if (*right != *used.dimension)
        says += fmt::format(", where the reference has dimension {}", *right);
      says += ": ";
    }
    says += relation(used, given, name);
    found.push_back({name, std::move(says), used.values, used.dimension, used.share});
  }

  const Call& call_;
  int output_;
  const Shape& shape_;
  Observations observed_;
};

}  // namespace

std::vector<Inverted> invert(Evidence& evidence) {
  std::vector<Inverted> found;
  const Call& call = evidence.call();
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    const int output = static_cast<int>(o);
    if (!evidence.has(output) || !is_float(call.outputs[o].dtype) || evidence.mask(output).count() == 0 ||
        evidence.expectation().integers(output) != nullptr)
      continue;
    Inverter inverter(evidence, output);
    if (!inverter.is_possible()) continue;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) inverter.argument(i, found);
    affine(inverter.observed(), call.outputs[o].shape, found);
    if (found.empty())
      for (std::size_t i = 0; i < call.arguments.size(); ++i)
        line_of(call, i, inverter.observed(), call.outputs[o].shape, found);
    if (found.empty())
      for (std::size_t i = 0; i < call.arguments.size(); ++i) inverter.factor(i, found);
    if (found.empty()) found = groups_of(evidence);
    break;  // results of one call share their parameters
  }
  // The fewest numbers first.
  std::ranges::stable_sort(found, {}, [](const Inverted& i) { return i.values.size(); });
  return found;
}

}  // namespace assay::diagnose
