#include "graph_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "graph_terms.h"
#include "vocabulary/domain.h"
#include "vocabulary/shape_rule.h"
#include "vocabulary/shape_rule_text.h"

namespace assay {
namespace {

using From = GraphValue::From;

class Derivation : MovementTerms {
 public:
  explicit Derivation(const Graph& graph)
      : MovementTerms(graph), broadcasts_(graph.op.schema.argument_count) {
    uses_.assign(graph.op.schema.argument_count, 0);
    for (const GraphNode& node : graph.nodes)
      for (const GraphValue& v : node.arguments) count_uses(v);
    for (const GraphValue& v : graph.results) count_uses(v);
  }

  std::string rule() {
    for (std::size_t k = 0; k < graph_.nodes.size(); ++k)
      results_.push_back(graph_.nodes[k].op != nullptr ? of_operator(k) : of_movement(k));
    return text();
  }

 private:
  void count_uses(const GraphValue& v) {
    if (v.from == From::argument) ++uses_[v.index];
    for (const GraphValue& item : v.items) count_uses(item);
  }

  // A tensor of the graph that only this one place looks at, of which nothing is known.
  bool is_free(const GraphValue& v) {
    if (v.from != From::argument || !is_tensor_argument(v.index) || uses_[v.index] != 1) return false;
    const ShapeTerm t = terms_.resolved(arguments_[v.index]);
    return t.front.empty() && t.back.empty() && t.run;
  }

  // ---- An operator: the first alternative of its rule that fits ----

  struct Symbols {
    std::map<std::string, DimTerm> sizes;
    std::map<std::string, std::size_t> runs;
  };

  DimTerm size_of(Symbols& s, const std::string& name) {
    const auto known = s.sizes.find(name);
    return known != s.sizes.end() ? known->second : s.sizes[name] = terms_.dim();
  }
  std::size_t run_of(Symbols& s, const std::string& name, const ShapeAlternative& of) {
    if (const auto known = s.runs.find(name); known != s.runs.end()) return known->second;
    const std::string* in = of.window_in(name);
    const std::size_t run = in != nullptr ? terms_.window(run_of(s, *in, of)) : *terms_.any().run;
    return s.runs[name] = run;
  }

  // The pattern; what is computed is the rest of the result `edge`.
  ShapeTerm pattern(Symbols& s, const ShapePattern& p, const ShapeAlternative& of, const EdgePart* edge) {
    ShapeTerm t;
    const auto add = [&](DimTerm d) { (t.run ? t.back : t.front).push_back(d); };
    for (std::size_t k = 0; k < p.dims.size(); ++k) {
      const DimPattern& d = p.dims[k];
      switch (d.kind) {
        case DimPattern::Kind::symbol:
          add(size_of(s, d.name));
          break;
        case DimPattern::Kind::number:
          add(terms_.dim(d.number));
          break;
        case DimPattern::Kind::product:
          add(product(s, d));
          break;
        case DimPattern::Kind::run:
          if (t.run) return edge != nullptr ? terms_.edge(*edge) : terms_.any();  // two of them
          t.run = run_of(s, d.name, of);
          if (d.some) some_.push_back(*t.run);
          break;
        default:
          if (edge == nullptr) return terms_.any();
          return rest_of(t, *edge, p.dims.size() - k - 1);
      }
    }
    return terms_.resolved(t);
  }
  // The dimensions that are known, and after them what is computed, whatever follows in the pattern.
  ShapeTerm rest_of(const ShapeTerm& known, const EdgePart& edge, std::size_t after) {
    if (known.run) return terms_.edge(edge);
    ShapeTerm t = known;
    const auto first = static_cast<std::int64_t>(t.front.size());
    t.run = *terms_.edge({edge.node, edge.result, first, -static_cast<std::int64_t>(after)}).run;
    for (std::size_t k = 0; k < after; ++k) {
      const auto from_end = -static_cast<std::int64_t>(after - k);
      t.back.push_back(terms_.dim(EdgePart{edge.node, edge.result, from_end, from_end + 1}));
    }
    return t;
  }
  // G*C: C where G is 1; where G is any other number that is written out, that, and C is 1.
  DimTerm product(Symbols& s, const DimPattern& d) {
    const std::optional<std::int64_t> factor = terms_.size(size_of(s, d.name));
    if (factor == 1) return size_of(s, d.operands[0]);
    const std::string key = d.name + "*" + d.operands[0];
    if (factor && !s.sizes.contains(key)) {
      const DimTerm one = size_of(s, d.operands[0]);
      s.sizes[key] =
          terms_.size(one) ? terms_.dim(product_of_sizes(*factor, *terms_.size(one))) : terms_.dim(*factor);
      if (!terms_.size(one)) terms_.unify(one, terms_.dim(1));
    }
    return size_of(s, key);
  }

