// The reference of a graph.
#include <fmt/format.h>

#include <deque>
#include <set>

#include "evaluation_by.h"
#include "generic_points.h"
#include "graph/enrol_graph.h"
#include "graph/graph_mutants.h"
#include "graph_reading.h"
#include "vocabulary/operators.h"
#include "vocabulary/wrong_formula.h"

namespace assay {
namespace {

class GraphFormula {
 public:
  static constexpr bool kInIntegers = false;
  static constexpr bool kDeep = true;
  template <class S>
  struct ReaderOf : GraphReader<S> {
    explicit ReaderOf(const GraphFormula& f) : GraphReader<S>(*f.inputs_) {}
  };

  GraphFormula(const Graph& graph, std::span<const assay_value> arguments,
               std::span<const Checked::Output> outputs)
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

std::unique_ptr<Evaluation> evaluation_of(const Graph& graph, std::span<const assay_value> arguments,
                                          std::span<const Checked::Output> outputs) {
  const StandardFloatState state;
  return std::make_unique<EvaluationBy<GraphFormula>>(GraphFormula(graph, arguments, outputs), false);
}

class GraphReference final : public Reference {
 public:
  explicit GraphReference(const Graph& graph) : graph_(graph) {}

  const Operator& op() const override { return graph_.op; }
  std::string_view file() const override { return "graph"; }
  int line() const override { return 1; }
  std::unique_ptr<Evaluation> evaluate(std::span<const assay_value> arguments,
                                       std::span<const Checked::Output> outputs) const override {
    return evaluation_of(graph_, arguments, outputs);
  }

 private:
  const Graph& graph_;
};

// A wrong one, which is the right one in calls that it cannot take.
class MutantReference final : public Reference {
 public:
  MutantReference(const Graph& right, GraphMutant mutant) : right_(right), mutant_(std::move(mutant)) {}

  const GraphMutant& mutant() const { return mutant_; }
  const Operator& op() const override { return right_.op; }
  std::string_view file() const override { return "graph"; }
  int line() const override { return 1; }
  std::unique_ptr<Evaluation> evaluate(std::span<const assay_value> arguments,
                                       std::span<const Checked::Output> outputs) const override {
    const Checked checked = check_graph(mutant_.graph->op, arguments);
    const bool fits =
        checked.ok() && std::ranges::equal(checked.outputs, outputs, [](const auto& a, const auto& b) {
          return a.dtype == b.dtype && a.shape == b.shape;
        });
    return evaluation_of(fits ? *mutant_.graph : right_, arguments, outputs);
  }
  std::string_view excuse() const override {
    switch (compare_at_generic_points(*this, *find_reference(right_.op.schema.name), mutant_.graph->op)) {
      case GenericPoints::agree:
        return "at generic points it is the same function";
      case GenericPoints::other_shapes:
        return "it has results of the same shapes only where sizes happen to be equal";
      default:
        return {};
    }
  }

 private:
  const Graph& right_;
  GraphMutant mutant_;
};

const Operator& enrol_with_reference(std::string_view text) {
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

void enrol_mutants(const Operator& op) {
  static std::set<const Operator*> done;
  if (!done.insert(&op).second) return;
  static std::deque<MutantReference> mutants;
  for (GraphMutant& m : mutants_of(*op.graph)) {
    const MutantReference& mutant = mutants.emplace_back(*op.graph, std::move(m));
    const EnrolledWrong wrong({mutant.mutant().name, mutant.mutant().says, &mutant, mutant.mutant().dtypes});
  }
}

const GraphsHaveReferences graphs_have_references(enrol_with_reference, enrol_mutants);

}  // namespace
}  // namespace assay
