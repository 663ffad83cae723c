#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "function_tables.h"

namespace assay::diagnose {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_pdf(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); }
double within_one(double x) { return std::clamp(x, 0.0, 1.0); }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

// Schraudolph 1999, "A fast, compact approximation of the exponential function", as it is written for f32.
double exp_of_bits(double x, double correction) {
  constexpr double kScale = (1 << 23) / std::numbers::ln2, kBias = 127.0 * (1 << 23);
  const double bits = static_cast<double>(static_cast<float>(kScale)) * x + kBias - correction;
  if (!(bits > 0 && bits < 0x7f800000)) return std::nan("");
  return std::bit_cast<float>(static_cast<std::int32_t>(bits));
}

constexpr ElementFunction kOfElements[] = {
    {"the square", "x^2", [](double x) { return x * x; }},
    {"the cube", "x^3", [](double x) { return x * x * x; }},
    {"the reciprocal", "1 / x", [](double x) { return 1 / x; }},
    {"the reciprocal of the square", "1 / x^2", [](double x) { return 1 / (x * x); }},
    {"the square root", "", [](double x) { return std::sqrt(x); }},
    {"the square root of the absolute value", "", [](double x) { return std::sqrt(std::fabs(x)); }},
    {"the reciprocal of the square root", "", [](double x) { return 1 / std::sqrt(x); }},
    {"the cube root", "", [](double x) { return std::cbrt(x); }},
    {"the absolute value", "", [](double x) { return std::fabs(x); }},
    {"the negative", "-x", [](double x) { return -x; }},
    {"one minus it", "1 - x", [](double x) { return 1 - x; }},
    {"exp", "", [](double x) { return std::exp(x); }},
    {"exp of the negative", "exp(-x)", [](double x) { return std::exp(-x); }},
    {"expm1", "exp(x) - 1", [](double x) { return std::expm1(x); }},
    {"exp2", "2^x", [](double x) { return std::exp2(x); }},
    {"10^x", "", [](double x) { return std::pow(10, x); }},
    {"log", "", [](double x) { return std::log(x); }},
    {"log2", "", [](double x) { return std::log2(x); }},
    {"log10", "", [](double x) { return std::log10(x); }},
    {"log1p", "log(1 + x)", [](double x) { return std::log1p(x); }},
    {"sin", "", [](double x) { return std::sin(x); }},
    {"cos", "", [](double x) { return std::cos(x); }},
    {"tan", "", [](double x) { return std::tan(x); }},
    {"asin", "", [](double x) { return std::asin(x); }},
    {"acos", "", [](double x) { return std::acos(x); }},
    {"atan", "", [](double x) { return std::atan(x); }},
    {"sinh", "", [](double x) { return std::sinh(x); }},
    {"cosh", "", [](double x) { return std::cosh(x); }},
    {"tanh", "", [](double x) { return std::tanh(x); }},
    {"asinh", "", [](double x) { return std::asinh(x); }},
    {"acosh", "", [](double x) { return std::acosh(x); }},
    {"atanh", "", [](double x) { return std::atanh(x); }},
    {"sinc", "sin(pi x) / (pi x)",
     [](double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }},
    {"sin(x) / x", "", [](double x) { return x == 0 ? 1 : std::sin(x) / x; }},
    {"erf", "", [](double x) { return std::erf(x); }},
    {"erfc", "", [](double x) { return std::erfc(x); }},
    {"the logarithm of the gamma function", "", [](double x) { return std::lgamma(x); }},
    {"the density of the normal distribution", "", normal_pdf},
    {"the normal distribution", "(1 + erf(x / sqrt(2))) / 2", normal_cdf},
    {"a Gaussian", "exp(-x^2)", [](double x) { return std::exp(-x * x); }},
    {"the fraction", "x - floor(x)", [](double x) { return x - std::floor(x); }},
    {"the fraction, with the sign of x", "x - trunc(x)", [](double x) { return x - std::trunc(x); }},
    {"sigmoid", "1 / (1 + exp(-x))", sigmoid},
    {"sigmoid of the negative", "1 / (1 + exp(x))", [](double x) { return sigmoid(-x); }},
    {"logsigmoid", "log(1 / (1 + exp(-x)))", [](double x) { return -softplus(-x); }},
    {"logit", "log(x / (1 - x))", [](double x) { return std::log(x / (1 - x)); }},
    {"softplus", "log(1 + exp(x))", softplus},
    {"softsign", "x / (1 + |x|)", [](double x) { return x / (1 + std::fabs(x)); }},
    {"tanhshrink", "x - tanh(x)", [](double x) { return x - std::tanh(x); }},
    {"silu", "x / (1 + exp(-x))", [](double x) { return x * sigmoid(x); }},
    {"quick gelu", "x / (1 + exp(-1.702 x))", [](double x) { return x * sigmoid(1.702 * x); }},
    {"gelu", "x (1 + erf(x / sqrt(2))) / 2", [](double x) { return x * normal_cdf(x); }},
    {"gelu of tanh", "",
     [](double x) {
       return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
     }},
    {"mish", "x tanh(log(1 + exp(x)))", [](double x) { return x * std::tanh(softplus(x)); }},
    {"relu", "max(x, 0)", [](double x) { return std::max(x, 0.0); }},
    {"the square of relu", "max(x, 0)^2", [](double x) { return x > 0 ? x * x : 0; }},
    {"relu6", "x between 0 and 6", [](double x) { return std::clamp(x, 0.0, 6.0); }},
    {"hardtanh", "x between -1 and 1", [](double x) { return std::clamp(x, -1.0, 1.0); }},
    {"hardsigmoid", "x / 6 + 1/2 between 0 and 1", [](double x) { return within_one(x / 6 + 0.5); }},
    {"Keras' hard_sigmoid", "x / 5 + 1/2 between 0 and 1", [](double x) { return within_one(x / 5 + 0.5); }},
    {"hardswish", "x hardsigmoid(x)", [](double x) { return x * within_one(x / 6 + 0.5); }},
    {"elu", "exp(x) - 1 where x is below 0", [](double x) { return x > 0 ? x : std::expm1(x); }},
    {"selu", "",
     [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
    {"smoothstep", "3 x^2 - 2 x^3, with x between 0 and 1",
     [](double x) { return within_one(x) * within_one(x) * (3 - 2 * within_one(x)); }},
    {"smoothstep", "3 t^2 - 2 t^3, with t = (x + 1) / 2 between 0 and 1",
     [](double x) {
       const double t = within_one((x + 1) / 2);
       return t * t * (3 - 2 * t);
     }},
    {"smoothstep", "3 t^2 - 2 t^3, with t = x / 6 + 1/2 between 0 and 1",
     [](double x) {
       const double t = within_one(x / 6 + 0.5);
       return t * t * (3 - 2 * t);
     }},
    {"x |x|", "", [](double x) { return x * std::fabs(x); }},
    {"the symmetric logarithm", "sign(x) log(1 + |x|)",
     [](double x) { return sign(x) * std::log1p(std::fabs(x)); }},
    {"the derivative of tanh", "1 - tanh(x)^2", [](double x) { return 1 - std::tanh(x) * std::tanh(x); }},
    {"the derivative of sigmoid", "s (1 - s), with s = sigmoid(x)",
     [](double x) { return sigmoid(x) * (1 - sigmoid(x)); }},
    {"the derivative of silu", "s (1 + x (1 - s)), with s = sigmoid(x)",
     [](double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }},
    {"the derivative of gelu", "", [](double x) { return normal_cdf(x) + x * normal_pdf(x); }},
    {"the derivative of softsign", "1 / (1 + |x|)^2",
     [](double x) { return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x))); }},
    {"the derivative of elu", "exp(x) where x is below 0", [](double x) { return x > 0 ? 1 : std::exp(x); }},
    {"the derivative of mish", "",
     [](double x) {
       const double t = std::tanh(softplus(x));
       return t + x * sigmoid(x) * (1 - t * t);
     }},
    {"the derivative of hardswish", "x / 3 + 1/2 between -3 and 3",
     [](double x) { return x <= -3  ? 0
                           : x >= 3 ? 1
                                    : x / 3 + 0.5; }},
    {"the derivative of the square root", "1 / (2 sqrt(x))", [](double x) { return 0.5 / std::sqrt(x); }},
    {"the derivative of sin", "cos(x)", [](double x) { return std::cos(x); }},
    {"exp by the bits of an f32 (Schraudolph)", "", [](double x) { return exp_of_bits(x, 0); }},
    {"exp by the bits of an f32 (Schraudolph, least error)", "",
     [](double x) { return exp_of_bits(x, 486411); }},
    {"exp by the bits of an f32 (Schraudolph, least mean error)", "",
     [](double x) { return exp_of_bits(x, 366393); }},
    {"exp as a limit", "(1 + x / 256)^256", [](double x) { return std::pow(1 + x / 256, 256); }},
    {"exp as a limit", "(1 + x / 1024)^1024", [](double x) { return std::pow(1 + x / 1024, 1024); }},
    {"tanh by a fraction", "x (27 + x^2) / (27 + 9 x^2)",
     [](double x) { return x * (27 + x * x) / (27 + 9 * x * x); }},
    {"sigmoid by a fraction", "1/2 + x / (2 (1 + |x|))",
     [](double x) { return 0.5 + 0.5 * x / (1 + std::fabs(x)); }},
};

