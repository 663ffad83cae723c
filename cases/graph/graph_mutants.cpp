#include "graph_mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "rotary_mutants.h"
#include "vocabulary/domain.h"
#include "vocabulary/operators.h"
#include "vocabulary/wrong_formula.h"

namespace assay {
namespace {

using From = GraphValue::From;

constexpr std::size_t kMostMutants = 600;
constexpr std::size_t kFewNodes = 16;  // of more, arguments come from near by only

// Functions of one number that people take for each other, and operators of two.
constexpr std::array<std::string_view, 8> kActivations{"relu", "silu",      "sigmoid", "tanh",
                                                       "gelu", "hardswish", "exp",     "erf"};
constexpr std::array<std::string_view, 5> kBinary{"add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor",
                                                  "maximum"};

bool same(const GraphValue& a, const GraphValue& b) {
  return a.from == b.from && a.index == b.index && a.result == b.result && a.literal == b.literal &&
         a.items.empty() && b.items.empty();
}

class Mutants {
 public:
  explicit Mutants(const Graph& graph) : graph_(graph) {}

  std::vector<GraphMutant> all() && {
    for (std::size_t k = 0; k < graph_.nodes.size(); ++k) {
      leave_out(k);
      take_another_operator(k);
      exchange(k);
      epsilon_outside(k);
      add_twice(k);
      turn_around(k);
      change_constants(k);
      round_too_much(k);
      inherit(k);
      read_elsewhere(k);
    }
    for (std::size_t r = 0; r < graph_.results.size(); ++r) go_on(r);
    return std::move(all_);
  }

 private:
  const GraphNode& node(std::size_t k) const { return graph_.nodes[k]; }
  std::string_view argument_name(std::size_t k, std::size_t i) const {
    return node(k).schema().argument_storage[i].name;
  }
  // "h (mul, line 2)"
  std::string label(std::size_t k) const {
    const GraphNode& n = node(k);
    return n.name.starts_with(n.schema().base)
               ? fmt::format("{} (line {})", n.name, n.line)
               : fmt::format("{} ({}, line {})", n.name, n.schema().base, n.line);
  }
  std::string value_name(const GraphValue& v) const {
    if (v.from == From::argument) return std::string(graph_.op.schema.argument_storage[v.index].name);
    if (v.from != From::node) return v.from == From::number ? text(v.literal) : "a list";
    return v.result == 0 ? node(v.index).name : fmt::format("{}[{}]", node(v.index).name, v.result);
  }
  bool is_tensor(const GraphValue& v) const {
    return v.from == From::node ||
           (v.from == From::argument && graph_.op.schema.argument_storage[v.index].is_tensor());
  }
  // Positions of arguments that are one tensor.
  std::vector<std::size_t> tensors(std::size_t k) const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < node(k).arguments.size(); ++i)
      if (is_tensor(node(k).arguments[i])) all.push_back(i);
    return all;
  }

  Graph& add(std::string name, std::string says, DtypeSet dtypes = kFloatingPoint) {
    while (!names_.insert(name).second) name += "_";
    all_.push_back({std::move(name), std::move(says), copy_to_change(graph_), dtypes});
    return *all_.back().graph;
  }
  bool is_full() const { return all_.size() >= kMostMutants; }

  // All that reads `what`, but node `except`, reads something else.
  static void redirect(Graph& g, const GraphValue& what, const GraphValue& instead, std::size_t except) {
    const std::function<void(GraphValue&)> look = [&](GraphValue& v) {
      if (same(v, what)) v = instead;
      for (GraphValue& item : v.items) look(item);
    };
    for (std::size_t k = 0; k < g.nodes.size(); ++k)
      if (k != except)
        for (GraphValue& v : g.nodes[k].arguments) look(v);
    for (GraphValue& v : g.results) look(v);
  }
  // Nodes stand after those whose results they take: a new one right after node k, whose results are read as those of k + 1 then.
  static void insert_after(Graph& g, std::size_t k, GraphNode added) {
    const std::function<void(GraphValue&)> look = [&](GraphValue& v) {
      if (v.from == From::node && v.index > k) ++v.index;
      if (v.from == From::node && v.index == k && v.result == 0) v.index = k + 1;
      for (GraphValue& item : v.items) look(item);
    };
    for (std::size_t n = k + 1; n < g.nodes.size(); ++n)
      for (GraphValue& v : g.nodes[n].arguments) look(v);
    for (GraphValue& v : g.results) look(v);
    g.nodes.insert(g.nodes.begin() + static_cast<std::ptrdiff_t>(k) + 1, std::move(added));
  }
  static GraphValue result_of(std::size_t k, std::size_t result = 0) {
    return {.from = From::node, .index = k, .result = result};
  }

