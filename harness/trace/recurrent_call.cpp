#include "recurrent_call.h"

#include <fmt/format.h>

#include "../variants/variant.h"
#include "graph/recurrent.h"

namespace assay {
namespace {

bool have_same_parameters(const Call& a, const Call& b) {
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    const std::string_view name = a.op->schema.argument_storage[i].name;
    const auto *own = std::get_if<TensorData>(&a.arguments[i]), *other = std::get_if<TensorData>(&b.arguments[i]);
    if (name == kStates || name == "input" || own == nullptr || other == nullptr) continue;
    if (own->packed() != other->packed()) return false;
  }
  return true;
}

}  // namespace

void take_states(Call& engines, const KnownResult& own, std::vector<std::vector<double>>& within) {
  const auto states = static_cast<std::size_t>(engines.op->schema.find(kStates));
  engines.arguments[states] = own.data;
  within[states] = own.within;
}

std::optional<std::string> parameters_as(const Call& torchs, const Call& engines) {
  std::vector<Variant> all;
  add_recurrent_variants(*torchs.op, all);
  for (const Variant& v : all) {
    Call changed = torchs;
    if (v.arguments && v.arguments(changed) && have_same_parameters(changed, engines))
      return fmt::format("the parameters of the dump are PyTorch's as a kernel has them that {}", v.says);
  }
  return std::nullopt;
}

}  // namespace assay
