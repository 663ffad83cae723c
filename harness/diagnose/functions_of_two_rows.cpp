#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "function_tables.h"
#include "row_statistics.h"

namespace assay::diagnose {
namespace {

using namespace rows;

double dot(Row x, Row y) { return std::inner_product(x.begin(), x.end(), y.begin(), 0.0); }
template <class F>
double fold(Row x, Row y, double begin, const F& f) {
  for (std::size_t i = 0; i < x.size(); ++i) begin = f(begin, x[i], y[i]);
  return begin;
}
double squared_distance(Row x, Row y) {
  return fold(x, y, 0, [](double s, double a, double b) { return s + (a - b) * (a - b); });
}
double covariance(Row x, Row y) { return dot(x, y) - length(x) * mean(x) * mean(y); }

constexpr RowsNumber kOfRows[] = {
    {"the product", dot},
    {"the negative product", [](Row x, Row y) { return -dot(x, y); }},
    {"the square of the product", [](Row x, Row y) { return dot(x, y) * dot(x, y); }},
    {"the product over the number of terms", [](Row x, Row y) { return dot(x, y) / length(x); }},
    {"the product over the root of the number of terms",
     [](Row x, Row y) { return dot(x, y) / std::sqrt(length(x)); }},
    {"the cosine similarity", [](Row x, Row y) { return dot(x, y) / std::sqrt(squares(x) * squares(y)); }},
    {"one minus the cosine similarity",
     [](Row x, Row y) { return 1 - dot(x, y) / std::sqrt(squares(x) * squares(y)); }},
    {"the product with the second one's row normalised",
     [](Row x, Row y) { return dot(x, y) / std::sqrt(squares(y)); }},
    {"the product with the first one's row normalised",
     [](Row x, Row y) { return dot(x, y) / std::sqrt(squares(x)); }},
    {"the correlation",
     [](Row x, Row y) { return covariance(x, y) / std::sqrt(moment(x, 2) * moment(y, 2)); }},
    {"the covariance, by n,", [](Row x, Row y) { return covariance(x, y) / length(x); }},
    {"the covariance, by n - 1,", [](Row x, Row y) { return covariance(x, y) / (length(x) - 1); }},
    {"the product with the second one's row less its mean",
     [](Row x, Row y) { return dot(x, y) - total(x) * mean(y); }},
    {"the product with the first one's row less its mean",
     [](Row x, Row y) { return dot(x, y) - total(y) * mean(x); }},
    {"the product with the second one's row standardised, by n,",
     [](Row x, Row y) { return (dot(x, y) - total(x) * mean(y)) / std::sqrt(moment(y, 2) / length(y)); }},
    {"the product with the second one's row standardised, by n - 1,",
     [](Row x, Row y) {
       return (dot(x, y) - total(x) * mean(y)) / std::sqrt(moment(y, 2) / (length(y) - 1));
     }},
    {"the Euclidean distance", [](Row x, Row y) { return std::sqrt(squared_distance(x, y)); }},
    {"the negative Euclidean distance", [](Row x, Row y) { return -std::sqrt(squared_distance(x, y)); }},
    {"the square of the Euclidean distance", squared_distance},
    {"the negative square of the Euclidean distance", [](Row x, Row y) { return -squared_distance(x, y); }},
    {"a Gaussian of the distance", [](Row x, Row y) { return std::exp(-squared_distance(x, y)); }},
    {"a Gaussian of the distance, of variance 1",
     [](Row x, Row y) { return std::exp(-squared_distance(x, y) / 2); }},
    {"the sum of absolute differences",
     [](Row x, Row y) {
       return fold(x, y, 0, [](double s, double a, double b) { return s + std::fabs(a - b); });
     }},
    {"the negative sum of absolute differences",
     [](Row x, Row y) {
       return -fold(x, y, 0, [](double s, double a, double b) { return s + std::fabs(a - b); });
     }},
    {"the largest absolute difference",
     [](Row x, Row y) {
       return fold(x, y, 0, [](double s, double a, double b) { return std::max(s, std::fabs(a - b)); });
     }},
    {"the largest sum of two (max-plus)",
     [](Row x, Row y) {
       return fold(x, y, -std::numeric_limits<double>::infinity(),
                   [](double s, double a, double b) { return std::max(s, a + b); });
     }},
    {"the smallest sum of two (min-plus)",
     [](Row x, Row y) {
       return fold(x, y, std::numeric_limits<double>::infinity(),
                   [](double s, double a, double b) { return std::min(s, a + b); });
     }},
    {"the largest product of two",
     [](Row x, Row y) {
       return fold(x, y, -std::numeric_limits<double>::infinity(),
                   [](double s, double a, double b) { return std::max(s, a * b); });
     }},
    {"the sum of sums", [](Row x, Row y) { return total(x) + total(y); }},
    {"the product of sums", [](Row x, Row y) { return total(x) * total(y); }},
    {"the sum of the smaller of two",
     [](Row x, Row y) {
       return fold(x, y, 0, [](double s, double a, double b) { return s + std::min(a, b); });
     }},
    {"the sum of absolute products",
     [](Row x, Row y) {
       return fold(x, y, 0, [](double s, double a, double b) { return s + std::fabs(a * b); });
     }},
    {"the product with the second one's signs",
     [](Row x, Row y) {
       return fold(x, y, 0, [](double s, double a, double b) { return s + (b > 0 ? a : b < 0 ? -a : 0); });
     }},
    {"the product with squares of the second one",
     [](Row x, Row y) { return fold(x, y, 0, [](double s, double a, double b) { return s + a * b * b; }); }},
    {"the product with absolute values of the second one",
     [](Row x, Row y) {
       return fold(x, y, 0, [](double s, double a, double b) { return s + a * std::fabs(b); });
     }},
    {"the product with relu of the first one",
     [](Row x, Row y) {
       return fold(x, y, 0, [](double s, double a, double b) { return s + std::max(a, 0.0) * b; });
     }},
};

}  // namespace

std::span<const RowsNumber> rows_numbers() { return kOfRows; }

}  // namespace assay::diagnose
