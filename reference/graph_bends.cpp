#include "graph_bends.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace assay {
namespace {

using From = GraphValue::From;

// Sums of the elements of tensors, with weights that do not depend on elements.
constexpr std::array<std::string_view, 10> kSums{
    "add.Tensor", "sub.Tensor", "sum.dim_IntList", "mean.dim",   "cumsum",
    "clone",      "avg_pool2d", "embedding",       "where.self", "upsample_nearest2d",
};
// Sums of products of the elements of two, and perhaps of more elements.
constexpr std::array<std::string_view, 6> kProducts{"mul.Tensor", "mm",     "bmm",
                                                    "addmm",      "linear", "convolution"};

bool is_one_of(std::string_view name, const auto& names) {
  return std::ranges::find(names, name) != names.end();
}

class Bends {
 public:
  explicit Bends(const Graph& graph) : graph_(graph) {
    for (const GraphNode& node : graph.nodes) {
      computed_.push_back(node.op != nullptr || std::ranges::any_of(node.arguments, [&](const GraphValue& v) {
                            return is_computed(v);
                          }));
      found_.emplace_back(node.schema().results().size(), false);
    }
  }

  std::vector<std::vector<bool>> find() {
    for (std::size_t k = graph_.nodes.size(); k-- > 0;) {
      const GraphNode& node = graph_.nodes[k];
      if (node.op == nullptr) {
        const bool any = std::ranges::find(found_[k], true) != found_[k].end();
        if (any) mark_all(node);
      } else if (bends(node)) {
        mark_all(node);
      }
    }
    return found_;
  }

 private:
  // Whether a node has computed it, so that it may be off.
  bool is_computed(const GraphValue& v) const {
    if (v.from == From::list)
      return std::ranges::any_of(v.items, [&](const GraphValue& i) { return is_computed(i); });
    return v.from == From::node && computed_[v.index];
  }
  bool bends(const GraphNode& node) const {
    const std::string_view name = node.op->schema.name;
    if (node.formula != nullptr) return true;
    if (is_one_of(name, kSums)) return false;
    const auto computed =
        std::ranges::count_if(node.arguments, [&](const GraphValue& v) { return is_computed(v); });
    return !is_one_of(name, kProducts) || computed > 1;
  }
  void mark_all(const GraphNode& node) {
    for (const GraphValue& v : node.arguments) mark(v);
  }
  void mark(const GraphValue& v) {
    for (const GraphValue& item : v.items) mark(item);
    if (v.from == From::node) found_[v.index][v.result] = true;
  }

  const Graph& graph_;
  std::vector<bool> computed_;
  std::vector<std::vector<bool>> found_;
};

}  // namespace

std::vector<std::vector<bool>> bends_of(const Graph& graph) { return Bends(graph).find(); }

}  // namespace assay
