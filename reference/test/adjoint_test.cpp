// Gradients against the derivative of their operator: <g, J v> = <J^T g, v>, for every operator that says gradient_of.
// Its results are the gradients of the other's tensor arguments in order. Both sides are read in 191 bits. What may lie
// between them is what the gradient's strict f64 interval admits, because a literal of a formula is rounded to double.
//
// Arguments that are results of the other operator (softmax's output) are rounded to f64 like any tensor. What that
// changes is added back to first order, by the gradient's own derivative; what is left is of second order, 2^-106 of
// numbers that in the sum may be 2^-53 of what they were.
#include <gtest/gtest.h>

#include "../evaluation.h"
#include "random_call.h"
#include "view.h"

namespace assay::testing {
namespace {

constexpr std::size_t kNotSaved = static_cast<std::size_t>(-1);  // schema.find finds no "-"

struct Gradient {
  const Reference* forward = nullptr;
  const Reference* backward = nullptr;
  std::vector<std::size_t> gradients;  // arguments: of the operator's results, in order
  std::vector<std::size_t>
      saved;  // arguments: the operator's results, in order; kNotSaved where it takes none
};

Gradient gradient(const Reference* backward) {
  const Schema& schema = backward->op().schema;
  const std::string_view text = backward->op().gradient_of;
  Gradient g{find_reference(text.substr(0, text.find('('))), backward, {}, {}};
  if (g.forward == nullptr) return g;
  std::string_view names = text.substr(text.find('(') + 1);
  while (names.size() > 1) {
    const std::size_t end = names.find_first_of(",)");
    g.saved.push_back(static_cast<std::size_t>(schema.find(names.substr(0, end))));
    names.remove_prefix(names[end] == ',' ? end + 2 : end);
  }
  for (std::size_t i = 0; i < schema.argument_count; ++i)
    if (schema.argument_storage[i].is_tensor() && std::ranges::find(g.saved, i) == g.saved.end() &&
        g.forward->op().schema.find(schema.argument_storage[i].name) < 0)
      g.gradients.push_back(i);
  return g;
}

std::vector<Gradient> gradients() {
  std::vector<Gradient> all;
  for (const Reference* r : references())
    if (!r->op().gradient_of.empty()) all.push_back(gradient(r));
  return all;
}

// A call's results and their derivatives.
class Readings {
 public:
  Readings(const Reference& reference, std::span<const assay_value> arguments)
      : checked(check_arguments(reference.op(), arguments)),
        inputs_(reference.op(), arguments, checked.outputs),
        values_(inputs_, static_cast<const ReferenceOf&>(reference).results()),
        duals_(inputs_, static_cast<const ReferenceOf&>(reference).results()) {
    EXPECT_TRUE(checked.ok()) << checked.error;
  }

  std::size_t numel(std::size_t output) const {
    std::size_t n = 1;
    for (const std::int64_t size : checked.outputs[output].shape) n *= static_cast<std::size_t>(size);
    return n;
  }
  std::vector<Real> values(std::size_t output) {
    std::vector<Real> all(numel(output));
    values_.read_all(static_cast<int>(output), all);
    return all;
  }
  std::vector<Real> tangents(std::size_t output, std::span<const std::vector<double>> direction) {
    std::vector<Dual> all(numel(output));
    duals_.set_direction(direction);
    duals_.read_all(static_cast<int>(output), all);
    std::vector<Real> tangents;
    for (Dual& d : all) tangents.push_back(std::move(d.tangent));
    return tangents;
  }

  const Checked checked;

