// Wrong formulas of one operator, which stand beside its reference.
#include <fmt/format.h>

#include "variant.h"
#include "vocabulary/wrong_formula.h"

namespace assay {

void add_formula_variants(const Operator& op, std::vector<Variant>& all, bool planted) {
  for (const WrongFormula& wrong : wrong_formulas())
    if (&wrong.reference->op() == &op && wrong.planted == planted)
      all.push_back({.name = fmt::format("formula.{}", wrong.name),
                     .says = std::string(wrong.says),
                     .dtypes = wrong.dtypes,
                     .formula = wrong.reference,
                     .definition = wrong.definition});
}

}  // namespace assay
