#include "narrow.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::diagnose {
namespace {

// A kernel that computes in a narrower way is wrong in most elements. One that is right where it would be wrong, this many
// times as often as it is wrong, does not; nor does one whose errors are this many times as large as they would be.
constexpr double kTooAccurate = 3, kTooFarOff = 8;
constexpr std::size_t kEnoughErrors = 8;
constexpr double kFarMoreAccurate = 32, kByChanceAccurate = 0.25;
constexpr double kByChanceOnTheGrid = 0.25, kAllOnTheGrid = 0.95;
constexpr double kMostOthers = 0.1;  // of results of other elements, that a cause may admit
constexpr std::size_t kEnoughToMeasure = 24;
constexpr double kFewestBits = 7;
constexpr int kBitsShort = 3;          // of the format, at least
constexpr double kEvenly = 16;         // the largest error over the median one, at most
constexpr double kLikeForetold = 0.6;  // correlation of errors
constexpr double kOneError = 1e-6;     // of the sum of squares: the share of what is not the mean, where all are one number
constexpr double kSpreadMore = 4;
constexpr double kAsLarge = 3;  // times, at most, that errors are larger or smaller than those foretold

double middle(std::vector<double>& x) {
  std::ranges::nth_element(x, x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2));
  return x[x.size() / 2];
}

bool too_far_off(const Elements& elements, Predictions& p) {
  std::vector<double> came, foretold;
  for (const Elements::Place& at : elements.wrong()) {
    const std::optional<double> error = p.typical_error(at);
    if (!error || !std::isfinite(*error) || !std::isfinite(at.element->actual)) continue;
    foretold.push_back(*error);
    came.push_back(std::fabs(at.element->actual - p.value(at)));
  }
  return came.size() >= kEnoughErrors && middle(came) > kTooFarOff * middle(foretold);
}

// The share of diverging numbers that are ones of the format.
double on_the_grid(const Elements& elements, const Format& f) {
  std::size_t numbers = 0, of_format = 0;
  for (const Elements::Place& at : elements.wrong()) {
    const double x = at.element->actual;
    if (!std::isfinite(x) || x == 0) continue;
    ++numbers;
    of_format += round_to(x, f) == x ? 1 : 0;
  }
  return numbers < kEnoughErrors ? 1 : static_cast<double>(of_format) / static_cast<double>(numbers);
}

// Whether such a kernel gives numbers of a narrower format, as what is rounded there last is, and these are none.
bool is_off_its_grid(std::span<Evidence* const> calls, const Elements& elements, Predictions& p) {
  for (const Dtype narrow : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const Format& f = format(narrow);
    std::size_t numbers = 0, foretold = 0, came = 0;
    for (const Elements::Place& at : elements.wrong()) {
      const double x = at.element->actual;
      if (!is_narrower(narrow, calls[at.call]->stored(at.element->output)) || !std::isfinite(x) || x == 0)
        continue;
      const std::optional<double> typical = p.typical(at);
      if (!typical || !std::isfinite(*typical) || *typical == 0) continue;
      ++numbers;
      foretold += round_to(*typical, f) == *typical ? 1 : 0;
      came += round_to(x, f) == x ? 1 : 0;
    }
    const auto all = static_cast<double>(numbers);
    if (numbers >= kEnoughErrors && static_cast<double>(foretold) > kAllOnTheGrid * all &&
        static_cast<double>(came) < kAllOnTheGrid * all)
      return true;
  }
  return false;
}

