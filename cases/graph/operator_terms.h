// What operators make of shapes, while the rule of a graph is worked out: of each, the first alternative of its own rule that fits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph_terms.h"
#include "vocabulary/shape_rule.h"

namespace assay {

class OperatorTerms : protected MovementTerms {
 protected:
  explicit OperatorTerms(const Graph& graph);

  std::vector<ShapeTerm> of_operator(std::size_t node);

  std::vector<bool> broadcasts_;          // of each argument of the graph
  std::map<std::size_t, DimTerm> bound_;  // int arguments that are sizes
  std::vector<std::size_t> some_;         // runs with a dimension at least
  // Convolutions whose results go together with other tensors get windows that keep the size of the image: [3,3] with a padding of 1.
  void keep_sizes();

  // Sizes that windows move over, and of each result's: computed, and in its image.
  std::vector<ShapeTerms::Pair> pooled_;

 private:
  struct Symbols {
    std::map<std::string, DimTerm> sizes{};
    std::map<std::string, std::size_t> runs{};
  };

  void count_uses(const GraphValue& v);
  bool is_free(const GraphValue& v);

  // ---- The patterns of an alternative as terms
  DimTerm size_of(Symbols& s, const std::string& name);
  std::size_t run_of(Symbols& s, const std::string& name, const ShapeAlternative& of);
  DimTerm product(Symbols& s, const DimPattern& d);
  ShapeTerm pattern(Symbols& s, const ShapePattern& p, const ShapeAlternative& of, const EdgePart* edge);
  ShapeTerm computed(Symbols& s, const ShapeTerm& known, const DimPattern& d, const EdgePart& edge,
                     std::size_t after);
  ShapeTerm reduced(const GraphNode& node, const DimPattern& d, const Symbols& s, const EdgePart& edge);

  // ---- Whether an alternative fits, and what follows
  bool fits(std::size_t node, const ShapeAlternative& alternative, Symbols& s);
  bool name_images(const GraphNode& node);
  void name_axes(const GraphNode& node);
  void join(const GraphNode& node, const ShapeAlternative& alternative,
            const std::vector<const ShapePattern*>& all, Symbols& s);
  bool align(const ShapeTerm& full, const ShapeTerm& t);
  void meet(const ShapeTerm& full, std::int64_t d, DimTerm own);

  // The image, the result and the window of a convolution, in one dimension.
  struct Convolved {
    DimTerm image, result, window;
    std::int64_t kept = 0;  // the window that keeps the size, but for the stride
    std::int64_t stride = 1;
    bool transposed = false;
  };
  void remember(const GraphNode& node, const ShapeTerm& result);

  std::vector<std::size_t> uses_;
  std::vector<Convolved> convolved_;
};

}  // namespace assay
