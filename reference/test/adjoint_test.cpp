// Backward operators against the derivative of their forward operator: <g, J v> = <J^T g, v>, for every reference
// named X_backward, whose arguments are a gradient for each result of X and then X's own, or `output` for its result,
// and whose results are the gradients of X's tensor arguments in order. Both sides come from 200-bit readings. What may
// lie between them is what reading them out as doubles rounds, and what the backward reference's strict f64 interval
// admits, because a literal of a formula is rounded to double.
#include <gtest/gtest.h>

#include "../scalars/dual.h"
#include "random_call.h"

namespace assay::testing {
namespace {

struct Backward {
  const Reference* forward;
  const Reference* backward;
};

std::vector<Backward> backwards() {
  std::vector<Backward> all;
  for (const Reference* r : references()) {
    const std::string_view name = r->op().schema.name;
    if (!name.ends_with("_backward")) continue;
    all.push_back({find_reference(name.substr(0, name.size() - 9)), r});
  }
  return all;
}

struct Sides {
  Real left, right, admitted;
};

std::vector<double> normals(std::mt19937_64& random, std::int64_t n) {
  std::normal_distribution<double> normal;
  std::vector<double> all(static_cast<std::size_t>(n));
  for (double& x : all) x = normal(random);
  return all;
}

// The arguments of the backward call that belongs to a forward one: `gradients` by result, then by name.
std::vector<assay_value> backward_arguments(const Backward& b, RandomCall& f, Call& made,
                                            const std::vector<std::vector<double>>& gradients) {
  const Schema& forward = b.forward->op().schema;
  std::vector<assay_value> arguments;
  for (const Argument& a : b.backward->op().schema.arguments()) {
    const std::size_t i = arguments.size();
    if (const int at = forward.find(a.name); at >= 0) {
      arguments.push_back(f.call.arguments()[static_cast<std::size_t>(at)]);
      continue;
    }
    const bool output = a.name == "output";
    const Checked::Output& result = f.call.outputs()[output ? 0 : i];
    std::vector<double> elements;
    for (std::int64_t k = 0; output && k < f.call.numel(); ++k) elements.push_back(f.evaluation->truth(0, k));
    made.tensor(Dtype::f64, result.shape, output ? elements : gradients[i]);
    arguments.push_back(made.arguments().back());
  }
  return arguments;
}

Sides pair_up(const Backward& b, RandomCall& f, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Schema& forward = b.forward->op().schema;
  Sides s;
  const auto add = [&](Real& side, double x, double y) {
    const Real product = Real(x) * Real(y);
    side = side + product;
    s.admitted = s.admitted + abs(product) * Real(0x1p-53);
  };

  std::vector<std::vector<double>> direction, gradients;
  for (std::size_t i = 0; i < forward.argument_count; ++i)
    direction.push_back(normals(random, static_cast<std::int64_t>(f.elements[i].size())));
  for (int result = 0; result < static_cast<int>(f.call.outputs().size()); ++result) {
    gradients.push_back(normals(random, f.call.numel(result)));
    for (std::size_t k = 0; k < gradients.back().size(); ++k)
      add(s.left, gradients.back()[k],
          f.evaluation->derivative(result, static_cast<std::int64_t>(k), direction));
  }

  Call made(b.backward->op().schema.name);
  const std::vector<assay_value> arguments = backward_arguments(b, f, made, gradients);
  const Checked checked = check_arguments(b.backward->op(), arguments);
  EXPECT_TRUE(checked.ok()) << checked.error;
  const auto evaluation = b.backward->evaluate(arguments, checked.outputs);
  // `output` is the forward's result rounded to double, which moves the gradient by its derivative times that.
  std::vector<std::vector<double>> moved(arguments.size());
  if (const int output = b.backward->op().schema.find("output"); output >= 0)
    for (std::int64_t k = 0; k < f.call.numel(); ++k)
      moved[static_cast<std::size_t>(output)].push_back(f.evaluation->truth(0, k) * 0x1p-52);

  int result = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    if (!forward.argument_storage[i].is_tensor()) continue;
    for (std::size_t n = 0; n < direction[i].size(); ++n) {
      const auto k = static_cast<std::int64_t>(n);
      const double truth = evaluation->truth(result, k);
      add(s.right, truth, direction[i][n]);
      const Interval interval = evaluation->interval(result, k, {});
      const double error = std::max(interval.upper - truth, truth - interval.lower) +
                           std::fabs(evaluation->derivative(result, k, moved));
      s.admitted = s.admitted + abs(Real(error) * Real(direction[i][n]));
    }
    ++result;
  }
  return s;
}

TEST(Adjoint, EveryBackwardReferenceIsTheTransposedDerivative) {
  ASSERT_FALSE(backwards().empty());
  for (const Backward& b : backwards()) {
    ASSERT_NE(b.forward, nullptr) << b.backward->op().schema.name << " has no forward operator";
    double tightest = 1;
    for (const Family family : {Family::normal, Family::positive, Family::wide})
      for (std::uint64_t seed = 0; seed < 60; ++seed) {
        RandomCall f(b.forward->op(), Dtype::f64, family, seed);
        const Sides s = pair_up(b, f, seed);
        ASSERT_TRUE(abs(s.left - s.right) <= s.admitted || (family == Family::wide && !is_finite(s.admitted)))
            << b.backward->op().schema.name << " " << f.text << ": " << static_cast<double>(s.left)
            << " is not " << static_cast<double>(s.right) << ", admitted " << static_cast<double>(s.admitted);
        if (!(s.left == Real(0)))
          tightest = std::min(tightest, static_cast<double>(s.admitted / abs(s.left)));
      }
    EXPECT_LT(tightest, 1e-14) << b.backward->op().schema.name << ": the comparison says nothing";
  }
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
  for (const Backward& b : backwards()) {
    RandomCall f(b.forward->op(), Dtype::f64, Family::normal, 3);
    const Sides right = pair_up(b, f, 3);
    const double slip = 0x1p-40 * static_cast<double>(right.left);
    EXPECT_FALSE(abs(right.left + Real(slip) - right.right) <= right.admitted)
        << b.backward->op().schema.name;
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

// Every elementary function's derivative against a central difference in 200 bits: step h leaves an error of order h^2.
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
