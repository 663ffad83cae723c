#include "work_of.h"

#include <optional>

#include "../generate/data.h"
#include "../model/call.h"
#include "vocabulary/reference.h"

namespace assay {
namespace {

constexpr double kAffordable = 2e7;  // operations and elements that are counted one by one

Work counted(const Call& call) {
  const Arguments arguments(call);
  return find_reference(call.op->schema.name)->evaluate(arguments.values(), call.outputs)->work();
}

const TensorSpec* first_tensor(const Case& c) {
  for (const CaseValue& v : c.arguments)
    if (const auto* t = std::get_if<TensorSpec>(&v)) return t;
  return nullptr;
}

// The case with `rows` in place of the first tensor's first dimension; with `all`, wherever a tensor begins with that number.
Case with_rows(const Case& c, std::int64_t rows, bool all) {
  Case smaller = c;
  std::int64_t before = -1;
  for (CaseValue& v : smaller.arguments) {
    auto* t = std::get_if<TensorSpec>(&v);
    if (t == nullptr || t->shape.empty()) continue;
    if (before >= 0 && !(all && t->shape[0] == before)) continue;
    if (before < 0) before = t->shape[0];
    t->shape[0] = rows;
  }
  return smaller;
}

double size_of(const Work& w) {
  const Operations& o = w.operations;
  return static_cast<double>(o.additions + o.multiplications + o.divisions + o.roots + o.functions +
                             o.comparisons) +
         static_cast<double>(w.bytes_read + w.bytes_written) / 4;
}

// a + (rows - 1) * (b - a), for each number.
Work extended(const Work& a, const Work& b, std::int64_t rows) {
  const auto at = [&](std::int64_t one, std::int64_t two) { return one + (rows - 1) * (two - one); };
  const Operations &p = a.operations, &q = b.operations;
  Work w;
  w.operations = {at(p.additions, q.additions), at(p.multiplications, q.multiplications),
                  at(p.divisions, q.divisions), at(p.roots, q.roots),
                  at(p.functions, q.functions), at(p.comparisons, q.comparisons)};
  w.bytes_read = at(a.bytes_read, b.bytes_read);
  w.bytes_written = at(a.bytes_written, b.bytes_written);
  for (std::size_t i = 0; i < a.bytes_of_argument.size(); ++i)
    w.bytes_of_argument.push_back(at(a.bytes_of_argument[i], b.bytes_of_argument[i]));
  return w;
}

std::optional<Work> counted_if_valid(const Case& c) {
  try {
    const Call call = materialise(c);
    if (!call.error.empty()) return std::nullopt;
    return counted(call);
  } catch (const CaseError&) {
    return std::nullopt;  // a layout that does not fit fewer rows
  }
}

std::optional<Work> by_rows(const Case& c, std::int64_t rows, bool all) {
  const std::optional<Work> one = counted_if_valid(with_rows(c, 1, all));
  if (!one || size_of(*one) * static_cast<double>(rows) < kAffordable) return std::nullopt;
  const std::optional<Work> two = counted_if_valid(with_rows(c, 2, all));
  // Where results do not grow with the rows (an embedding's table), what is read need not either.
  if (!two || two->bytes_written <= one->bytes_written) return std::nullopt;
  return extended(*one, *two, rows);
}

}  // namespace

Work work_of(const Case& c) {
  const TensorSpec* first = first_tensor(c);
  const std::int64_t rows = first == nullptr || first->shape.empty() ? 0 : first->shape[0];
  if (rows > 2) {
    if (const std::optional<Work> w = by_rows(c, rows, false)) return *w;
    if (const std::optional<Work> w = by_rows(c, rows, true)) return *w;
  }
  return counted(materialise(c));
}

}  // namespace assay
