// Functions that are no operator here, but that kernels give in place of one: what somebody meant, or took for it. Plain formulas in
// double; where one has no value it is NaN.
#pragma once

#include <span>
#include <string_view>

namespace assay::diagnose {

// Of each element x. `formula` is empty where the name says it.
struct ElementFunction {
  std::string_view name, formula;
  double (*of)(double x);
};
std::span<const ElementFunction> element_functions();

// Of two elements x and y of two tensors, in this order.
struct PairFunction {
  std::string_view name, formula;
  double (*of)(double x, double y);
};
std::span<const PairFunction> pair_functions();

// Of a row of at least two numbers, one number.
struct RowNumber {
  std::string_view name;
  double (*of)(std::span<const double> row);
};
std::span<const RowNumber> row_numbers();

// Of a row of at least two numbers x, as many. `eps` is the call's, or 0.
struct RowFunction {
  std::string_view formula;
  void (*of)(std::span<const double> row, double eps, std::span<double> result);
};
std::span<const RowFunction> row_functions();

// Of two rows x and y of as many numbers, one number.
struct RowsNumber {
  std::string_view name;
  double (*of)(std::span<const double> x, std::span<const double> y);
};
std::span<const RowsNumber> rows_numbers();

}  // namespace assay::diagnose
