#include "reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "operators.h"

namespace assay {
namespace {

std::vector<const Reference*>& all_references() {
  static std::vector<const Reference*> all;
  return all;
}

std::string_view name_of(const Reference* r) { return r->op().schema.name; }

}  // namespace

std::span<const Reference* const> references() { return all_references(); }

const Reference* find_reference(std::string_view op) {
  const auto at = std::ranges::lower_bound(all_references(), op, {}, name_of);
  return at != all_references().end() && name_of(*at) == op ? *at : nullptr;
}

EnrolledReference::EnrolledReference(const Reference* reference) {
  if (const Reference* first = find_reference(name_of(reference)))
    throw std::logic_error(fmt::format("{} has two references: {}:{} and {}:{}", name_of(reference),
                                       first->file(), first->line(), reference->file(), reference->line()));
  all_references().insert(std::ranges::lower_bound(all_references(), name_of(reference), {}, name_of),
                          reference);
  enrol_operator(reference->op());
}

}  // namespace assay
