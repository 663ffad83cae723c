#include "graph_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "operator_terms.h"

namespace assay {
namespace {

using From = GraphValue::From;

// The rule as text, from the terms of the arguments and the results.
class Derivation : OperatorTerms {
 public:
  explicit Derivation(const Graph& graph) : OperatorTerms(graph) {}

  std::string rule() {
    for (std::size_t k = 0; k < graph_.nodes.size(); ++k)
      results_.push_back(graph_.nodes[k].op != nullptr ? of_operator(k) : of_movement(k));
    keep_sizes();
    return text();
  }

 private:
  // The arguments from which the results of these nodes are computed.
  std::set<std::size_t> upstream(std::vector<bool> nodes) const {
    std::set<std::size_t> all;
    const auto look = [&](const GraphValue& v, const auto& self) -> void {
      if (v.from == From::argument) all.insert(v.index);
      if (v.from == From::node) nodes[v.index] = true;
      for (const GraphValue& item : v.items) self(item, self);
    };
    for (std::size_t k = nodes.size(); k-- > 0;)
      if (nodes[k])
        for (const GraphValue& v : graph_.nodes[k].arguments) look(v, look);
    return all;
  }

  std::string text() {
    const std::size_t n = graph_.op.schema.argument_count;
    // Edges are computed from arguments that say their own shape.
    std::vector<bool> edges(graph_.nodes.size());
    for (std::size_t i = 0; i < n; ++i)
      if (is_tensor_argument(i))
        each_computed(arguments_[i], [&](const EdgePart& e) { edges[e.node] = true; });
    const std::set<std::size_t> own = upstream(std::move(edges));
    std::vector<std::string> inputs;
    std::vector<std::pair<std::size_t, ShapeTerm>> shapes;
    for (std::size_t i = 0; i < n; ++i) {
      const Argument& a = graph_.op.schema.argument_storage[i];
      const ShapeTerm t = terms_.resolved(arguments_[i]);
      if (a.is_tensor() ||
          (a.list && a.type == Type::integer && (!t.run || !t.front.empty() || !t.back.empty())))
        shapes.emplace_back(i, t);
    }
    for (const auto& [i, t] : shapes)
      if (own.contains(i) || !has_computed(t)) see(t, broadcasts_[i]);
    see_windows();
    // A window comes after what it lies in.
    std::stable_partition(shapes.begin(), shapes.end(),
                          [&](const auto& s) { return !s.second.run || !room_of(*s.second.run); });
    for (const auto& [i, t] : shapes) {
      const bool computes = !own.contains(i) && has_computed(t);
      const bool pure = t.front.empty() && t.back.empty();
      const bool broadcasts = broadcasts_[i] && !computes && (pure || said(t));
      inputs.push_back(fmt::format("{}=[{}]{}", graph_.op.schema.argument_storage[i].name,
                                   dims(t, !own.contains(i)), broadcasts ? "~" : ""));
    }
    for (const auto& [i, d] : bound_)
      if (said_dim(d))
        inputs.push_back(fmt::format("{}={}", graph_.op.schema.argument_storage[i].name, dim_text(d, false)));
    std::vector<std::string> outputs;
    for (const GraphValue& v : graph_.results) {
      const ShapeTerm t = terms_.resolved(term(v));
      const bool plain = !has_computed(t) && said(t);
      outputs.push_back(plain                  ? fmt::format("[{}]", dims(t, false))
                        : v.from == From::node ? fmt::format("[edge({},{},0,e0)]", v.index, v.result)
                                               : fmt::format("[{}]", dims(t, false)));
    }
    return fmt::format("{} -> {}", fmt::join(inputs, " "), fmt::join(outputs, ", "));
  }

  template <class See>
  void each_computed(const ShapeTerm& whole, const See& see_part) {
    const ShapeTerm t = terms_.resolved(whole);
    for (const auto* dims : {&t.front, &t.back})
      for (const DimTerm d : *dims)
        if (!terms_.size(d) && terms_.computed(d) != nullptr) see_part(*terms_.computed(d));
    if (t.run && terms_.computed_run(*t.run) != nullptr) see_part(*terms_.computed_run(*t.run));
  }
  bool has_computed(const ShapeTerm& t) {
    bool any = false;
    each_computed(t, [&](const EdgePart&) { any = true; });
    return any;
  }

