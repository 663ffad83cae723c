#include "inversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "groups.h"
#include "relation.h"
#include "solve.h"
#include "vocabulary/domain.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostEquations = 4096;
constexpr double kAffine = 1e-9;
constexpr std::int64_t kLeastScaled = 8;   // elements of a tensor
constexpr std::size_t kLeastOfALine = 12;  // elements that diverge
constexpr std::size_t kMostAsked = 6;      // for a number that others are held against

struct Constant {
  double value;
  std::string_view text;
};
constexpr Constant kConstants[] = {{1.4426950408889634074, "1 / ln(2), as of a logarithm to base 2"},
                                   {0.43429448190325182765, "1 / ln(10), as of a logarithm to base 10"},
                                   {0.69314718055994530942, "ln(2)"},
                                   {2.3025850929940456840, "ln(10)"},
                                   {57.295779513082320877, "180 / pi, as of degrees"},
                                   {0.017453292519943295769, "pi / 180, as of degrees"},
                                   {1.4142135623730950488, "sqrt(2)"},
                                   {0.70710678118654752440, "1 / sqrt(2)"}};

// " (sqrt(2))", where a factor is a number that people know.
std::string known(double factor, double within) {
  for (const Constant& c : kConstants)
    if (std::fabs(factor - c.value) <= within + 0x1p-22 * c.value && within < 1e-3 * c.value)
      return fmt::format(" ({})", c.text);
  return {};
}

// An element of the result that is inverted: what came there, and how far it may be from what is right.
struct Observed {
  std::int64_t at;
  double came;
  double right;
  double within;
  bool diverges;
};