 private:
  Inputs inputs_;
  Reader<Real> values_;
  Reader<Dual> duals_;
};

struct Sides {
  Real left, right, terms;  // terms: the sum of their magnitudes
  Real admitted;
};

// None where the gradient's tensors are broadcast, which its operator's are not, or where it leaves a result out.
std::optional<Sides> pair_up(const Gradient& gradient, RandomCall& c, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const Schema& backward = gradient.backward->op().schema;
  const std::span<const assay_value> given = c.call.arguments();
  const auto elements = [](const assay_value& v) {
    return v.kind == ASSAY_KIND_TENSOR
               ? static_cast<std::size_t>(static_cast<const View*>(v.as.tensor)->numel())
               : 0;
  };

  for (const assay_value& v : given)
    if (v.kind == ASSAY_KIND_BOOLS && std::ranges::count(std::span(v.as.integers, v.count), 0) > 0)
      return std::nullopt;

  std::vector<assay_value> arguments;
  std::vector<std::vector<double>> direction;
  const Checked of_backward = check_arguments(gradient.backward->op(), given);
  std::deque<std::vector<double>>
      invented;  // tensors that the gradient does not take: of the shape of its result
  std::deque<std::vector<std::int64_t>> sizes, strides;
  std::deque<assay_tensor> tensors;
  std::size_t ordinal = 0;
  for (const Argument& a : gradient.forward->op().schema.arguments()) {
    const int at = backward.find(a.name);
    assay_value v{ASSAY_KIND_NONE, 1, {}};
    if (at >= 0) {
      v = given[static_cast<std::size_t>(at)];
    } else if (a.is_tensor()) {
      const Shape& shape = sizes.emplace_back(of_backward.outputs.at(ordinal).shape);
      std::int64_t numel = 1;
      strides.emplace_back(shape.size());
      for (std::size_t d = shape.size(); d-- > 0; numel *= shape[d]) strides.back()[d] = numel;
      for (double& x : invented.emplace_back(numel)) x = normal(random);
      tensors.push_back({invented.back().data(),
                         {ASSAY_CPU, 0},
                         static_cast<std::int32_t>(shape.size()),
                         info(Dtype::f64).dlpack,
                         sizes.back().data(),
                         strides.back().data(),
                         0});
      v.kind = ASSAY_KIND_TENSOR;
      v.as.tensor = &tensors.back();
    } else if (a.type == Type::real) {
      v.kind = ASSAY_KIND_DOUBLE;
      v.as.real = 1e-5;
    }
    if (a.is_tensor()) ++ordinal;
    arguments.push_back(v);
    for (double& x : direction.emplace_back(elements(v))) x = normal(random);
  }
  Readings forward(*gradient.forward, arguments);
  const auto of_results = [&](const std::vector<std::size_t>& tensors_of_results) {
    for (std::size_t r = 0; r < tensors_of_results.size(); ++r) {
      if (tensors_of_results[r] == kNotSaved) continue;
      const auto& view = *static_cast<const View*>(given[tensors_of_results[r]].as.tensor);
      if (!std::ranges::equal(view.sizes(), forward.checked.outputs[r].shape)) return false;
    }
    return true;
  };
  if (!of_results(gradient.gradients) || !of_results(gradient.saved)) return std::nullopt;

  std::vector<std::vector<double>> lost(given.size());  // in the rounding of results to f64
  for (std::size_t r = 0; r < gradient.saved.size(); ++r) {
    if (gradient.saved[r] == kNotSaved) continue;
    std::vector<double> rounded;
    for (const Real& exact : forward.values(r)) {
      rounded.push_back(static_cast<double>(exact));
      lost[gradient.saved[r]].push_back(static_cast<double>(exact - Real(rounded.back())));
    }
    c.call.overwrite(gradient.saved[r], rounded);
  }
  Readings gradients(*gradient.backward, c.call.arguments());
  const auto evaluation = gradient.backward->evaluate(c.call.arguments(), gradients.checked.outputs);

  Sides s;
  const auto add = [&](Real& side, const Real& x, double y) {
    side = side + x * Real(y);
    s.terms = s.terms + abs(x * Real(y));
  };
  for (std::size_t r = 0; r < gradient.gradients.size(); ++r) {
    const std::vector<Real> tangents = forward.tangents(r, direction);
    const std::vector<double>& g = c.elements[gradient.gradients[r]];
    for (std::size_t k = 0; k < g.size(); ++k) add(s.left, tangents[k], g[k]);
  }
  std::size_t result = 0;
  for (const std::vector<double>& v : direction) {
    if (v.empty() && (result == gradients.checked.outputs.size() || gradients.numel(result) != 0)) continue;
    const std::vector<Real> values = gradients.values(result);
    const std::vector<Real> corrections = gradients.tangents(result, lost);
    for (std::size_t k = 0; k < v.size(); ++k) {
      add(s.right, values[k] + corrections[k], v[k]);
      if (!gradient.saved.empty()) continue;
      const Interval interval =
          evaluation->interval(static_cast<int>(result), static_cast<std::int64_t>(k), {});
      s.admitted = s.admitted + abs(Real(interval.upper - interval.lower) * Real(v[k]));
    }
    ++result;
  }
  s.admitted = s.admitted + s.terms * Real(gradient.saved.empty() ? 0x1p-150 : 0x1p-48) + Real(0x1p-900);
  return s;
}

TEST(Adjoint, EveryGradientIsTheTransposedDerivative) {
  ASSERT_FALSE(gradients().empty());
  for (const Gradient& g : gradients()) {
    const std::string_view name = g.backward->op().schema.name;
    ASSERT_NE(g.forward, nullptr) << name << " is the gradient of no operator";
    ASSERT_FALSE(g.gradients.empty()) << name;
    double tightest = 1;
    for (const Family family : {Family::normal, Family::positive, Family::wide})
      for (std::uint64_t seed = 0; seed < 60; ++seed) {
        RandomCall c(g.backward->op(), Dtype::f64, family, seed);
        const std::optional<Sides> sides = pair_up(g, c, seed);
        if (!sides) continue;
        const Sides& s = *sides;
        ASSERT_TRUE(abs(s.left - s.right) <= s.admitted || (family == Family::wide && !is_finite(s.admitted)))
            << name << " " << c.text << ": " << static_cast<double>(s.left) << " is not "
            << static_cast<double>(s.right) << ", admitted " << static_cast<double>(s.admitted);
        if (!(s.left == Real(0)))
          tightest = std::min(tightest, static_cast<double>(s.admitted / abs(s.left)));
      }
    EXPECT_LT(tightest, 1e-14) << name << ": the comparison says nothing";
  }
}

TEST(Adjoint, EveryBackwardOperatorSaysOfWhat) {
  for (const Reference* r : references())
    EXPECT_EQ(r->op().schema.name.find("_backward") != std::string_view::npos, !r->op().gradient_of.empty())
        << r->op().schema.name;
}

TEST(Adjoint, EveryLayoutReadsTheSameTensors) {
  const std::vector<double> g{1, 2, 3, 4, 5, 6}, x{-1, 2, -3, 4, -5, -6}, w{0.5, 0.25, 2};
  for (const std::vector<std::int64_t>& strides : {std::vector<std::int64_t>{3, 1}, {1, 2}, {6, 2}, {8, 2}}) {
    Call c("prelu_backward");
    c.tensor(Dtype::f64, {2, 3}, g, strides)
        .tensor(Dtype::f64, {2, 3}, x, strides)
        .tensor(Dtype::f64, {3}, w, {2});
    Evaluation& e = c.evaluate();
    Call f("prelu");
    f.tensor(Dtype::f64, {2, 3}, x, strides).tensor(Dtype::f64, {3}, w, {2});
    Evaluation& forward = f.evaluate();
    const std::vector<std::vector<double>> v{{0.5, -1, 2, 3, -2, 1}, {7, -3, 0.5}};
    double left = 0, right = 0;  // small integers and halves: exact
    for (int k = 0; k < 6; ++k) left += g[static_cast<std::size_t>(k)] * forward.derivative(0, k, v);
    for (int k = 0; k < 6; ++k) right += e.truth(0, k) * v[0][static_cast<std::size_t>(k)];
    for (int k = 0; k < 3; ++k) right += e.truth(1, k) * v[1][static_cast<std::size_t>(k)];
    EXPECT_EQ(left, right);
  }
}

TEST(Adjoint, AWrongGradientIsNoticed) {
  for (const Gradient& g : gradients()) {
    int calls = 0, noticed = 0;  // not all: where gelu's terms cancel, its interval is wide
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      RandomCall c(g.backward->op(), Dtype::f64, Family::normal, seed);
      const std::optional<Sides> s = pair_up(g, c, seed);
      if (!s || static_cast<double>(s->terms) == 0) continue;
      ++calls;
      noticed += abs(s->left + Real(0x1p-40) * s->terms - s->right) <= s->admitted ? 0 : 1;
    }
    EXPECT_GE(calls, 5) << g.backward->op().schema.name;
    EXPECT_GE(10 * noticed, 9 * calls) << g.backward->op().schema.name;
  }
}

// At the kink the derivative is that of the branch which the formula takes, and so is ATen's gradient: the slope.
TEST(Adjoint, AtTheKinkOfPrelu) {
  Call f("prelu");
  f.tensor(Dtype::f64, {1, 2}, {0.0, -0.0}).tensor(Dtype::f64, {2}, {0.25, 3});
  Evaluation& e = f.evaluate();
  EXPECT_EQ(e.derivative(0, 0, std::vector<std::vector<double>>{{1, 1}, {}}), 0.25);
  EXPECT_EQ(e.derivative(0, 1, std::vector<std::vector<double>>{{1, 1}, {}}), 3);
  EXPECT_EQ(e.derivative(0, 0, std::vector<std::vector<double>>{{}, {1, 1}}), 0);
  Call b("prelu_backward");
  b.tensor(Dtype::f64, {1, 2}, {1, 1})
      .tensor(Dtype::f64, {1, 2}, {0.0, -0.0})
      .tensor(Dtype::f64, {2}, {0.25, 3});
  b.evaluate();
  EXPECT_EQ(b.values(0), (std::vector<double>{0.25, 3}));
  EXPECT_EQ(b.values(1), (std::vector<double>{0, 0}));
}

TEST(Derivative, OfSoftmaxSumsToZeroAlongItsRow) {
  Call c("softmax.int");
  c.tensor(Dtype::f64, {3}, {0.5, -1, 2}).integer(0).none();
  Evaluation& e = c.evaluate();
  const std::vector<std::vector<double>> v{{1, -2, 0.5}};
  double total = 0;
  for (int k = 0; k < 3; ++k) total += e.derivative(0, k, v);
  EXPECT_NEAR(total, 0, 0x1p-52);
  EXPECT_EQ(e.derivative(0, 0, std::vector<std::vector<double>>{{0, 0, 0}}), 0);
}

// Every elementary function's derivative against a central difference in 191 bits: step h leaves an error of order h^2.
TEST(Derivative, OfEveryElementaryFunction) {
  const Real h(0x1p-40);
  const auto check = [&](const char* name, auto function, double at) {
    const Dual d = function(Dual(Real(at), Real(1)));
    const Real up = function(Dual(Real(at) + h, Real(0))).value,
               down = function(Dual(Real(at) - h, Real(0))).value;
    const double difference = static_cast<double>((up - down) / (h + h) - d.tangent);
    EXPECT_LE(std::fabs(difference), 0x1p-70) << name;
  };
#define CHECK_DERIVATIVE(f, at) \
  check(                        \
      #f, [](const Dual& x) { return f(x); }, at)
  CHECK_DERIVATIVE(exp, 0.7);
  CHECK_DERIVATIVE(log, 0.7);
  CHECK_DERIVATIVE(tanh, 0.7);
  CHECK_DERIVATIVE(erf, 0.7);
  CHECK_DERIVATIVE(sin, 0.7);
  CHECK_DERIVATIVE(cos, 0.7);
  CHECK_DERIVATIVE(asin, 0.7);
  CHECK_DERIVATIVE(acos, 0.7);
  CHECK_DERIVATIVE(atan, 0.7);
  CHECK_DERIVATIVE(exp2, 0.7);
  CHECK_DERIVATIVE(log2, 0.7);
  CHECK_DERIVATIVE(expm1, 0.7);
  CHECK_DERIVATIVE(log1p, 0.7);
  CHECK_DERIVATIVE(sqrt, 0.7);
  CHECK_DERIVATIVE(abs, -0.7);
  check(
      "pow", [](const Dual& x) { return pow(x, x); }, 0.7);
  check(
      "quotient", [](const Dual& x) { return (x * x - Dual(1)) / (x + Dual(2)); }, 0.7);
}

}  // namespace
}  // namespace assay::testing
