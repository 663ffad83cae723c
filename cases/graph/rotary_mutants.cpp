#include "rotary_mutants.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "vocabulary/operators.h"

namespace assay {
namespace {

using From = GraphValue::From;

// Places of the nodes, and what they read.
struct Rotary {
  std::size_t sum = 0, turned_product = 0, plain_product = 0;  // x * cos + turned * sin, turned * sin, x * cos
  std::size_t turned = 0, sin = 0, cos = 0;                    // arguments of the products
  GraphValue x{}, sines{}, cosines{};
};

class RotaryMutants {
 public:
  explicit RotaryMutants(const Graph& graph) : graph_(graph) {}

  std::vector<GraphMutant> all() && {
    for (std::size_t k = 0; k < graph_.nodes.size(); ++k)
      if (const std::optional<Rotary> found = rotary_at(k)) mutants_of_one(*found);
    return std::move(all_);
  }

 private:
  const GraphNode& node(std::size_t k) const { return graph_.nodes[k]; }
  bool is(const GraphValue& v, std::string_view op) const {
    return v.from == From::node && v.result == 0 && node(v.index).op != nullptr && node(v.index).op->schema.name == op;
  }
  bool moves(const GraphValue& v, std::string_view name) const {
    return v.from == From::node && node(v.index).movement != nullptr && node(v.index).schema().base == name;
  }

  // A join of two tensors, of which one is a negation.
  bool is_turned(const GraphValue& v) const {
    if (!moves(v, "cat")) return false;
    const GraphValue& list = node(v.index).arguments[0];
    return list.items.size() == 2 && (is(list.items[0], "neg") || is(list.items[1], "neg"));
  }

  std::optional<Rotary> rotary_at(std::size_t k) const {
    if (node(k).op == nullptr || node(k).op->schema.name != "add.Tensor") return std::nullopt;
    const GraphValue &a = node(k).arguments[0], &b = node(k).arguments[1];
    if (!is(a, "mul.Tensor") || !is(b, "mul.Tensor")) return std::nullopt;
    for (const auto& [turned, plain] : {std::pair{a.index, b.index}, std::pair{b.index, a.index}})
      for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
        if (!is_turned(node(turned).arguments[at])) continue;
        Rotary r{.sum = k, .turned_product = turned, .plain_product = plain, .turned = at, .sin = 1 - at};
        r.sines = node(turned).arguments[r.sin];
        // cos is what is not x: another argument than sin, which the graph does not compute from x.
        r.cos = is_table(node(plain).arguments[1], node(turned).arguments[at]) ? 1 : 0;
        r.cosines = node(plain).arguments[r.cos];
        r.x = node(plain).arguments[1 - r.cos];
        return r;
      }
    return std::nullopt;
  }
  // Whether it is an argument of the graph that the halves are no part of.
  bool is_table(const GraphValue& v, const GraphValue& turned) const {
    if (v.from != From::argument) return false;
    const std::function<bool(const GraphValue&)> reads = [&](const GraphValue& from) {
      if (from.from == From::argument) return from.index == v.index;
      for (const GraphValue& item : from.items)
        if (reads(item)) return true;
      if (from.from != From::node) return false;
      for (const GraphValue& a : node(from.index).arguments)
        if (reads(a)) return true;
      return false;
    };
    return !reads(turned);
  }

  Graph& add(std::string name, std::string says) {
    all_.push_back({std::move(name), std::move(says), copy_to_change(graph_)});
    return *all_.back().graph;
  }

  static GraphValue result_of(std::size_t k) { return {.from = From::node, .index = k}; }
  static GraphValue literal(std::int64_t n) { return {.from = From::literal, .literal = n}; }

  // New nodes before one of a graph.
  class Inserted {
   public:
    Inserted(Graph& g, std::size_t at) : g_(g), at_(at) {}
    GraphValue movement(std::string_view name, std::vector<GraphValue> arguments) {
      GraphNode n;
      n.movement = find_movement(name);
      arguments.resize(n.schema().argument_count);
      for (std::size_t i = 0; i < arguments.size(); ++i)
        if (const Argument& a = n.schema().argument_storage[i]; arguments[i].from == From::none && a.has_default && a.default_text != "None")
          arguments[i] = {.from = From::literal, .literal = default_value(a)};
      n.arguments = std::move(arguments);
      return insert(std::move(n), name);
    }
    GraphValue negated(const GraphValue& v) {
      GraphNode n;
      n.op = find_operator("neg");
      n.arguments = {v};
      return insert(std::move(n), "neg");
    }
    GraphValue list(std::vector<GraphValue> items) { return {.from = From::list, .items = std::move(items)}; }

