#include "graph_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "graph_bends.h"

namespace assay {
namespace {

using From = GraphValue::From;

// A number's other state is that of the thread: of the formula that is being read. Reading one inside another leaves it as it was.
template <class S>
class InsideAnother {
 public:
  InsideAnother() : nonfinite_(std::exchange(read_nonfinite(), false)), random_(attack_state().random) {
    places_.swap(places());
  }
  ~InsideAnother() {
    places().swap(places_);
    read_nonfinite() = read_nonfinite() || nonfinite_;
    attack_state().random = random_;
  }
  InsideAnother(const InsideAnother&) = delete;
  InsideAnother& operator=(const InsideAnother&) = delete;

 private:
  bool nonfinite_;
  std::uint64_t random_;
  std::vector<std::int64_t> places_;
};

template <class S>
inline constexpr bool kAttacks = requires(S x) {
  x.pending;
}
&&!requires { typename S::Bound; };

std::span<const ResultFunctions> functions_of(const GraphNode& node) {
  const Reference* formula = node.formula != nullptr ? node.formula : find_reference(node.op->schema.name);
  const auto* reference = dynamic_cast<const ReferenceOf*>(formula);
  if (reference == nullptr)
    throw std::invalid_argument(
        fmt::format("{} has no reference that a graph could read", node.op->schema.name));
  return reference->results();
}

}  // namespace

GraphInputs::GraphInputs(const Graph& graph, std::span<const assay_value> arguments,
                         std::span<const Checked::Output> outputs)
    : graph_(graph), inputs_(graph.op, arguments, outputs) {
  GraphShapes shapes(graph, arguments);
  const std::vector<std::vector<bool>> bends = bends_of(graph);
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    Node& node = nodes_.emplace_back();
    node.outputs = shapes.of(k);
    node.bends = bends[k];
    node.moved = shapes.moved(k);
    const Operator* op = graph.nodes[k].op;
    if (op == nullptr) continue;
    // The data of the graph's arguments is in inputs_: once is enough.
    std::vector<assay_value> values(shapes.arguments(k).begin(), shapes.arguments(k).end());
    std::deque<assay_tensor> without_data;
    std::deque<std::vector<const assay_tensor*>> lists;
    const auto without = [&](const assay_tensor* t) {
      without_data.push_back(*t);
      without_data.back().data = nullptr;
      return &without_data.back();
    };
    for (assay_value& v : values) {
      if (v.kind == ASSAY_KIND_TENSOR) v.as.tensor = without(v.as.tensor);
      if (v.kind != ASSAY_KIND_TENSORS) continue;
      auto& list = lists.emplace_back();
      for (std::uint32_t t = 0; t < v.count; ++t) list.push_back(without(v.as.tensors[t]));
      v.as.tensors = list.data();
    }
    node.inputs = std::make_unique<Inputs>(*op, values, node.outputs);
    node.functions = functions_of(graph.nodes[k]);
  }
}

double GraphInputs::number(std::size_t argument) const {
  const assay_value& v = inputs_.value(argument);
  return v.kind == ASSAY_KIND_DOUBLE ? v.as.real : static_cast<double>(v.as.integer);
}

// The elements of a value as a node reads them.
template <class S>
class GraphReader<S>::Computed final : public Source<S> {
 public:
  Computed(GraphReader& of, const GraphValue& v, Dtype own, Dtype read_as)
      : of_(of), value_(v), narrows_(own != read_as && bytes(read_as) < bytes(own)), read_as_(read_as) {}
  S at(std::int64_t n) const override {
    const S x = of_.value(value_, n);
    return narrows_ ? cast<S>(x, read_as_) : x;
  }

 private:
  GraphReader& of_;
  const GraphValue& value_;
  bool narrows_;  // the operator's definition converts it
  Dtype read_as_;
};

template <class S>
void GraphReader<S>::forget() {
  for (Node& node : nodes_) {
    if (node.reader) node.reader->forget();
    node.reads = 0;
    for (KeptNumbers<S>& kept : node.kept) kept.forget();
    for (std::vector<S>& whole : node.whole) whole.clear();
  }
}

template <class S>
void GraphReader<S>::set_direction(std::span<const std::vector<double>> direction) {
  direction_ = direction;
  arguments_.clear();
  for (Node& node : nodes_) node = {};
  computed_.clear();
}

