#include "operator_terms.h"

#include <algorithm>
#include <set>

#include "vocabulary/domain.h"
#include "vocabulary/shape_function.h"

namespace assay {

using From = GraphValue::From;

OperatorTerms::OperatorTerms(const Graph& graph)
    : MovementTerms(graph),
      broadcasts_(graph.op.schema.argument_count),
      uses_(graph.op.schema.argument_count) {
  for (const GraphNode& node : graph.nodes)
    for (const GraphValue& v : node.arguments) count_uses(v);
  for (const GraphValue& v : graph.results) count_uses(v);
}

void OperatorTerms::count_uses(const GraphValue& v) {
  if (v.from == From::argument) ++uses_[v.index];
  for (const GraphValue& item : v.items) count_uses(item);
}

// A tensor of the graph that only this one place looks at, of which nothing is known.
bool OperatorTerms::is_free(const GraphValue& v) {
  if (v.from != From::argument || !is_tensor_argument(v.index) || uses_[v.index] != 1) return false;
  const ShapeTerm t = terms_.resolved(arguments_[v.index]);
  return t.front.empty() && t.back.empty() && t.run;
}

std::vector<ShapeTerm> OperatorTerms::of_operator(std::size_t k) {
  const GraphNode& node = graph_.nodes[k];
  for (const ShapeAlternative& alternative : shape_rule(*node.op).alternatives) {
    const ShapeTerms::Mark before = terms_.mark();
    const auto bound = bound_;
    const std::size_t some = some_.size();
    Symbols s;
    if (!fits(k, alternative, s)) {
      terms_.back_to(before);
      bound_ = bound;
      some_.resize(some);
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
    terms_.even_out();
    remember(node, results[0]);
    return results;
  }
  std::vector<ShapeTerm> results;
  for (std::size_t r = 0; r < node.schema().result_count; ++r) results.push_back(unknown(k, r));
  return results;
}

// The window that makes the result of a transposed convolution as large as its image times the stride, and else as large as the image over
// the stride, rounded up.
void OperatorTerms::remember(const GraphNode& node, const ShapeTerm& result) {
  if (node.op->schema.base != "convolution") return;
  const auto value = [&](std::string_view name) -> const GraphValue& {
    return node.arguments[static_cast<std::size_t>(node.op->schema.find(name))];
  };
  const auto* transposed = written<bool>(value("transposed"));
  const ShapeTerm in = terms_.resolved(term(value("input"))), weight = terms_.resolved(term(value("weight"))),
                  out = terms_.resolved(result);
  if (transposed == nullptr || in.run || weight.run || out.run) return;
  const std::size_t rank = std::min({in.front.size(), weight.front.size(), out.front.size()});
  for (std::size_t d = 2; d < rank; ++d) {
    const auto number = [&](std::string_view name) -> std::int64_t {
      const auto list = written_integers(value(name));
      if (!list || list->empty() || (list->size() > 1 && list->size() <= d - 2)) return -1;
      const std::int64_t n = list->size() == 1 ? (*list)[0] : (*list)[d - 2];
      return n > kMostSpatial ? -1 : n;
    };
    const std::int64_t pad = number("padding"), stride = number("stride"), step = number("dilation"),
                       more = number("output_padding");
    if (pad < 0 || stride < 1 || step < 1 || (*transposed && more < 0)) continue;
    const std::int64_t reach = 2 * pad + (*transposed ? stride - 1 - more : 0);
    if (reach >= 0 && reach % step == 0)
      convolved_.push_back(
          {in.front[d], out.front[d], weight.front[d], reach / step + 1, stride, *transposed});
  }
}

void OperatorTerms::keep_sizes() {
  // Of an image that a convolution, or one before it, goes over: its result is added to that.
  const auto returns_to_image = [&](std::size_t c) {
    return std::any_of(convolved_.begin(), convolved_.begin() + static_cast<std::ptrdiff_t>(c + 1),
                       [&](const Convolved& before) {
                         return terms_.root(before.image) == terms_.root(convolved_[c].result);
                       });
  };
  // From the last ones on: what a result of that size is computed from has it, too.
  std::set<std::size_t> kept;
  for (std::size_t n = convolved_.size(); n-- > 0;) {
    const Convolved* const c = &convolved_[n];
    if (!terms_.meets(c->result) && !kept.contains(terms_.root(c->result)) && !returns_to_image(n)) continue;
    terms_.unify(c->window, terms_.dim(c->kept));
    if (const std::optional<std::int64_t> size = terms_.size(c->result); size && !terms_.size(c->image)) {
      if (!c->transposed)
        terms_.unify(c->image, terms_.dim(product_of_sizes(*size, c->stride)));
      else if (*size % c->stride == 0)
        terms_.unify(c->image, terms_.dim(*size / c->stride));
    }
    kept.insert(terms_.root(c->image));
  }
}

// ---- The patterns of an alternative as terms ----

DimTerm OperatorTerms::size_of(Symbols& s, const std::string& name) {
  const auto known = s.sizes.find(name);
  return known != s.sizes.end() ? known->second : s.sizes[name] = terms_.dim();
}
std::size_t OperatorTerms::run_of(Symbols& s, const std::string& name, const ShapeAlternative& of) {
  if (const auto known = s.runs.find(name); known != s.runs.end()) return known->second;
  const std::string* in = of.window_in(name);
  const std::size_t run = in != nullptr ? terms_.window(run_of(s, *in, of)) : *terms_.any().run;
  return s.runs[name] = run;
}

// G*C: C where G is 1; where G is any other number that is written out, that, and C is 1.
DimTerm OperatorTerms::product(Symbols& s, const DimPattern& d) {
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

// The pattern; what is computed is the rest of the result `edge`.
ShapeTerm OperatorTerms::pattern(Symbols& s, const ShapePattern& p, const ShapeAlternative& of,
                                 const EdgePart* edge) {
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
      case DimPattern::Kind::run: {
        const std::size_t run = run_of(s, d.name, of);
        const ShapeTerm known = terms_.resolved({.run = run});
        if (known.run && t.run) return edge != nullptr ? terms_.edge(*edge) : terms_.any();  // two of them
        if (known.run) {
          t.run = run;
          if (d.some) some_.push_back(run);
        } else {
          for (const DimTerm dim : known.front) add(dim);
        }
        break;
      }
      default:
        if (edge == nullptr) return terms_.any();
        return computed(s, t, d, *edge, p.dims.size() - k - 1);
    }
  }
  return terms_.resolved(t);
}

// The dimensions that are known, and after them what function `d` computes, whatever follows in the pattern.
ShapeTerm OperatorTerms::computed(Symbols& s, const ShapeTerm& known, const DimPattern& d,
                                  const EdgePart& edge, std::size_t after) {
  if (known.run) return terms_.edge(edge);
  ShapeTerm t = known;
  const auto first = static_cast<std::int64_t>(t.front.size());
  if (d.name == "resized" && after == 0) {
    for (const std::string& size : d.operands) t.front.push_back(size_of(s, size));
    return t;
  }
  if (d.name == "pooled" && after == 0) {
    for (const std::string& size : d.operands) {
      const auto at = static_cast<std::int64_t>(t.front.size());
      t.front.push_back(terms_.dim(EdgePart{edge.node, edge.result, at, at + 1}));
      pooled_.push_back({t.front.back(), size_of(s, size)});
    }
    return t;
  }
  t.run = *terms_.edge({edge.node, edge.result, first, -static_cast<std::int64_t>(after)}).run;
  if (d.name == "convolved" || d.name == "transposed")
    if (const auto image = s.runs.find(d.operands[0].substr(1)); image != s.runs.end())
      terms_.as_long_as(*t.run, image->second);
  for (std::size_t k = 0; k < after; ++k) {
    const auto from_end = -static_cast<std::int64_t>(after - k);
    t.back.push_back(terms_.dim(EdgePart{edge.node, edge.result, from_end, from_end + 1}));
  }
  return t;
}

ShapeTerm OperatorTerms::reduced(const GraphNode& node, const DimPattern& d, const Symbols& s,
                                 const EdgePart& edge) {
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

// ---- Whether an alternative fits, and what follows ----

bool OperatorTerms::fits(std::size_t k, const ShapeAlternative& alternative, Symbols& s) {
  const GraphNode& node = graph_.nodes[k];
  for (const BoundFlag& flag : alternative.flags)
    if (const auto* value = written<bool>(node.arguments[static_cast<std::size_t>(flag.argument)]);
        value != nullptr && *value != flag.value)
      return false;
  if (!name_images(node)) return false;
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
  if (!terms_.even_out()) return false;
  join(node, alternative, broadcast, s);
  return terms_.even_out();
}

// Lists with a number for each dimension of an image say how many there are: stride=[2,2].
bool OperatorTerms::name_images(const GraphNode& node) {
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const Domain& d = domain(*node.op, node.op->schema.argument_storage[i].name);
    if (!d.is_spatial() || d.of < 0) continue;
    const auto numbers = written_integers(node.arguments[i]);
    if (!numbers || numbers->size() < 2) continue;
    const GraphValue& of = node.arguments[static_cast<std::size_t>(d.of)];
    if (!terms_.unify(term(of), terms_.ranked(numbers->size() + 2))) return false;
  }
  return true;
}

// Dimensions that axes name are there.
void OperatorTerms::name_axes(const GraphNode& node) {
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const Domain& d = domain(*node.op, node.op->schema.argument_storage[i].name);
    if (!d.has_axes() || d.of < 0) continue;
    if (const auto axes = written_integers(node.arguments[i]))
      for (const std::int64_t axis : *axes)
        terms_.at(term(node.arguments[static_cast<std::size_t>(d.of)]), axis);
  }
}

// Tensors that broadcast with each other. One says what the others are: where two of them are results, whoever knows more.
void OperatorTerms::join(const GraphNode& node, const ShapeAlternative& alternative,
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
bool OperatorTerms::align(const ShapeTerm& full, const ShapeTerm& t) {
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
void OperatorTerms::meet(const ShapeTerm& full, std::int64_t d, DimTerm own) {
  if (terms_.size(own) == 1) return;
  if (const auto there = terms_.at(full, d)) terms_.unify(*there, own);
}

}  // namespace assay