double spacing(double x, Dtype dtype) {
  const Format& f = format(dtype);
  return std::max(2 * f.unit * std::fabs(x), f.min_subnormal);
}

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
    const Shape& shape = call_.outputs[static_cast<std::size_t>(output_)].shape;
    known.resize(static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())));
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
      : evidence_(evidence),
        call_(evidence.call()),
        output_(output),
        shape_(call_.outputs[static_cast<std::size_t>(output)].shape),
        dtype_(evidence.stored(output)) {
    observe();
  }

  bool is_possible() const { return diverging_ >= 2; }

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
      const auto of_reference = straight(y, elements_, true, size);
      if (!of_reference) return;
      const auto right = agreement(*of_reference, shape_);
      const auto solutions = straight(y, elements_, false, size);
      if (!right || !solutions) return;
      const auto used = agreement(*solutions, shape_);
      if (!used) return;
      if (used->dimension == right->dimension && are_given(*used, given)) return;
      add(name, *used, right->dimension, given, found);
    } else if (const std::optional<double> x = number(a, call_.arguments[i])) {
      Function y(call_, i, output_);
      auto solutions = straight(y, elements_, false, std::max(1.0, std::fabs(*x)));
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
                                 known(used->values[0], used->within[0])),
                     used->values, std::nullopt, used->share});
  }

  // What one element says may be one of two numbers, where it grows with the number and shrinks again: then another one is asked.
  std::optional<std::vector<Solution>> found_near(Function& y, double given) const {
    const std::size_t most = elements_.size() < kMostEquations / 4 ? kMostAsked : 1;
    for (const Observed* o : clearest(elements_, most)) {
      auto solutions = near(y, elements_, given, o);
      if (solutions && agreement_along(*solutions, shape_, std::nullopt)) return solutions;
    }
    return std::nullopt;
  }

  // Of single elements: what diverges as factor * input + offset.
  void line_of(std::size_t i, std::vector<Inverted>& found) const {
    const auto* t = std::get_if<TensorData>(&call_.arguments[i]);
    if (t == nullptr || !is_float(t->dtype) || t->shape != shape_) return;
    const Observed *low = nullptr, *high = nullptr;
    for (const Observed& o : elements_) {
      if (!o.diverges) continue;
      if (!std::isfinite(o.came) || !std::isfinite(t->get(o.at))) return;
      if (low == nullptr || t->get(o.at) < t->get(low->at)) low = &o;
      if (high == nullptr || t->get(o.at) > t->get(high->at)) high = &o;
    }
    if (diverging_ < kLeastOfALine || t->get(low->at) == t->get(high->at)) return;
    const double x0 = t->get(low->at), apart = t->get(high->at) - x0;
    const double factor = (high->came - low->came) / apart, offset = low->came - factor * x0;
    const double unsure = (high->within + low->within) / apart;
    for (const Observed& o : elements_)
      if (o.diverges &&
          std::fabs(factor * t->get(o.at) + offset - o.came) > 2 * o.within + unsure * (t->get(o.at) - x0))
        return;
    const double scale = std::max(std::fabs(low->came), std::fabs(high->came));
    const std::string_view name = call_.op->schema.argument_storage[i].name;
    const bool sloped = std::fabs(factor) * apart > 1e-6 * scale, moved = std::fabs(offset) > 1e-6 * scale;
    std::string says = sloped ? fmt::format("{} times {}", few_digits(factor, unsure), name) : std::string();
    if (moved && sloped)
      says += fmt::format(" {} {}", offset < 0 ? "minus" : "plus",
                          few_digits(std::fabs(offset), unsure * std::fabs(x0) + low->within));
    else if (moved)
      says = few_digits(offset, low->within);
    if (says.empty()) return;  // zeros
    found.push_back({"the result", says + ", where it diverges", {factor, offset}, std::nullopt, 1});
  }

  // A Scalar may be written as an integer.
  static std::optional<double> number(const Argument& a, const CallValue& value) {
    if (const auto* x = std::get_if<double>(&value)) return *x;
    const auto* n = std::get_if<std::int64_t>(&value);
    if (n != nullptr && (a.type == Type::scalar || a.type == Type::real)) return static_cast<double>(*n);
    return std::nullopt;
  }

  // The result as factor * right + offset: everywhere, or for each index of a dimension.
  void affine(std::vector<Inverted>& found) {
    std::vector<std::optional<int>> dimensions{std::nullopt};
    for (int d = 0; d < static_cast<int>(shape_.size()); ++d)
      if (shape_[static_cast<std::size_t>(d)] > 1) dimensions.emplace_back(d);
    for (const std::optional<int>& d : dimensions)
      if (affine_along(d, found)) return;
  }

 private:
  void observe() {
    const std::vector<double>& values = evidence_.expectation().values(output_);
    const std::size_t step = std::max<std::size_t>(1, values.size() / kMostEquations);
    // A stride that shares no factor with a dimension of a power of two, so that all places of a row are met.
    std::vector<std::int64_t> places;
    for (std::size_t e = 0; e < values.size(); e += step | 1) places.push_back(static_cast<std::int64_t>(e));
    evidence_.look_up(output_, places);
    for (const std::int64_t at : places) {
      const Interval i = evidence_.interval(output_, at);
      if (i.undecidable()) continue;
      Observed o{at, evidence_.actual(output_, at), values[static_cast<std::size_t>(at)], 0,
                 !i.contains(evidence_.actual(output_, at))};
      o.within = (i.lower <= i.upper ? i.upper - i.lower : 0) +
                 spacing(std::max(std::fabs(o.came), std::fabs(o.right)), dtype_);
      diverging_ += o.diverges ? 1 : 0;
      elements_.push_back(o);
    }
  }

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

  bool affine_along(std::optional<int> dimension, std::vector<Inverted>& found) const {
    const std::size_t groups =
        dimension ? static_cast<std::size_t>(shape_[static_cast<std::size_t>(*dimension)]) : 1;
    std::int64_t inner = 1;
    if (dimension)
      for (std::size_t d = static_cast<std::size_t>(*dimension) + 1; d < shape_.size(); ++d)
        inner *= shape_[d];
    std::vector<std::vector<const Observed*>> by_index(groups);
    for (const Observed& o : elements_)
      by_index[dimension
                   ? static_cast<std::size_t>(o.at / inner % shape_[static_cast<std::size_t>(*dimension)])
                   : 0]
          .push_back(&o);
    if (elements_.size() < 6 * groups) return false;
    std::size_t agreeing = 0, diverging_agreeing = 0;
    std::vector<double> factors, offsets, within;
    for (const auto& group : by_index) {
      const Observed *low = nullptr, *high = nullptr;
      for (const Observed* o : group) {
        if (!std::isfinite(o->right) || !std::isfinite(o->came)) continue;
        if (low == nullptr || o->right < low->right) low = o;
        if (high == nullptr || o->right > high->right) high = o;
      }
      if (low == nullptr || low->right == high->right) return false;
      const double apart = high->right - low->right;
      const double factor = (high->came - low->came) / apart, offset = low->came - factor * low->right;
      const double unsure = (high->within + low->within) * (1 + std::fabs(factor)) / apart;
      for (const Observed* o : group) {
        const double slack =
            2 * o->within * (1 + std::fabs(factor)) + unsure * std::fabs(o->right - low->right);
        const bool numbers = std::isfinite(o->right) && std::isfinite(o->came);
        const bool agrees = numbers ? std::fabs(factor * o->right + offset - o->came) <= slack : !o->diverges;
        agreeing += agrees ? 1 : 0;
        diverging_agreeing += agrees && o->diverges ? 1 : 0;
      }
      factors.push_back(factor);
      offsets.push_back(offset);
      within.push_back(unsure);
    }
    const double share = static_cast<double>(agreeing) / static_cast<double>(elements_.size());
    // Where few elements diverge, what says nothing of them is in agreement with all others.
    if (share < kLeastAgreeing ||
        static_cast<double>(diverging_agreeing) < kLeastOfDiverging * static_cast<double>(diverging_))
      return false;
    const double scale = std::abs(std::ranges::max(elements_, {}, [](const Observed& o) {
                                    return std::isfinite(o.right) ? std::fabs(o.right) : 0;
                                  }).right);
    const auto is_scaled = [&](std::size_t g) { return std::fabs(factors[g] - 1) > 2 * within[g] + 1e-6; };
    const auto is_moved = [&](std::size_t g) {
      return std::fabs(offsets[g]) > 2 * within[g] * scale + 1e-6 * scale;
    };
    const auto text = [&](std::size_t g) {
      if (!is_moved(g))
        return fmt::format("{} times what is right{}", few_digits(factors[g], within[g]),
                           dimension ? std::string() : known(factors[g], within[g]));
      const std::string by = fmt::format("{} {}", offsets[g] < 0 ? "minus" : "plus",
                                         few_digits(std::fabs(offsets[g]), within[g] * scale));
      if (!is_scaled(g)) return fmt::format("what is right {}", by);
      return fmt::format("{} times what is right {}", few_digits(factors[g], within[g]), by);
    };
    constexpr std::size_t kMostShown = 4;
    std::string says;
    std::size_t others = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      if (!is_scaled(g) && !is_moved(g)) continue;
      if (others++ < kMostShown)
        says += dimension ? fmt::format("{}at index {}: {}", says.empty() ? "" : ", ", g, text(g)) : text(g);
    }
    if (others == 0) return false;
    if (dimension) {
      if (others > kMostShown) says += fmt::format(", and at {} more indices others", others - kMostShown);
      says = fmt::format("along dimension {}, {}{}", *dimension, says,
                         others < groups ? "; at the other indices what is right" : "");
    }
    found.push_back({"the result", std::move(says), factors, dimension, share});
    return true;
  }

  Evidence& evidence_;
  const Call& call_;
  int output_;
  const Shape& shape_;
  Dtype dtype_;
  std::vector<Observed> elements_;
  std::size_t diverging_ = 0;
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
    inverter.affine(found);
    if (found.empty())
      for (std::size_t i = 0; i < call.arguments.size(); ++i) inverter.line_of(i, found);
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
