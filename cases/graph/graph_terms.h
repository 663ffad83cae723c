// The shapes of a graph's values as far as they are known, while its rule is worked out (graph_shapes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph.h"
#include "shape_terms.h"

namespace assay {

// What a graph's literal says: known if it is written out.
template <class T>
const T* written(const GraphValue& v) {
  return v.from == GraphValue::From::literal ? std::get_if<T>(&v.literal) : nullptr;
}

// A literal int, or ints.
std::optional<std::vector<std::int64_t>> written_integers(const GraphValue& v);

class GraphTerms {
 protected:
  explicit GraphTerms(const Graph& graph);

  bool is_tensor_argument(std::size_t argument) const {
    return graph_.op.schema.argument_storage[argument].is_tensor();
  }
  ShapeTerm unknown(std::size_t node, std::size_t result) { return terms_.edge({node, result, 0, 0}); }
  // Of a tensor.
  ShapeTerm term(const GraphValue& v);

  const Graph& graph_;
  ShapeTerms terms_;
  std::vector<ShapeTerm> arguments_;
  std::vector<std::vector<ShapeTerm>> results_;  // of the nodes so far
};

// What movements make of shapes.
class MovementTerms : protected GraphTerms {
 protected:
  using GraphTerms::GraphTerms;

  std::vector<ShapeTerm> of_movement(std::size_t node);

 private:
  ShapeTerm transposed(std::size_t k);
  static DimTerm* place(ShapeTerm& t, std::int64_t d);
  ShapeTerm permuted(std::size_t k);
  ShapeTerm unsqueezed(std::size_t k);
  ShapeTerm flattened(std::size_t k);
  ShapeTerm reshaped(std::size_t k);
  std::vector<ShapeTerm> cut(std::size_t k, std::size_t dim);
  ShapeTerm joined(std::size_t k);
  ShapeTerm without_size(std::size_t k, std::size_t result, const ShapeTerm& self, const GraphValue& dim);
};

}  // namespace assay