  bool fits(std::size_t k, const ShapeAlternative& alternative, Symbols& s) {
    const GraphNode& node = graph_.nodes[k];
    for (const BoundFlag& flag : alternative.flags)
      if (const auto* value = written<bool>(node.arguments[static_cast<std::size_t>(flag.argument)]);
          value != nullptr && *value != flag.value)
        return false;
    for (const BoundNumber& number : alternative.numbers) {
      const GraphValue& v = node.arguments[static_cast<std::size_t>(number.argument)];
      const auto* value = written<std::int64_t>(v);
      if (number.size.kind != DimPattern::Kind::symbol) continue;
      const DimTerm d = size_of(s, number.size.name);
      if (value != nullptr && !terms_.unify(d, terms_.dim(*value))) return false;
      if (v.from == From::argument) bound_[v.index] = d;
    }
    std::vector<const ShapePattern*> broadcast;
    for (const ShapePattern& p : alternative.inputs) {
      const GraphValue& v = node.arguments[static_cast<std::size_t>(p.argument)];
      if (v.from == From::none || p.computed()) continue;
      if (p.broadcast) {
        broadcast.push_back(&p);
        continue;
      }
      const ShapeTerm wanted = pattern(s, p, alternative, nullptr);
      if (const auto integers = written_integers(v)) {
        ShapeTerm given;
        for (const std::int64_t n : *integers) given.front.push_back(terms_.dim(n));
        if (!terms_.unify(given, wanted)) return false;
      } else if (!terms_.unify(v.from == From::argument ? arguments_[v.index] : term(v), wanted)) {
        return false;
      }
    }
    join(node, alternative, broadcast, s);
    return true;
  }

  // Tensors that broadcast with each other. One says what the others are: where two of them are results, whoever knows more.
  void join(const GraphNode& node, const ShapeAlternative& alternative,
            const std::vector<const ShapePattern*>& all, Symbols& s) {
    if (all.empty()) return;
    const auto value = [&](const ShapePattern* p) -> const GraphValue& {
      return node.arguments[static_cast<std::size_t>(p->argument)];
    };
    const auto is_one = [&](const ShapePattern* p) {
      return value(p).from == From::node ||
             (value(p).from == From::argument && is_tensor_argument(value(p).index));
    };
    const bool to_symbols = all[0]->broadcasts_to_symbols();
    ShapeTerm full = pattern(s, *all[0], alternative, nullptr);
    if (!to_symbols) {
      const ShapePattern* anchor = nullptr;
      std::size_t most = 0;
      for (const ShapePattern* p : all) {
        const ShapeTerm t = terms_.resolved(term(value(p)));
        const std::size_t known =
            is_free(value(p)) ? 1 : 2 + 2 * (t.front.size() + t.back.size()) + (t.run ? 1 : 0);
        if (!is_one(p) || known <= most) continue;
        anchor = p;
        most = known;
      }
      if (anchor != nullptr) terms_.unify(full, term(value(anchor)));
    }
    const bool several = to_symbols || std::ranges::count_if(all, is_one) > 1;
    for (const ShapePattern* p : all) {
      if (!is_one(p)) continue;
      const bool free = is_free(value(p));
      if (align(full, term(value(p))) && free && several) broadcasts_[value(p).index] = true;
    }
  }
  // One shape; or that of the last dimensions, ones left out.
  bool align(const ShapeTerm& full, const ShapeTerm& t) {
    const ShapeTerm f = terms_.resolved(full), r = terms_.resolved(t);
    const bool has_ones = std::ranges::any_of(r.front, [&](DimTerm d) { return terms_.size(d) == 1; }) ||
                          std::ranges::any_of(r.back, [&](DimTerm d) { return terms_.size(d) == 1; });
    if (!has_ones && terms_.unify(full, t)) return true;
    if (r.front.empty() && r.back.empty() && !r.run) return false;  // no dimensions at all
    if (r.run) {                                                    // as many dimensions, some of them 1
      for (std::size_t k = 1; k <= r.back.size(); ++k)
        meet(full, -static_cast<std::int64_t>(k), r.back[r.back.size() - k]);
      for (std::size_t k = 0; k < r.front.size() && k < f.front.size(); ++k)
        meet(full, static_cast<std::int64_t>(k), r.front[k]);
      if (f.run) terms_.unify(ShapeTerm{.run = f.run}, ShapeTerm{.run = r.run});
      return false;
    }
    for (std::size_t k = 1; k <= r.front.size(); ++k)
      meet(full, -static_cast<std::int64_t>(k), r.front[r.front.size() - k]);
    return false;
  }
  void meet(const ShapeTerm& full, std::int64_t d, DimTerm own) {
    if (terms_.size(own) == 1) return;
    if (const auto there = terms_.at(full, d)) terms_.unify(*there, own);
  }