// How much errors go up and down together with those of a kernel that computes so, and adds in this order: nothing of a wrong formula
// in fewer bits, of which nothing is foretold. Errors are relative to the result, or to the middle one of all where it is smaller: of
// a sum that is nearly zero the relative error is as large as nowhere else.
std::optional<double> correlation(const Elements& elements, Predictions& p, const Chain& chain) {
  std::vector<double> sizes;
  for (const Elements::Place& at : elements.wrong())
    if (const double value = p.exact(at); std::isfinite(value)) sizes.push_back(std::fabs(value));
  if (sizes.empty()) return std::nullopt;
  const double size = middle(sizes);
  double both = 0, came = 0, foretold = 0, all_came = 0, all_foretold = 0, n = 0;
  for (const Elements::Place& at : elements.wrong()) {
    const std::optional<double> typical = p.typical(at, chain);
    // What the cause gives exactly: of a pair, the fault beside the arithmetic is in that.
    const double value = p.exact(at), unit = std::max(std::fabs(value), size);
    if (!typical) return std::nullopt;
    if (!std::isfinite(*typical) || !std::isfinite(at.element->actual) || !std::isfinite(value) || unit == 0)
      continue;
    const double x = (at.element->actual - value) / unit, y = (*typical - value) / unit;
    both += x * y;
    came += x * x;
    foretold += y * y;
    all_came += x;
    all_foretold += y;
    ++n;
  }
  if (came == 0 || foretold == 0) return 0;
  // Of equal rows one error is foretold for all. Where they differ, that these and those have one sign says nothing.
  const double spread = came - all_came * all_came / n, of_foretold = foretold - all_foretold * all_foretold / n;
  if (of_foretold < kOneError * foretold && spread > kOneError * came && spread > kSpreadMore * std::max(of_foretold, 0.0)) return 0;
  // Errors that all have one sign go together with any others that do: they must be as large, too.
  const double larger = std::sqrt(came / foretold);
  return larger > kAsLarge || larger * kAsLarge < 1 ? 0 : both / std::sqrt(came * foretold);
}

// The orders that kernels have: one term after the other, the lanes of vectors, blocks, a tree.
constexpr Chain kOrders[] = {{},
                             {Chain::Kind::partial, 4},
                             {Chain::Kind::partial, 8},
                             {Chain::Kind::partial, 16},
                             {Chain::Kind::blocked, 8},
                             {Chain::Kind::pairwise, 1}};

enum class Foretold : std::uint8_t { nothing, like, unlike };

Foretold likeness(const Elements& elements, Predictions& p) {
  for (const Chain& order : kOrders) {
    const std::optional<double> c = correlation(elements, p, order);
    if (!c) return Foretold::nothing;
    if (*c > kLikeForetold) return Foretold::like;
  }
  return Foretold::unlike;
}

std::optional<int> bits_of_approximation(std::span<Evidence* const> calls, const Elements& elements) {
  std::vector<double> errors;
  double most = 0;
  int precision = 64;
  for (const Evidence* e : calls)
    for (std::size_t o = 0; o < e->call().outputs.size(); ++o)
      if (e->has(static_cast<int>(o)))
        precision = std::min(precision, format(e->stored(static_cast<int>(o))).precision);
  const auto measure = [&](const Elements::Place& at, bool wrong) {
    const double value = at.element->right.value, x = at.element->actual;
    if (!std::isfinite(value) || !std::isfinite(x) || value == 0) return !wrong;
    const double error = std::fabs(x - value) / std::fabs(value);
    most = std::max(most, error);
    if (wrong) errors.push_back(error);
    return true;
  };
  for (const Elements::Place& at : elements.wrong())
    if (!is_float(calls[at.call]->call().outputs[static_cast<std::size_t>(at.element->output)].dtype) ||
        !measure(at, true))
      return std::nullopt;
  for (const Elements::Place& at : elements.right()) measure(at, false);
  if (errors.size() < kEnoughToMeasure || most == 0) return std::nullopt;
  const double bits = -std::log2(most);
  if (bits < kFewestBits || bits > precision - kBitsShort || most > kEvenly * middle(errors))
    return std::nullopt;
  for (const Dtype narrow : {Dtype::f32, Dtype::f16, Dtype::bf16})
    if (format(narrow).precision < precision && on_the_grid(elements, format(narrow)) > kByChanceOnTheGrid)
      return std::nullopt;
  return static_cast<int>(std::lround(bits));
}

