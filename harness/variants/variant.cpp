#include "variant.h"

namespace assay {

void VariantResult::move(const std::function<std::optional<std::size_t>(std::size_t)>& from) {
  const auto moved = [&](auto& elements) {
    const auto before = elements;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::optional<std::size_t> source = from(i);
      elements[i] = source ? before[*source] : 0;
    }
  };
  moved(values);
  moved(integers);
}

Variant moving(std::string name, std::string says,
               std::function<MovedFrom(const Shape& shape, std::size_t size)> from) {
  Variant v;
  v.name = std::move(name);
  v.says = std::move(says);
  v.results = [from](std::vector<VariantResult>& results, const Call&) {
    for (VariantResult& r : results) r.move(from(r.shape, r.size()));
  };
  v.moves = true;
  v.from = std::move(from);
  return v;
}

std::vector<Variant> variants_of(const Operator& op) {
  std::vector<Variant> all{{.name = "none", .says = "the reference itself, which must pass"}};
  add_argument_variants(op, all);
  add_tensor_variants(op, all);
  add_arithmetic_variants(op, all);
  add_formula_variants(op, all);
  add_result_variants(op, all);
  add_behaviour_variants(op, all);
  return all;
}

}  // namespace assay
