#include "suspects.h"

#include "graph/recurrent.h"

namespace assay::diagnose {

bool shows(const Variant& v) {
  return (v.arguments || v.formula != nullptr || !v.contract.empty() || v.results || v.of_place) &&
         !v.garbage && !v.first && !v.last && !v.accepts_anything && !v.name.starts_with("behaviour.");
}

std::vector<Variant> suspects_of(const Operator& op) {
  std::vector<Variant> all;
  add_formula_variants(op, all);
  add_recurrent_variants(op, all);
  add_paddings(op, all);
  add_argument_variants(op, all);
  add_tensor_variants(op, all);
  add_arithmetic_variants(op, all);
  add_result_variants(op, all);
  add_readings(op, all);
  add_stores(op, all);
  std::erase_if(all, [](const Variant& v) { return !shows(v); });
  // A layer's own results, which its graph reads, are given to no kernel.
  if (recurrent_layer_of(op) != nullptr)
    std::erase_if(all, [](const Variant& v) { return v.name.find(kStates) != std::string::npos; });
  return all;
}

}  // namespace assay::diagnose
