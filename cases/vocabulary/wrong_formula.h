// Formulas that are wrong in ways in which people get an operator wrong. They stand beside its reference and are written as
// it is: what the self-test plants, and what a diagnosis looks for.
#pragma once

#include <span>
#include <string_view>

#include "reference.h"

namespace assay {

struct WrongFormula {
  std::string_view name;  // "slope_of_the_last_dimension"
  std::string_view says;  // "takes the slope that belongs to the last dimension's index"
  const Reference* reference = nullptr;
  DtypeSet dtypes{};  // of results in which it can be told from the right one
  // Whose definition it is, where it is wrong by ATen's alone: "ONNX, AveragePool without count_include_pad". Or empty.
  std::string_view definition{};

  bool planted =
      true;  // false: it shows in calls alone that are larger than cases, so that only a diagnosis looks for it

  constexpr WrongFormula looked_for_only() const {
    WrongFormula f = *this;
    f.planted = false;
    return f;
  }
  constexpr WrongFormula as_defined_by(std::string_view whose) const {
    WrongFormula f = *this;
    f.definition = whose;
    return f;
  }
};

// Of all operators, in the order in which they were enrolled.
std::span<const WrongFormula> wrong_formulas();

class EnrolledWrong {
 public:
  explicit EnrolledWrong(const WrongFormula& wrong);
};

}  // namespace assay
