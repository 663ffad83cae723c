#include "wrong_formula.h"

#include <vector>

namespace assay {
namespace {

std::vector<WrongFormula>& all_wrong() {
  static std::vector<WrongFormula> all;
  return all;
}

}  // namespace

std::span<const WrongFormula> wrong_formulas() { return all_wrong(); }

EnrolledWrong::EnrolledWrong(const WrongFormula& wrong) { all_wrong().push_back(wrong); }

}  // namespace assay