template <class S>
Given<S> GraphReader<S>::given(std::size_t number, std::size_t argument, std::size_t which) {
  const GraphInputs::Node& node = inputs_.node(number);
  const GraphValue& whole = inputs_.graph().nodes[number].arguments[argument];
  const GraphValue& v = whole.from == From::list ? whole.items[which] : whole;
  const Decoded& own = node.inputs->tensors(argument)[which];
  if (v.from == From::argument && !inputs_.inputs().tensors(v.index).empty()) {
    const Decoded& decoded = inputs_.inputs().tensors(v.index)[0];
    const bool moves = v.index < direction_.size() && !direction_[v.index].empty();
    if (decoded.dtype == own.dtype || bytes(own.dtype) >= bytes(decoded.dtype))
      return {.decoded = &decoded, .tangent = moves ? direction_[v.index].data() : nullptr};
  }
  const Dtype as_it_is = v.from == From::node ? inputs_.node(v.index).outputs[v.result].dtype
                         : v.from == From::argument && !inputs_.inputs().tensors(v.index).empty()
                             ? inputs_.inputs().tensors(v.index)[0].dtype
                             : own.dtype;
  computed_.push_back(std::make_unique<Computed>(*this, v, as_it_is, own.dtype));
  return {.decoded = &own, .computed = computed_.back().get()};
}

template <class S>
typename GraphReader<S>::Node& GraphReader<S>::reader_of(std::size_t number) {
  Node& node = nodes_[number];
  if (node.reader == nullptr) {
    const GraphInputs::Node& in = inputs_.node(number);
    node.kept.resize(in.outputs.size());
    node.whole.resize(in.outputs.size());
    node.reader = std::make_unique<Reader<S>>(
        *in.inputs, in.functions,
        [this, number](std::size_t i, std::size_t k) { return given(number, i, k); });
  }
  return node;
}

// A kernel may compute a number again where it needs it a second time; here those of some nodes that are cheap.
template <class S>
bool GraphReader<S>::is_computed_again(std::size_t number) const {
  if constexpr (!kAttacks<S>) return false;
  constexpr std::uint64_t kOneIn = 4;
  const Operator* op = inputs_.graph().nodes[number].op;
  return op != nullptr && (op->properties & kElementwise) != 0 && attack_state().attack.shuffle &&
         (attack_state().attack.seed * 0x9E3779B97F4A7C15u >> 32) % kOneIn == number % kOneIn;
}

template <class S>
S GraphReader<S>::computed(std::size_t number, std::size_t result, std::int64_t n) {
  constexpr int kResults = static_cast<int>(kMaxResults);
  const bool again = is_computed_again(number);
  if (const std::vector<S>& whole = reader_of(number).whole[result]; !whole.empty())
    return whole[static_cast<std::size_t>(n)];
  auto& kept = reader_of(number).kept[result].at(n);
  if (!kept.known || again) {
    const InsideAnother<S> inside;
    Node& node = nodes_[number];
    node.reader->set_stream(kResults * static_cast<int>(number + 1) +
                            (again ? kResults * static_cast<int>(nodes_.size()) * ++node.reads : 0));
    const S x = node.reader->read(static_cast<int>(result), n);
    kept.value = passed<S>(x, inputs_.node(number).outputs[result].dtype);
    kept.known = true;
    kept.nonfinite = read_nonfinite();
    sharpen(number, result, n);
  }
  if (kept.nonfinite) read_nonfinite() = true;
  return kept.value;
}

template <class S>
void GraphReader<S>::sharpen(std::size_t number, std::size_t result, std::int64_t n) {
  if constexpr (std::is_same_v<S, Tracked<double>>) {
    constexpr double kMuch = 0x1p-9;  // beside the numbers' size
    constexpr double kLittle = 0.8;    // of what an error was
    constexpr int kTries = 3;
    constexpr std::uint64_t kMostWork = std::uint64_t{1} << 28;
    constexpr auto kTogether = static_cast<std::int64_t>(Tape::kLanes);
    Tape* const on = tape<double>();
    if (on == nullptr) return;
    on->protect_last();
    KeptNumbers<S>& kept = nodes_[number].kept[result];
    if (!inputs_.node(number).bends[result] || kept.at(n).sharp || nodes_[number].in_vain >= kTries ||
        on->work() >= kMostWork || !(kept.at(n).value.error > kMuch * std::fabs(kept.at(n).value.value)))
      return;
    // Those of a row are mostly asked for together.
    const Shape& shape = inputs_.node(number).outputs[result].shape;
    const std::int64_t row = shape.empty() ? 1 : shape.back();
    const std::int64_t first = n / row * row + n % row / kTogether * kTogether;
    const std::int64_t end = std::min(first + kTogether, n / row * row + row);
    for (std::int64_t k = first; k < end; ++k) kept.at(k).sharp = true;
    const bool nonfinite = read_nonfinite();
    for (std::int64_t k = first; k < end; ++k) computed(number, result, k);
    read_nonfinite() = nonfinite;  // that of neighbours is not this number's
    std::vector<Tracked<double>*> together;
    for (std::int64_t k = first; k < end; ++k) together.push_back(&kept.at(k).value);
    const auto largest = [&together](auto of) {
      double x = 0;
      for (const Tracked<double>* t : together) x = std::max(x, of(*t));
      return x;
    };
    const auto error = [](const Tracked<double>& t) { return t.error; };
    const double before = largest(error);
    if (!(before > kMuch * largest([](const Tracked<double>& t) { return std::fabs(t.value); }))) return;
    on->sharpen(together);
    nodes_[number].in_vain = largest(error) < kLittle * before ? 0 : nodes_[number].in_vain + 1;
  }
}