double remainder_of_divisor(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
double larger_plus(double x, double y, double (*of)(double)) {
  return std::max(x, y) + of(-std::fabs(x - y));
}

constexpr PairFunction kOfPairs[] = {
    {"the sum", "x + y", [](double x, double y) { return x + y; }},
    {"the difference", "x - y", [](double x, double y) { return x - y; }},
    {"the product", "x y", [](double x, double y) { return x * y; }},
    {"the quotient", "x / y", [](double x, double y) { return x / y; }},
    {"the larger", "max(x, y)", [](double x, double y) { return std::max(x, y); }},
    {"the smaller", "min(x, y)", [](double x, double y) { return std::min(x, y); }},
    {"the mean of both", "(x + y) / 2", [](double x, double y) { return (x + y) / 2; }},
    {"the absolute difference", "|x - y|", [](double x, double y) { return std::fabs(x - y); }},
    {"the square of the difference", "(x - y)^2", [](double x, double y) { return (x - y) * (x - y); }},
    {"the sum of squares", "x^2 + y^2", [](double x, double y) { return x * x + y * y; }},
    {"hypot", "sqrt(x^2 + y^2)", [](double x, double y) { return std::hypot(x, y); }},
    {"the geometric mean", "sqrt(x y)", [](double x, double y) { return std::sqrt(x * y); }},
    {"the harmonic mean", "2 x y / (x + y)", [](double x, double y) { return 2 * x * y / (x + y); }},
    {"resistances in parallel", "x y / (x + y)", [](double x, double y) { return x * y / (x + y); }},
    {"the relative difference", "(x - y) / y", [](double x, double y) { return (x - y) / y; }},
    {"fmod", "the remainder, with the sign of x", [](double x, double y) { return std::fmod(x, y); }},
    {"remainder", "the remainder, with the sign of y", remainder_of_divisor},
    {"IEEE 754's remainder", "x - y times the nearest integer of x / y",
     [](double x, double y) { return std::remainder(x, y); }},
    {"pow", "x^y", [](double x, double y) { return std::pow(x, y); }},
    {"atan2", "", [](double x, double y) { return std::atan2(x, y); }},
    {"copysign", "", [](double x, double y) { return std::copysign(x, y); }},
    {"ldexp", "x 2^y", [](double x, double y) { return x * std::exp2(y); }},
    {"logaddexp", "log(exp(x) + exp(y))",
     [](double x, double y) { return larger_plus(x, y, [](double d) { return std::log1p(std::exp(d)); }); }},
    {"logaddexp2", "log2(2^x + 2^y)",
     [](double x, double y) {
       return larger_plus(x, y, [](double d) { return std::log2(1 + std::exp2(d)); });
     }},
    {"xlogy", "x log(y)", [](double x, double y) { return x == 0 ? 0 : x * std::log(y); }},
    {"the quotient, rounded down", "floor(x / y)", [](double x, double y) { return std::floor(x / y); }},
    {"the quotient, cut off", "trunc(x / y)", [](double x, double y) { return std::trunc(x / y); }},
    {"the quotient, rounded to nearest", "", [](double x, double y) { return std::nearbyint(x / y); }},
    {"swish of one times the other", "x y / (1 + exp(-x))",
     [](double x, double y) { return x * sigmoid(x) * y; }},
    {"a gate", "x / (1 + exp(-y))", [](double x, double y) { return x * sigmoid(y); }},
    {"gelu of one times the other", "gelu(x) y", [](double x, double y) { return x * normal_cdf(x) * y; }},
    {"relu of one times the other", "max(x, 0) y", [](double x, double y) { return std::max(x, 0.0) * y; }},
    {"relu of the sum", "max(x + y, 0)", [](double x, double y) { return std::max(x + y, 0.0); }},
    {"relu of the difference", "max(x - y, 0)", [](double x, double y) { return std::max(x - y, 0.0); }},
    {"gelu of the sum", "gelu(x + y)", [](double x, double y) { return (x + y) * normal_cdf(x + y); }},
    {"silu of the sum", "silu(x + y)", [](double x, double y) { return (x + y) * sigmoid(x + y); }},
    {"the square of the sum", "(x + y)^2", [](double x, double y) { return (x + y) * (x + y); }},
    {"Huber's loss", "d^2 / 2 below 1, then |d| - 1/2, with d = x - y",
     [](double x, double y) {
       const double d = std::fabs(x - y);
       return d < 1 ? 0.5 * d * d : d - 0.5;
     }},
    {"the cross-entropy of two outcomes", "-(y log(x) + (1 - y) log(1 - x))",
     [](double x, double y) { return -(y * std::log(x) + (1 - y) * std::log1p(-x)); }},
    {"the term of Kullback and Leibler", "y (log(y) - x)",
     [](double x, double y) { return y == 0 ? 0 : y * (std::log(y) - x); }},
};

}  // namespace

std::span<const ElementFunction> element_functions() { return kOfElements; }
std::span<const PairFunction> pair_functions() { return kOfPairs; }

}  // namespace assay::diagnose