// Of the beginnings of results, where a sample of all elements has few: those that such arithmetic would get wrong, and that are right by
// far more digits than it has. A few are so by chance; where it is a quarter of them, the kernel does not compute so.
std::size_t exact_beginnings(std::span<Evidence* const> calls, Predictions& p) {
  std::size_t foretold = 0, exact = 0;
  for (std::size_t c = 0; c < calls.size(); ++c)
    for (const Element& e : calls[c]->beginnings()) {
      const Elements::Place at{c, &e};
      if (!p.typically_diverges(at)) continue;
      ++foretold;
      const std::optional<double> error = p.typical_error(at);
      exact +=
          error && !e.diverges && std::fabs(e.actual - e.right.value) * kFarMoreAccurate < *error ? 1 : 0;
    }
  return exact >= kEnoughErrors &&
                 static_cast<double>(exact) > kByChanceAccurate * static_cast<double>(foretold)
             ? exact
             : 0;
}

}  // namespace

std::size_t too_accurate(std::span<Evidence* const> calls, const Elements& elements, Predictions& p) {
  if (const std::size_t exact = exact_beginnings(calls, p); exact > 0) return exact;
  const auto foretold = static_cast<std::size_t>(std::ranges::count_if(
      elements.right(), [&](const Elements::Place& at) { return p.typically_diverges(at); }));
  if (foretold == 0) return 0;
  double right = 0, wrong = 0;
  for (const Evidence* e : calls) {
    wrong += static_cast<double>(e->diverging());
    right += static_cast<double>(e->judged() - e->diverging());
  }
  const double share = static_cast<double>(foretold) / static_cast<double>(elements.right().size());
  return share * right > kTooAccurate * (wrong + 1) ? foretold : 0;
}

namespace {

// Whether every operation is said to be rounded to a format, the last one too, and results are no numbers of it.
bool is_off_the_format(const Hypothesis& hypothesis, std::span<Evidence* const> calls,
                       const Elements& elements) {
  for (const Variant* fault : hypothesis.faults) {
    if (fault->contract.empty() || elements.wrong().empty()) continue;
    const Elements::Place& any = elements.wrong().front();
    const Dtype stored = calls[any.call]->stored(any.element->output);
    const std::optional<Dtype> computes = parse_contract(fault->contract, stored).compute;
    if (computes && is_narrower(*computes, stored) &&
        on_the_grid(elements, format(*computes)) < kByChanceOnTheGrid)
      return true;
  }
  return false;
}

}  // namespace

bool is_no_such_arithmetic(const Hypothesis& hypothesis, std::span<Evidence* const> calls,
                           const Elements& elements, Predictions& p) {
  if (too_far_off(elements, p) || is_off_its_grid(calls, elements, p) ||
      is_off_the_format(hypothesis, calls, elements))
    return true;
  switch (likeness(elements, p)) {
    case Foretold::like:
      return false;
    case Foretold::unlike:
      return true;
    case Foretold::nothing:
      break;
  }
  return admits_others(elements, p) || bits_of_approximation(calls, elements);
}

bool admits_others(const Elements& elements, Predictions& p) {
  const std::vector<Elements::Place>& wrong = elements.wrong();
  std::size_t others = 0, admitted = 0;
  for (std::size_t k = 0; k < wrong.size(); ++k) {
    // Far away, where a row of the result is another one.
    const Elements::Place& other = wrong[(k + wrong.size() / 2 + 1) % wrong.size()];
    if (other.call != wrong[k].call || other.element->output != wrong[k].element->output ||
        other.element->actual == wrong[k].element->actual)
      continue;
    Element e = *wrong[k].element;
    e.actual = other.element->actual;
    ++others;
    admitted += p.admits({wrong[k].call, &e}) ? 1 : 0;
  }
  return static_cast<double>(admitted) > kMostOthers * static_cast<double>(others);
}

std::optional<int> bits_of_approximation(std::span<Evidence* const> calls) {
  return bits_of_approximation(calls, Elements(calls));
}

}  // namespace assay::diagnose