template <class S>
S GraphReader<S>::of_node(const GraphValue& v, std::int64_t n, bool is_result) {
  const GraphNode& node = inputs_.graph().nodes[v.index];
  if (node.movement == nullptr) {
    if (!is_result || !reader_of(v.index).whole[v.result].empty()) return computed(v.index, v.result, n);
    return reader_of(v.index).reader->read(static_cast<int>(v.result), n);
  }
  const Moved& moved = inputs_.node(v.index).moved[v.result];
  const Moved::Place place = moved.from(n);
  const GraphValue& whole = node.arguments[0];
  const GraphValue& from = whole.from == From::list ? whole.items[place.tensor] : whole;
  const S x = value(from, place.element, is_result && !moved.rounded_to);
  return moved.rounded_to ? cast<S>(x, *moved.rounded_to) : x;
}

template <class S>
S GraphReader<S>::value(const GraphValue& v, std::int64_t n, bool is_result) {
  if (v.from == From::node) return of_node(v, n, is_result);
  if (v.from == From::number)
    return param<S>(std::holds_alternative<double>(v.literal)
                        ? std::get<double>(v.literal)
                        : static_cast<double>(std::get<std::int64_t>(v.literal)));
  if (arguments_.empty()) {
    for (std::size_t i = 0; i < inputs_.inputs().count(); ++i) {
      const bool moves = i < direction_.size() && !direction_[i].empty();
      const auto tensors = inputs_.inputs().tensors(i);
      arguments_.push_back(
          tensors.empty() ? Tensor<S>()
                          : Tensor<S>(tensors[0], tensors[0].shape, moves ? direction_[i].data() : nullptr));
    }
  }
  if (inputs_.inputs().tensors(v.index).empty()) return param<S>(inputs_.number(v.index));
  return arguments_[v.index].at(n);
}

template <class S>
S GraphReader<S>::read(int output, std::int64_t element) {
  if constexpr (requires { ScalarOps<S>::begin(output, element); }) ScalarOps<S>::begin(output, element);
  return value(inputs_.graph().results[static_cast<std::size_t>(output)], element, true);
}

template <class S>
std::int64_t GraphReader<S>::row(int output, std::int64_t element) const {
  const GraphValue& v = inputs_.graph().results[static_cast<std::size_t>(output)];
  if (v.from != From::node || inputs_.graph().nodes[v.index].op == nullptr) return 0;
  const GraphInputs::Node& node = inputs_.node(v.index);
  const ResultFunctions& functions = node.functions[v.result];
  return functions.rows == nullptr
             ? 0
             : functions.rows(*node.inputs, node.outputs[v.result].shape).row_of(element);
}

template <class S>
void GraphReader<S>::read_node(const GraphValue& v) {
  for (const GraphValue& item : v.items) read_node(item);
  if (v.from != From::node) return;
  for (const GraphValue& in : inputs_.graph().nodes[v.index].arguments) read_node(in);
  if (inputs_.graph().nodes[v.index].op == nullptr) return;
  const auto elements = static_cast<std::size_t>(numel(inputs_.node(v.index).outputs[v.result].shape));
  if (reader_of(v.index).whole[v.result].size() == elements) return;
  std::vector<S> all(elements);
  reader_of(v.index).reader->read_all(static_cast<int>(v.result), all);
  nodes_[v.index].whole[v.result] = std::move(all);
}

// Of scalars to which storing does not matter, node by node: far less work for each number.
template <class S>
void GraphReader<S>::read_all(int output, std::span<S> results) {
  if constexpr (!requires(S x) { ScalarOps<S>::passed(x, Dtype::f32); })
    read_node(inputs_.graph().results[static_cast<std::size_t>(output)]);
  for (std::size_t n = 0; n < results.size(); ++n) {
    stop_point_at(static_cast<std::int64_t>(n));
    results[n] =
        value(inputs_.graph().results[static_cast<std::size_t>(output)], static_cast<std::int64_t>(n), true);
  }
}

template class GraphReader<double>;
template class GraphReader<Real>;
template class GraphReader<Tracked<double>>;
template class GraphReader<Tracked<Real>>;
template class GraphReader<Dual>;
template class GraphReader<Adversary<double>>;
template class GraphReader<Adversary<Real>>;
template class GraphReader<Counted>;

}  // namespace assay
