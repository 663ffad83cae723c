// The reference of a graph.
#include <fmt/format.h>

#include <deque>

#include "evaluation_by.h"
#include "graph/enrol_graph.h"
#include "graph_reading.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

class GraphFormula {
 public:
  static constexpr bool kInIntegers = false;
  template <class S>
  struct ReaderOf : GraphReader<S> {
    explicit ReaderOf(const GraphFormula& f) : GraphReader<S>(*f.inputs_) {}
  };

  GraphFormula(const Graph& graph, std::span<const assay_value> arguments, std::span<const Checked::Output> outputs)
      : inputs_(std::make_unique<GraphInputs>(graph, arguments, outputs)) {}

  const Inputs& inputs() const { return inputs_->inputs(); }
  bool has_rows(std::size_t output) const {
    const GraphValue& v = inputs_->graph().results[output];
    return v.from == GraphValue::From::node && inputs_->graph().nodes[v.index].op != nullptr &&
           inputs_->node(v.index).functions[v.result].rows != nullptr;
  }
  bool is_on_the_way(std::size_t /*output*/) const { return false; }
  bool narrows() const { return false; }
  GraphFormula wide() const { throw std::logic_error("nothing narrows a graph's inputs"); }

 private:
  std::unique_ptr<GraphInputs> inputs_;
};

class GraphReference final : public Reference {
 public:
  explicit GraphReference(const Graph& graph) : graph_(graph) {}

  const Operator& op() const override { return graph_.op; }
  std::string_view file() const override { return "graph"; }
  int line() const override { return 1; }
  std::unique_ptr<Evaluation> evaluate(std::span<const assay_value> arguments,
                                       std::span<const Checked::Output> outputs) const override {
    const StandardFloatState state;
    return std::make_unique<EvaluationBy<GraphFormula>>(GraphFormula(graph_, arguments, outputs), false);
  }

 private:
  const Graph& graph_;
};

}  // namespace

const Operator& enrol_graph(std::string_view text) {
  const Graph& graph = parse_graph(text);
  if (const Operator* known = find_operator(graph.op.schema.name)) {
    if (known == &graph.op) return *known;
    throw GraphError(fmt::format("there is another {} \"{}\" already; call this one by another name",
                                 known->graph != nullptr ? "graph" : "operator", graph.op.schema.name));
  }
  static std::deque<GraphReference> references;
  const EnrolledReference enrolled(&references.emplace_back(graph));
  return graph.op;
}

}  // namespace assay