  std::vector<ShapeTerm> of_operator(std::size_t k) {
    const GraphNode& node = graph_.nodes[k];
    for (const ShapeAlternative& alternative : shape_rule(*node.op).alternatives) {
      const ShapeTerms::Mark before = terms_.mark();
      const auto bound = bound_;
      Symbols s;
      if (!fits(k, alternative, s)) {
        terms_.back_to(before);
        bound_ = bound;
        continue;
      }
      name_axes(node);
      std::vector<ShapeTerm> results;
      for (std::size_t r = 0; r < alternative.outputs.size(); ++r) {
        const EdgePart edge{k, r, 0, 0};
        const ShapePattern& p = alternative.outputs[r];
        results.push_back(p.dims.size() == 1 && p.dims[0].kind == DimPattern::Kind::computed &&
                                  p.dims[0].name == "reduced"
                              ? reduced(node, p.dims[0], s, edge)
                              : pattern(s, p, alternative, &edge));
      }
      return results;
    }
    std::vector<ShapeTerm> results;
    for (std::size_t r = 0; r < node.schema().result_count; ++r) results.push_back(unknown(k, r));
    return results;
  }

  // Dimensions that axes name are there.
  void name_axes(const GraphNode& node) {
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const Domain& d = domain(*node.op, node.op->schema.argument_storage[i].name);
      if (!d.has_axes() || d.of < 0) continue;
      if (const auto axes = written_integers(node.arguments[i]))
        for (const std::int64_t axis : *axes)
          terms_.at(term(node.arguments[static_cast<std::size_t>(d.of)]), axis);
    }
  }

  ShapeTerm reduced(const GraphNode& node, const DimPattern& d, const Symbols& s, const EdgePart& edge) {
    const auto find = [&](const std::string& name) -> const GraphValue& {
      return node.arguments[static_cast<std::size_t>(node.op->schema.find(name))];
    };
    const auto run = s.runs.find(d.operands[0].substr(1));
    const auto axes = written_integers(find(d.operands[1]));
    const auto* keep = written<bool>(find(d.operands[2]));
    if (run == s.runs.end() || !axes || axes->empty() || keep == nullptr) return terms_.edge(edge);
    const ShapeTerm full = terms_.resolved({.run = run->second});
    const auto rank = static_cast<std::int64_t>(full.front.size());
    std::set<std::int64_t> gone;
    for (const std::int64_t axis : *axes) gone.insert(!full.run && axis < 0 ? axis + rank : axis);
    ShapeTerm t{.run = full.run};
    const auto take = [&](std::vector<DimTerm>& to, DimTerm dim, std::int64_t number) {
      if (!gone.contains(number))
        to.push_back(dim);
      else if (*keep)
        to.push_back(terms_.dim(1));
    };
    for (std::int64_t n = 0; n < rank; ++n) take(t.front, full.front[static_cast<std::size_t>(n)], n);
    const auto backs = static_cast<std::int64_t>(full.back.size());
    for (std::int64_t n = 0; n < backs; ++n) take(t.back, full.back[static_cast<std::size_t>(n)], n - backs);
    return t;
  }

  // ---- As text ----

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
    for (const DimTerm d : t.front) all.push_back(dim_text(d, computes));
    if (t.run) {
      const std::optional<std::size_t> in = terms_.window_in(*t.run);
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

  std::vector<bool> broadcasts_;
  std::vector<std::size_t> uses_;
  std::map<std::size_t, DimTerm> bound_;  // int arguments that are sizes
  std::set<std::size_t> said_dims_, said_runs_;
  std::vector<std::size_t> some_;  // runs with a dimension at least
  std::map<std::size_t, std::size_t> dim_names_, run_names_;
  std::map<std::size_t, std::vector<DimTerm>> windows_;
};

}  // namespace

std::string derived_shapes(const Graph& graph) { return Derivation(graph).rule(); }

}  // namespace assay
