#include "graph_terms.h"

#include <algorithm>

namespace assay {

using From = GraphValue::From;

std::optional<std::vector<std::int64_t>> written_integers(const GraphValue& v) {
  if (const auto* n = written<std::int64_t>(v)) return std::vector{*n};
  if (const auto* list = written<std::vector<std::int64_t>>(v)) return *list;
  return std::nullopt;
}

GraphTerms::GraphTerms(const Graph& graph) : graph_(graph) {
  for (std::size_t i = 0; i < graph.op.schema.argument_count; ++i) arguments_.push_back(terms_.any());
}

ShapeTerm GraphTerms::term(const GraphValue& v) {
  if (v.from == From::argument) return is_tensor_argument(v.index) ? arguments_[v.index] : ShapeTerm{};
  if (v.from != From::node) return {};
  const auto& all = results_[v.index];
  return v.result < all.size() ? all[v.result] : unknown(v.index, v.result);
}

std::vector<ShapeTerm> MovementTerms::of_movement(std::size_t k) {
  const GraphNode& node = graph_.nodes[k];
  const std::string_view base = node.schema().base;
  if (base == "to" || base == "rounded" || base == "contiguous" || base == "detach")
    return {term(node.arguments[0])};
  if (base == "t") {
    const ShapeTerm two = terms_.ranked(2);
    if (terms_.unify(term(node.arguments[0]), two)) return {{.front = {two.front[1], two.front[0]}}};
  }
  if (base == "transpose") return {transposed(k)};
  if (base == "permute") return {permuted(k)};
  if (base == "unsqueeze") return {unsqueezed(k)};
  if (base == "flatten") return {flattened(k)};
  if (base == "reshape" || base == "view" || base == "as_strided") return {reshaped(k)};
  if (base == "chunk" || base == "split") return cut(k, 2);
  if (base == "cat") return {joined(k)};
  return {unknown(k, 0)};
}

ShapeTerm MovementTerms::transposed(std::size_t k) {
  const GraphNode& node = graph_.nodes[k];
  const ShapeTerm self = term(node.arguments[0]);
  const auto x = written_integers(node.arguments[1]), y = written_integers(node.arguments[2]);
  if (!x || !y) return unknown(k, 0);
  const auto a = terms_.at(self, (*x)[0]), b = terms_.at(self, (*y)[0]);
  if (!a || !b) return unknown(k, 0);
  ShapeTerm t = terms_.resolved(self);
  DimTerm* const first = place(t, (*x)[0]);
  DimTerm* const second = place(t, (*y)[0]);
  if (first == nullptr || second == nullptr) return unknown(k, 0);
  std::swap(*first, *second);
  return t;
}
DimTerm* MovementTerms::place(ShapeTerm& t, std::int64_t d) {
  const std::size_t n = ShapeTerms::count_to(d);
  if (d >= 0) return n <= t.front.size() ? &t.front[n - 1] : nullptr;
  std::vector<DimTerm>& in = t.run ? t.back : t.front;
  return n <= in.size() ? &in[in.size() - n] : nullptr;
}

ShapeTerm MovementTerms::permuted(std::size_t k) {
  const GraphNode& node = graph_.nodes[k];
  const auto dims = written_integers(node.arguments[1]);
  if (!dims) return unknown(k, 0);
  const ShapeTerm self = terms_.ranked(dims->size());
  if (!terms_.unify(term(node.arguments[0]), self)) return unknown(k, 0);
  const auto n = static_cast<std::int64_t>(dims->size());
  ShapeTerm t;
  for (const std::int64_t d : *dims) {
    if (d < -n || d >= n) return unknown(k, 0);
    t.front.push_back(self.front[static_cast<std::size_t>(d < 0 ? d + n : d)]);
  }
  return t;
}

ShapeTerm MovementTerms::unsqueezed(std::size_t k) {
  const GraphNode& node = graph_.nodes[k];
  const auto dim = written_integers(node.arguments[1]);
  if (!dim) return unknown(k, 0);
  const std::int64_t d = (*dim)[0];
  const ShapeTerm self = term(node.arguments[0]);
  if (d > 0 && !terms_.at(self, d - 1)) return unknown(k, 0);
  if (d < -1 && !terms_.at(self, d + 1)) return unknown(k, 0);
  ShapeTerm t = terms_.resolved(self);
  std::vector<DimTerm>& in = d >= 0 || !t.run ? t.front : t.back;
  const auto at =
      d >= 0 ? static_cast<std::ptrdiff_t>(d) : std::ssize(in) + 1 + static_cast<std::ptrdiff_t>(d);
  if (at < 0 || at > std::ssize(in)) return unknown(k, 0);
  in.insert(in.begin() + at, terms_.dim(1));
  return t;
}

ShapeTerm MovementTerms::flattened(std::size_t k) {
  const GraphNode& node = graph_.nodes[k];
  const auto first = written_integers(node.arguments[1]), last = written_integers(node.arguments[2]);
  if (!first || !last || (*first)[0] < 0 || (*last)[0] != -1) return unknown(k, 0);
  ShapeTerm t;
  for (std::int64_t d = 0; d < (*first)[0]; ++d) {
    const auto dim = terms_.at(term(node.arguments[0]), d);
    if (!dim) return unknown(k, 0);
    t.front.push_back(*dim);
  }
  t.front.push_back(terms_.dim(EdgePart{k, 0, -1, 0}));
  return t;
}

ShapeTerm MovementTerms::reshaped(std::size_t k) {
  const auto sizes = written_integers(graph_.nodes[k].arguments[1]);
  if (!sizes) return unknown(k, 0);
  ShapeTerm t;
  for (std::size_t d = 0; d < sizes->size(); ++d) {
    const auto n = static_cast<std::int64_t>(d);
    t.front.push_back((*sizes)[d] >= 0 ? terms_.dim((*sizes)[d]) : terms_.dim(EdgePart{k, 0, n, n + 1}));
  }
  return t;
}

// As many results as the graph names, at least: the dimension that argument `dim` names differs.
std::vector<ShapeTerm> MovementTerms::cut(std::size_t k, std::size_t dim) {
  const GraphNode& node = graph_.nodes[k];
  std::size_t most = 0;
  const auto look = [&](const GraphValue& v, const auto& self) -> void {
    if (v.from == From::node && v.index == k) most = std::max(most, v.result);
    for (const GraphValue& item : v.items) self(item, self);
  };
  for (const GraphNode& n : graph_.nodes)
    for (const GraphValue& v : n.arguments) look(v, look);
  for (const GraphValue& v : graph_.results) look(v, look);
  std::vector<ShapeTerm> all;
  for (std::size_t r = 0; r <= most; ++r)
    all.push_back(without_size(k, r, term(node.arguments[0]), node.arguments[dim]));
  return all;
}
ShapeTerm MovementTerms::joined(std::size_t k) {
  const GraphNode& node = graph_.nodes[k];
  std::optional<ShapeTerm> first;
  for (const GraphValue& item : node.arguments[0].items) {
    if (!first) {
      first = without_size(k, 0, term(item), node.arguments[1]);
      continue;
    }
    const ShapeTerm other = without_size(k, 0, term(item), node.arguments[1]);
    terms_.unify(*first, other);
  }
  return first ? *first : unknown(k, 0);
}
ShapeTerm MovementTerms::without_size(std::size_t k, std::size_t result, const ShapeTerm& self,
                                      const GraphValue& dim) {
  const auto d = written_integers(dim);
  if (!d || !terms_.at(self, (*d)[0])) return unknown(k, result);
  ShapeTerm t = terms_.resolved(self);
  DimTerm* const at = place(t, (*d)[0]);
  if (at == nullptr) return unknown(k, result);
  *at = terms_.dim(EdgePart{k, result, (*d)[0], (*d)[0] + 1});
  return t;
}

}  // namespace assay