   private:
    GraphValue insert(GraphNode n, std::string_view name) {
      n.name = fmt::format("{}_of_rotary", name);
      const std::function<void(GraphValue&)> move = [&](GraphValue& v) {
        if (v.from == From::node && v.index >= at_) ++v.index;
        for (GraphValue& item : v.items) move(item);
      };
      for (std::size_t k = at_; k < g_.nodes.size(); ++k)
        for (GraphValue& v : g_.nodes[k].arguments) move(v);
      for (GraphValue& v : g_.results) move(v);
      g_.nodes.insert(g_.nodes.begin() + static_cast<std::ptrdiff_t>(at_), std::move(n));
      return result_of(at_++);
    }
    Graph& g_;
    std::size_t at_;
  };

  // Before both products, whose places have moved on by what was inserted.
  struct Places {
    std::size_t first, by;
    std::size_t operator()(std::size_t k) const { return k >= first ? k + by : k; }
  };
  static std::size_t first_of(const Rotary& r) { return std::min(r.turned_product, r.plain_product); }

  void replace(Graph& g, const Rotary& r, const GraphValue* turned, const GraphValue& cosines, const GraphValue& sines) const {
    const Places now{first_of(r), g.nodes.size() - graph_.nodes.size()};
    g.nodes[now(r.turned_product)].arguments[r.sin] = sines;
    g.nodes[now(r.plain_product)].arguments[r.cos] = cosines;
    if (turned != nullptr) g.nodes[now(r.turned_product)].arguments[r.turned] = *turned;
  }

  // (-x1, x0, -x3, x2, ..)
  static GraphValue neighbours(Inserted& add, const GraphValue& x) {
    const GraphValue even = add.movement("slice", {x, literal(-1), literal(0), {}, literal(2)}),
                     odd = add.movement("slice", {x, literal(-1), literal(1), {}, literal(2)}), minus = add.negated(odd);
    return add.movement("flatten", {add.movement("stack", {add.list({minus, even}), literal(-1)}), literal(-2), literal(-1)});
  }
  // Each number of the first half twice, one after the other.
  static GraphValue for_neighbours(Inserted& add, const GraphValue& table) {
    GraphValue half = add.movement("chunk", {table, literal(2), literal(-1)});
    return add.movement("flatten", {add.movement("stack", {add.list({half, half}), literal(-1)}), literal(-2), literal(-1)});
  }
  // Rows one later, or one earlier; that at the end is the one at the other end.
  static GraphValue rolled(Inserted& add, const GraphValue& table, bool later) {
    const GraphValue first = add.movement("slice", {table, literal(-2), later ? literal(-1) : literal(1), {}, {}}),
                     rest = add.movement("slice", {table, literal(-2), literal(0), later ? literal(-1) : literal(1), {}});
    return add.movement("cat", {add.list({first, rest}), literal(-2)});
  }

  void mutants_of_one(const Rotary& r) {
    const std::string& name = node(r.sum).name;
    const std::string of = fmt::format("in {} (line {})", name, node(r.sum).line);
    for (const bool own_tables : {false, true}) {
      Graph& g = add(fmt::format("{}.rotary_of_neighbours{}", name, own_tables ? "" : "_with_the_same_tables"),
                     fmt::format("turns neighbours together, (x0, x1), (x2, x3), .., in place of halves: interleaved rotary positions{}, {}",
                                 own_tables ? "" : ", with the cos and sin of halves", of));
      Inserted more(g, first_of(r));
      const GraphValue turned = neighbours(more, r.x);
      const GraphValue cosines = own_tables ? for_neighbours(more, r.cosines) : r.cosines,
                       sines = own_tables ? for_neighbours(more, r.sines) : r.sines;
      replace(g, r, &turned, cosines, sines);
    }
    for (const bool later : {true, false}) {
      Graph& g = add(fmt::format("{}.rotary_{}", name, later ? "of_the_position_before" : "of_the_position_after"),
                     fmt::format("takes the cos and sin of the position {} it, and for the {} position those of the {}, {}", later ? "before" : "after",
                                 later ? "first" : "last", later ? "last" : "first", of));
      Inserted more(g, first_of(r));
      const GraphValue cosines = rolled(more, r.cosines, later), sines = rolled(more, r.sines, later);
      replace(g, r, nullptr, cosines, sines);
    }
    Graph& g = add(fmt::format("{}.rotary_left_out", name), fmt::format("leaves out the rotary positions: gives x as it is, {}", of));
    const std::function<void(GraphValue&)> look = [&](GraphValue& v) {
      if (v.from == From::node && v.index == r.sum) v = r.x;
      for (GraphValue& item : v.items) look(item);
    };
    for (std::size_t k = 0; k < g.nodes.size(); ++k)
      for (GraphValue& v : g.nodes[k].arguments) look(v);
    for (GraphValue& v : g.results) look(v);
  }

  const Graph& graph_;
  std::vector<GraphMutant> all_;
};

}  // namespace

std::vector<GraphMutant> rotary_mutants_of(const Graph& graph) { return RotaryMutants(graph).all(); }

}  // namespace assay