  // Which sizes and runs arguments say that do not broadcast.
  void see(const ShapeTerm& t, bool broadcasts) {
    if (broadcasts && !(t.front.empty() && t.back.empty())) return;
    for (const auto* dims : {&t.front, &t.back})
      for (const DimTerm d : *dims) said_dims_.insert(terms_.root(d));
    if (t.run) said_runs_.insert(terms_.root_run(*t.run));
  }
  void see_windows() {
    std::vector<ShapeTerms::Pair> pairs = terms_.pairs();
    pairs.insert(pairs.end(), pooled_.begin(), pooled_.end());
    for (const ShapeTerms::Pair& p : pairs)
      if (!terms_.size(p.own)) (p.is_window ? window_of_ : computed_from_).emplace(terms_.root(p.own), p.of);
  }
  // The run in which a window lies, or the one from which that is computed. None where no argument says it, or if the run is no window.
  std::optional<std::size_t> room_of(std::size_t run) const {
    if (!terms_.is_window(run)) return std::nullopt;
    std::optional<std::size_t> in = terms_.long_as(run);
    for (std::size_t steps = graph_.nodes.size(); in && steps > 0; --steps) {
      const ShapeTerm image = terms_.resolved({.run = *in});
      if (!image.run || said_runs_.contains(terms_.root_run(*image.run))) return in;
      in = terms_.long_as(*image.run);
    }
    return std::nullopt;
  }
  // The same of a size, as text.
  std::string room_text(DimTerm window) {
    const auto in = window_of_.find(terms_.root(window));
    if (in == window_of_.end()) return "";
    std::size_t at = terms_.root(in->second);
    for (std::size_t steps = graph_.nodes.size(); steps > 0; --steps) {
      if (at == terms_.root(window)) return "";
      if (terms_.size({at}) || said_dims_.contains(at)) return "<" + dim_text({at}, false);
      const auto from = computed_from_.find(at);
      if (from == computed_from_.end()) return "";
      at = terms_.root(from->second);
    }
    return "";
  }
  bool said_dim(DimTerm d) const { return terms_.size(d) || said_dims_.contains(terms_.root(d)); }
  bool said(const ShapeTerm& t) const {
    const auto known = [&](DimTerm d) { return said_dim(d); };
    return std::ranges::all_of(t.front, known) && std::ranges::all_of(t.back, known) &&
           (!t.run || said_runs_.contains(terms_.root_run(*t.run)));
  }

  static std::string edge_text(const EdgePart& e) {
    const auto end = [](std::int64_t n, bool is_last) {
      return n < 0 ? fmt::format("e{}", -n) : is_last && n == 0 ? "e0" : fmt::format("{}", n);
    };
    return fmt::format("edge({},{},{},{})", e.node, e.result, end(e.first, false), end(e.last, true));
  }

  std::string dim_text(DimTerm d, bool computes) {
    if (const auto size = terms_.size(d)) return fmt::format("{}", *size);
    if (const EdgePart* e = terms_.computed(d); e != nullptr && computes) return edge_text(*e);
    const std::size_t number = number_of(dim_names_, terms_.root(d));
    constexpr std::string_view letters = "NCKMABDEFGHIJLOTUVWXYZ";
    const std::string round = number < letters.size() ? "" : fmt::format("{}", number / letters.size());
    return letters[number % letters.size()] + round;
  }
  std::string run_text(std::size_t run, bool computes) {
    if (const EdgePart* e = terms_.computed_run(run); e != nullptr && computes) return edge_text(*e);
    const bool some = std::ranges::any_of(some_, [&](std::size_t s) {
      const ShapeTerm t = terms_.resolved({.run = s});
      return t.run && t.front.empty() && t.back.empty() && terms_.root_run(*t.run) == terms_.root_run(run);
    });
    return (some ? "+" : "*") + run_name(run);
  }
  std::string run_name(std::size_t run) {
    const std::size_t number = number_of(run_names_, terms_.root_run(run));
    return number == 0 ? "" : number < 4 ? std::string(1, "QRS"[number - 1]) : fmt::format("P{}", number);
  }
  static std::size_t number_of(std::map<std::size_t, std::size_t>& names, std::size_t root) {
    return names.try_emplace(root, names.size()).first->second;
  }

  std::string dims(const ShapeTerm& t, bool computes) {
    std::vector<std::string> all;
    for (const DimTerm d : t.front) all.push_back(dim_text(d, computes) + room_text(d));
    if (t.run) {
      const std::optional<std::size_t> in = room_of(*t.run);
      const ShapeTerm image = in ? terms_.resolved({.run = *in}) : ShapeTerm{};
      if (in) {  // as many dimensions as the image has
        auto& own = windows_[terms_.root_run(*t.run)];
        while (own.size() < image.front.size() + image.back.size()) own.push_back(terms_.dim());
        const auto middle = own.begin() + static_cast<std::ptrdiff_t>(image.front.size());
        for (auto d = own.begin(); d != middle; ++d) all.push_back(dim_text(*d, false));
        if (image.run) all.push_back(fmt::format("*{}<{}", run_name(*t.run), run_name(*image.run)));
        for (auto d = middle; d != own.end(); ++d) all.push_back(dim_text(*d, false));
      } else {
        all.push_back(run_text(*t.run, computes));
      }
    }
    for (const DimTerm d : t.back) all.push_back(dim_text(d, computes));
    return fmt::format("{}", fmt::join(all, ","));
  }

  std::set<std::size_t> said_dims_, said_runs_;
  std::map<std::size_t, std::size_t> dim_names_, run_names_;
  std::map<std::size_t, std::vector<DimTerm>> windows_;
  std::map<std::size_t, DimTerm> window_of_,
      computed_from_;  // of sizes: where they lie, and where they are from
};

}  // namespace

std::string derived_shapes(const Graph& graph) { return Derivation(graph).rule(); }

}  // namespace assay
