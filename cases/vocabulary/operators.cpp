#include "operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "case.h"

namespace assay {
namespace {

std::vector<const Operator*>& all_operators() {
  static std::vector<const Operator*> all;
  return all;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool is_near(std::string_view written, std::string_view name) {
  constexpr std::size_t kTelling = 3;  // letters that say something where they stand in a name as they are
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  // Not std::ranges::search: clang 14 cannot compile the subrange that libstdc++ 12 returns.
  if (written.size() >= kTelling &&
      std::search(name.begin(), name.end(), written.begin(), written.end(), same) != name.end())
    return true;
  return edit_distance(written, name) <= (written.size() + 2) / 3;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

void enrol_operator(const Operator& op) {
  if (find_operator(op.schema.name) != nullptr) return;
  const auto at = std::ranges::lower_bound(all_operators(), op.schema.name, {},
                                           [](const Operator* o) { return o->schema.name; });
  all_operators().insert(at, &op);
}

std::span<const Operator* const> operators() { return all_operators(); }

const Operator* find_operator(std::string_view name) {
  const auto at =
      std::ranges::lower_bound(all_operators(), name, {}, [](const Operator* o) { return o->schema.name; });
  return at != all_operators().end() && (*at)->schema.name == name ? *at : nullptr;
}

const Operator& operator_named(std::string_view name) {
  if (const Operator* op = find_operator(name)) return *op;
  throw CaseError(fmt::format("there is no operator \"{}\"{}", name, nearest_operator_hint(name)));
}

std::string_view nearest_operator(std::string_view name) {
  std::string_view best;
  std::size_t least = ~std::size_t{0};
  for (const Operator* op : all_operators()) {
    // "add" should find add.Tensor, whatever its overload is called.
    for (const std::string_view its : {op->schema.name, op->schema.base})
      if (const std::size_t d = edit_distance(name, its); d < least && is_near(name, its)) {
        least = d;
        best = op->schema.name;
      }
  }
  return best;
}

std::string nearest_operator_hint(std::string_view name) {
  const std::string_view nearest = nearest_operator(name);
  return nearest.empty() ? "" : fmt::format("; the nearest name is \"{}\"", nearest);
}

}  // namespace assay
