// Wrong formulas of one operator, which stand beside its reference.
#include <fmt/format.h>

#include "variant.h"
#include "vocabulary/wrong_formula.h"

namespace assay {

void add_formula_variants(const Operator& op, std::vector<Variant>& all) {
  for (const WrongFormula& wrong : wrong_formulas())
    if (&wrong.reference->op() == &op)
      all.push_back({.name = fmt::format("formula.{}", wrong.name),
                     .says = std::string(wrong.says),
                     .dtypes = wrong.dtypes,
                     .formula = wrong.reference});
}

}  // namespace assay