  void leave_out(std::size_t k) {
    const std::vector<std::size_t> from = tensors(k);
    const bool elementwise = node(k).op != nullptr && (node(k).op->properties & kElementwise) != 0;
    for (std::size_t j = 0; j < from.size() && !is_full(); ++j) {
      if (j > 0 && !elementwise) break;
      const GraphValue& kept = node(k).arguments[from[j]];
      const std::string name =
          node(k).name + (from.size() == 1 ? ".left_out" : fmt::format(".is_{}", argument_name(k, from[j])));
      std::string says = fmt::format("leaves out {}", label(k));
      if (from.size() == 2 && elementwise)
        says = fmt::format("leaves out {} in {}", value_name(node(k).arguments[from[1 - j]]), label(k));
      else if (from.size() > 1 && elementwise)
        says = fmt::format("takes {} for {}", value_name(kept), label(k));
      Graph& g = add(name, std::move(says));
      redirect(g, result_of(k), kept, k);
    }
  }

  void take_another_operator(std::size_t k) {
    if (node(k).op == nullptr) return;
    const std::string_view name = node(k).op->schema.name;
    const auto replace = [&](const Operator& other) {
      Graph& g = add(fmt::format("{}.is_{}", node(k).name, other.schema.base),
                     fmt::format("computes {} in place of {}", other.schema.base, label(k)));
      GraphNode& n = g.nodes[k];
      const std::vector<std::size_t> from = tensors(k);
      std::vector<GraphValue> arguments(other.schema.argument_count);
      std::size_t next = 0;
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        const Argument& a = other.schema.argument_storage[i];
        if (a.is_tensor() && next < n.arguments.size())
          arguments[i] = n.arguments[next++];
        else if (a.has_default && a.default_text != "None")
          arguments[i] = {.from = From::literal, .literal = default_value(a)};
      }
      n.op = &other;
      n.arguments = std::move(arguments);
    };
    const auto of = [&](const auto& names) {
      if (std::ranges::find(names, name) == names.end()) return;
      for (const std::string_view other : names)
        if (const Operator* op = find_operator(other); op != nullptr && other != name && !is_full())
          replace(*op);
    };
    of(kActivations);
    of(kBinary);
    for (const auto& [from, to] : {std::pair{"mean.dim", "sum.dim_IntList"},
                                   {"sum.dim_IntList", "mean.dim"},
                                   {"softmax.int", "log_softmax.int"},
                                   {"sqrt", "rsqrt"},
                                   {"rsqrt", "sqrt"}}) {
      const Operator* other = find_operator(to);
      if (name != from || other == nullptr || is_full()) continue;
      Graph& g = add(fmt::format("{}.is_{}", node(k).name, other->schema.base),
                     fmt::format("computes {} in place of {}", other->schema.base, label(k)));
      g.nodes[k].op = other;
    }
  }

  void exchange(std::size_t k) {
    const std::vector<std::size_t> from = tensors(k);
    if (from.size() < 2 || node(k).op == nullptr || is_full()) return;
    const std::string_view base = node(k).op->schema.base;
    if (base == "add" || base == "mul" || base == "maximum" ||
        same(node(k).arguments[from[0]], node(k).arguments[from[1]]))
      return;
    Graph& g = add(node(k).name + ".exchanged",
                   fmt::format("exchanges {} and {} of {}", value_name(node(k).arguments[from[0]]),
                               value_name(node(k).arguments[from[1]]), label(k)));
    std::swap(g.nodes[k].arguments[from[0]], g.nodes[k].arguments[from[1]]);
  }

  // rsqrt(a + eps) as 1 / (sqrt(a) + eps), and the like of sqrt.
  void epsilon_outside(std::size_t k) {
    const Operator* root = node(k).op;
    if (root == nullptr || is_full() || (root->schema.name != "rsqrt" && root->schema.name != "sqrt")) return;
    const GraphValue& inside = node(k).arguments[0];
    if (inside.from != From::node || node(inside.index).op == nullptr ||
        node(inside.index).op->schema.name != "add.Tensor")
      return;
    const GraphNode& sum = node(inside.index);
    const std::size_t eps = is_tensor(sum.arguments[0]) ? 1 : 0;
    if (is_tensor(sum.arguments[eps])) return;
    const Operator *sqrt = find_operator("sqrt"), *div = find_operator("div.Tensor");
    if (sqrt == nullptr || div == nullptr) return;
    Graph& g = add(node(k).name + ".epsilon_outside", fmt::format("adds {} to the root, not under it, in {}",
                                                                  value_name(sum.arguments[eps]), label(k)));
    GraphNode& taken = g.nodes[k];  // the root of what is under it without the epsilon
    taken.op = sqrt;
    taken.arguments = {sum.arguments[1 - eps]};
    GraphNode added = sum;
    added.arguments[eps] = sum.arguments[eps];
    added.arguments[1 - eps] = result_of(k);
    insert_after(g, k, added);
    if (root->schema.name == "sqrt") return;
    GraphNode reciprocal = added;
    reciprocal.op = div;
    reciprocal.arguments = {{.from = From::number, .literal = std::int64_t{1}}, result_of(k + 1)};
    insert_after(g, k + 1, std::move(reciprocal));
  }

  void add_twice(std::size_t k) {
    if (node(k).op == nullptr || node(k).op->schema.name != "add.Tensor") return;
    for (const std::size_t i : tensors(k)) {
      if (is_full()) return;
      Graph& g = add(fmt::format("{}.{}_twice", node(k).name, argument_name(k, i)),
                     fmt::format("adds {} twice in {}", value_name(node(k).arguments[i]), label(k)));
      GraphNode again = g.nodes[k];
      again.arguments[0] = result_of(k);
      again.arguments[1] = node(k).arguments[i];
      insert_after(g, k, std::move(again));
    }
  }

  // Once more adds an argument to a result, or multiplies with it.
  void go_on(std::size_t r) {
    for (std::size_t i = 0; i < graph_.op.schema.argument_count; ++i)
      for (const std::string_view name : {"add.Tensor", "mul.Tensor"}) {
        const Operator* op = find_operator(name);
        const Argument& a = graph_.op.schema.argument_storage[i];
        if (!a.is_tensor() || op == nullptr || is_full()) continue;
        const bool adds = name == "add.Tensor";
        Graph& g =
            add(fmt::format("result{}.{}_{}", r, adds ? "and" : "times", a.name),
                fmt::format(
                    fmt::runtime(adds ? "adds {1} to {0} once more" : "multiplies {0} with {1} once more"),
                    graph_.results.size() == 1 ? "the result" : fmt::format("result {}", r), a.name));
        GraphNode last;
        last.name = "result";
        last.op = op;
        last.arguments = {g.results[r], {.from = From::argument, .index = i}};
        if (adds) last.arguments.push_back({.from = From::literal, .literal = std::int64_t{1}});
        g.nodes.push_back(std::move(last));
        g.results[r] = result_of(g.nodes.size() - 1);
      }
  }

  // f(g(x)) as g(f(x)).
  void turn_around(std::size_t k) {
    const std::vector<std::size_t> from = tensors(k);
    for (const std::size_t i : from) {
      const GraphValue& inner = node(k).arguments[i];
      if (is_full() || inner.from != From::node || inner.result != 0) continue;
      if (node(inner.index).op == nullptr && node(k).op == nullptr) continue;
      for (const std::size_t j : tensors(inner.index)) {
        const GraphValue before = node(inner.index).arguments[j];
        // Of two that both add, or both multiply, the order does not matter.
        if (node(k).op == node(inner.index).op && node(k).op != nullptr &&
            (node(k).op->schema.base == "add" || node(k).op->schema.base == "mul"))
          continue;
        if (std::ranges::count_if(node(k).arguments, [&](const GraphValue& v) { return same(v, inner); }) !=
            1)
          continue;
        Graph& g = add(fmt::format("{}.before_{}", node(k).name, node(inner.index).name),
                       fmt::format("computes {} before {}", label(k), label(inner.index)));
        GraphNode outer = g.nodes[inner.index];
        g.nodes[k].arguments[i] = before;
        outer.arguments[j] = result_of(k);
        insert_after(g, k, std::move(outer));
        break;
      }
    }
  }

  template <class T>
  void change(std::size_t k, std::size_t i, const T& to, std::string_view what) {
    if (is_full() || CaseValue(to) == node(k).arguments[i].literal) return;
    Graph& g = add(fmt::format("{}.{}_{}", node(k).name, argument_name(k, i), what),
                   fmt::format("takes {} for {} as {} of {}", text(CaseValue(to)),
                               text(node(k).arguments[i].literal), argument_name(k, i), label(k)));
    g.nodes[k].arguments[i].literal = to;
  }

  void change_constants(std::size_t k) {
    for (std::size_t i = 0; i < node(k).arguments.size(); ++i) {
      const GraphValue& v = node(k).arguments[i];
      if (v.from != From::literal && v.from != From::number) continue;
      if (const auto* x = std::get_if<double>(&v.literal)) {
        change(k, i, 0.0, "zero");
        change(k, i, -*x, "negated");
        change(k, i, 1 / *x, "inverse");
        if (std::abs(*x) < 1e-2) {
          change(k, i, *x * 10, "ten_times");
          change(k, i, *x / 10, "a_tenth");
        } else {
          change(k, i, *x * 2, "twice");
          change(k, i, *x / 2, "half");
          change(k, i, *x * *x, "squared");
        }
      } else if (const auto* n = std::get_if<std::int64_t>(&v.literal)) {
        change_integer(k, i, *n);
      } else if (const auto* s = std::get_if<std::string>(&v.literal);
                 s != nullptr && node(k).op != nullptr) {
        for (const std::string_view other : domain(*node(k).op, argument_name(k, i)).choices)
          if (other != *s) change(k, i, std::string(other), other);
      } else if (const auto* axes = std::get_if<std::vector<std::int64_t>>(&v.literal);
                 axes != nullptr && axes->size() == 1 && node(k).op != nullptr &&
                 domain(*node(k).op, argument_name(k, i)).has_axes()) {
        change(k, i, std::vector{(*axes)[0] == -1 ? std::int64_t{-2} : std::int64_t{-1}}, "another");
      }
    }
  }
  void change_integer(std::size_t k, std::size_t i, std::int64_t n) {
    const bool is_axis = node(k).op == nullptr ? argument_name(k, i).starts_with("dim")
                                               : domain(*node(k).op, argument_name(k, i)).has_axes();
    if (is_axis) {
      for (const auto& [axis, what] : {std::pair{-1, "last"}, {-2, "last_but_one"}, {0, "first"}})
        if (node(k).op != nullptr && axis != n) change(k, i, std::int64_t{axis}, what);
      return;
    }
    if (node(k).op == nullptr) return;
    if (n != 0) change(k, i, std::int64_t{0}, "zero");
    if (n != 0 && node(k).arguments[i].from == From::number) change(k, i, -n, "negated");
    change(k, i, n + 1, "one_more");
  }

  void round_too_much(std::size_t k) {
    if (node(k).op == nullptr || is_full()) return;
    const bool is_result =
        std::ranges::any_of(graph_.results, [&](const GraphValue& v) { return same(v, result_of(k)); });
    for (const auto& [dtype, of] :
         {std::pair{Dtype::bf16, only(Dtype::f32) | only(Dtype::f64) | only(Dtype::f16)},
          {Dtype::f16, only(Dtype::f32) | only(Dtype::f64)}}) {
      if (is_result) continue;
      Graph& g = add(fmt::format("{}.rounded_to_{}", node(k).name, name(dtype)),
                     fmt::format("rounds {} to {}", label(k), name(dtype)), of);
      GraphNode rounding;
      rounding.name = node(k).name;
      rounding.line = node(k).line;
      rounding.movement = find_movement("rounded");
      rounding.arguments = {result_of(k), {.from = From::literal, .literal = dtype}};
      insert_after(g, k, std::move(rounding));
    }
  }

  void inherit(std::size_t k) {
    if (node(k).op == nullptr) return;
    for (const WrongFormula& wrong : wrong_formulas()) {
      if (&wrong.reference->op() != node(k).op || !wrong.planted || is_full()) continue;
      Graph& g = add(fmt::format("{}.{}", node(k).name, wrong.name),
                     fmt::format("{}, in {}", wrong.says, label(k)), wrong.dtypes);
      g.nodes[k].formula = wrong.reference;
    }
  }

  // What a node might read by mistake: arguments of the graph, and results of nodes before it; of a large graph those near by.
  void read_elsewhere(std::size_t k) {
    std::vector<GraphValue> others;
    for (std::size_t i = 0; i < graph_.op.schema.argument_count; ++i)
      if (graph_.op.schema.argument_storage[i].is_tensor())
        others.push_back({.from = From::argument, .index = i});
    for (std::size_t n = k > kFewNodes ? k - kFewNodes : 0; n < k; ++n) others.push_back(result_of(n));
    std::vector<GraphValue> done;
    for (const std::size_t i : tensors(k)) {
      const GraphValue& v = node(k).arguments[i];
      if (std::ranges::any_of(done, [&](const GraphValue& d) { return same(d, v); })) continue;
      done.push_back(v);
      for (const GraphValue& w : others) {
        if (is_full() || same(v, w)) continue;
        Graph& g = add(fmt::format("{}.reads_{}_for_{}", node(k).name, value_name(w), value_name(v)),
                       fmt::format("reads {} for {} in {}", value_name(w), value_name(v), label(k)));
        for (GraphValue& read : g.nodes[k].arguments)
          if (same(read, v)) read = w;
      }
    }
  }

  const Graph& graph_;
  std::set<std::string> names_;
  std::vector<GraphMutant> all_;
};

}  // namespace

std::vector<GraphMutant> mutants_of(const Graph& graph) {
  std::vector<GraphMutant> all = rotary_mutants_of(graph);
  for (GraphMutant& m : Mutants(graph).all()) all.push_back(std::move(m));
  return all;
}

}  // namespace assay
