#include "shape_terms.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::size_t kMostDimsAskedFor = 64;  // more than any tensor has

}  // namespace

ShapeTerms::Dim& ShapeTerms::changed_dim(std::size_t root) {
  old_dims_.emplace_back(root, dims_[root]);
  return dims_[root];
}
ShapeTerms::Run& ShapeTerms::changed_run(std::size_t run) {
  old_runs_.emplace_back(run, runs_[run]);
  return runs_[run];
}
void ShapeTerms::back_to(const Mark& mark) {
  for (; old_dims_.size() > mark.old_dims; old_dims_.pop_back())
    dims_[old_dims_.back().first] = old_dims_.back().second;
  for (; old_runs_.size() > mark.old_runs; old_runs_.pop_back())
    runs_[old_runs_.back().first] = std::move(old_runs_.back().second);
  dims_.resize(mark.dims, Dim{});
  runs_.resize(mark.runs);
}

DimTerm ShapeTerms::dim() {
  dims_.push_back({dims_.size()});
  return {dims_.size() - 1};
}
DimTerm ShapeTerms::dim(std::int64_t size) {
  const DimTerm d = dim();
  dims_[d.unknown].size = size;
  return d;
}
DimTerm ShapeTerms::dim(const EdgePart& computed) {
  const DimTerm d = dim();
  dims_[d.unknown].computed = computed;
  return d;
}

ShapeTerm ShapeTerms::any() {
  runs_.emplace_back();
  return {.run = runs_.size() - 1};
}
ShapeTerm ShapeTerms::ranked(std::size_t dimensions) {
  ShapeTerm t;
  for (std::size_t d = 0; d < dimensions; ++d) t.front.push_back(dim());
  return t;
}
ShapeTerm ShapeTerms::edge(const EdgePart& computed) {
  ShapeTerm t = any();
  runs_.back().computed = computed;
  return t;
}
std::size_t ShapeTerms::window(std::size_t in) {
  runs_.push_back({.as_long_as = in, .is_window = true});
  return runs_.size() - 1;
}

std::optional<std::size_t> ShapeTerms::length(std::size_t run) const {
  std::size_t n = 0;
  for (std::optional<std::size_t> at = run; at; at = runs_[*at].bound->run) {
    if (!runs_[*at].bound) return std::nullopt;
    n += runs_[*at].bound->front.size() + runs_[*at].bound->back.size();
  }
  return n;
}

bool ShapeTerms::even_out() {
  for (bool changes = true; changes;) {
    changes = false;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (!runs_[run].as_long_as) continue;
      const std::size_t other = *runs_[run].as_long_as;
      const auto own = length(run), its = length(other);
      if (own && its && own != its) return false;
      if (own.has_value() == its.has_value()) continue;
      if (!unify({.run = own ? other : run}, ranked(own ? *own : *its))) return false;
      changes = true;
    }
  }
  return true;
}

std::vector<ShapeTerms::Pair> ShapeTerms::pairs() const {
  std::vector<Pair> all;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (!runs_[run].as_long_as) continue;
    const ShapeTerm own = resolved({.run = run}), of = resolved({.run = *runs_[run].as_long_as});
    if (own.run || of.run) continue;
    for (std::size_t d = 0; d < own.front.size(); ++d)
      all.push_back({own.front[d], of.front[d], runs_[run].is_window});
  }
  return all;
}

std::size_t ShapeTerms::root(DimTerm d) const {
  std::size_t at = d.unknown;
  while (dims_[at].parent != at) at = dims_[at].parent;
  return at;
}
std::optional<std::int64_t> ShapeTerms::size(DimTerm d) const { return dims_[root(d)].size; }
const EdgePart* ShapeTerms::computed(DimTerm d) const {
  const auto& c = dims_[root(d)].computed;
  return c ? &*c : nullptr;
}

std::size_t ShapeTerms::root_run(std::size_t run) const {
  while (runs_[run].bound && runs_[run].bound->front.empty() && runs_[run].bound->back.empty() &&
         runs_[run].bound->run)
    run = *runs_[run].bound->run;
  return run;
}
const EdgePart* ShapeTerms::computed_run(std::size_t run) const {
  const auto& c = runs_[root_run(run)].computed;
  return c ? &*c : nullptr;
}

ShapeTerm ShapeTerms::resolved(const ShapeTerm& t) const {
  ShapeTerm r = t;
  while (r.run && runs_[*r.run].bound) {
    const ShapeTerm& in = *runs_[*r.run].bound;
    r.front.insert(r.front.end(), in.front.begin(), in.front.end());
    r.back.insert(r.back.begin(), in.back.begin(), in.back.end());
    r.run = in.run;
    if (!r.run) {
      r.front.insert(r.front.end(), r.back.begin(), r.back.end());
      r.back.clear();
    }
  }
  return r;
}

std::optional<DimTerm> ShapeTerms::at(const ShapeTerm& t, std::int64_t d) {
  const std::size_t n = count_to(d);
  if (n > kMostDimsAskedFor) return std::nullopt;
  const auto place = [&](const ShapeTerm& r) -> std::optional<DimTerm> {
    if (d >= 0 && n <= r.front.size()) return r.front[n - 1];
    if (d < 0 && n <= r.back.size()) return r.back[r.back.size() - n];
    if (d < 0 && !r.run && n <= r.front.size()) return r.front[r.front.size() - n];
    return std::nullopt;
  };
  if (const auto known = place(resolved(t))) return known;
  if (!resolved(t).run) return std::nullopt;
  ShapeTerm longer = any();
  for (std::size_t k = 0; k < n; ++k) (d < 0 ? longer.back : longer.front).push_back(dim());
  if (!unify(t, longer)) return std::nullopt;
  return place(resolved(t));
}

bool ShapeTerms::unify(DimTerm a, DimTerm b) {
  const std::size_t x = root(a), y = root(b);
  if (x == y) return true;
  if (dims_[x].size && dims_[y].size && dims_[x].size != dims_[y].size) return false;
  const auto &one = dims_[x].computed, &other = dims_[y].computed;
  const bool meets = dims_[x].meets || dims_[y].meets || (one && other && *one != *other) ||
                     (one && dims_[y].size) || (other && dims_[x].size);
  changed_dim(y).parent = x;
  if (meets && !dims_[x].meets) changed_dim(x).meets = true;
  if (!dims_[x].size && dims_[y].size) changed_dim(x).size = dims_[y].size;
  if (!dims_[x].computed && dims_[y].computed) changed_dim(x).computed = dims_[y].computed;
  return true;
}

bool ShapeTerms::unify(const ShapeTerm& a, const ShapeTerm& b) {
  const Mark before = mark();
  if (unify_now(a, b)) return true;
  back_to(before);
  return false;
}

// Dimension d of a part of an edge; from its end if it is negative.
DimTerm ShapeTerms::part(const EdgePart& of, std::int64_t d) {
  EdgePart one = of;
  one.first = d >= 0 ? of.first + d : of.last + d;
  one.last = one.first + 1;
  return dim(one);
}

bool ShapeTerms::bind(std::size_t run, const ShapeTerm& to) {
  if (const std::optional<EdgePart> edge = runs_[run].computed) {
    for (std::size_t k = 0; k < to.front.size(); ++k)
      if (!unify(to.front[k], part(*edge, static_cast<std::int64_t>(k)))) return false;
    const auto backs = static_cast<std::int64_t>(to.back.size());
    for (std::int64_t k = 0; k < backs; ++k)
      if (!unify(to.back[static_cast<std::size_t>(k)], part(*edge, k - backs))) return false;
    if (to.run && !runs_[root_run(*to.run)].computed) {
      const std::size_t inner = root_run(*to.run);
      if (to.front.empty() && backs == 0) {
        changed_run(inner).bound = ShapeTerm{.run = run};
        return true;
      }
      changed_run(inner).computed =
          EdgePart{edge->node, edge->result, edge->first + static_cast<std::int64_t>(to.front.size()),
                   edge->last - backs};
    }
    if (to.run && root_run(*to.run) == run) return true;
  }
  Run& own = changed_run(run);
  own.computed.reset();
  own.bound = to;
  return true;
}

bool ShapeTerms::unify_now(const ShapeTerm& a, const ShapeTerm& b) {
  ShapeTerm x = resolved(a), y = resolved(b);
  if (!x.run && y.run) std::swap(x, y);
  const auto drop = [](std::vector<DimTerm>& v, std::size_t front, std::size_t back) {
    v.erase(v.end() - static_cast<std::ptrdiff_t>(back), v.end());
    v.erase(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(front));
  };
  if (!y.run) {
    if (x.run ? y.front.size() < x.front.size() + x.back.size() : y.front.size() != x.front.size())
      return false;
    for (std::size_t k = 0; k < x.front.size(); ++k)
      if (!unify(x.front[k], y.front[k])) return false;
    for (std::size_t k = 0; k < x.back.size(); ++k)
      if (!unify(x.back[k], y.front[y.front.size() - x.back.size() + k])) return false;
    if (!x.run) return true;
    drop(y.front, x.front.size(), x.back.size());
    return bind(*x.run, y);
  }
  const std::size_t fronts = std::min(x.front.size(), y.front.size()),
                    backs = std::min(x.back.size(), y.back.size());
  for (std::size_t k = 0; k < fronts; ++k)
    if (!unify(x.front[k], y.front[k])) return false;
  for (std::size_t k = 1; k <= backs; ++k)
    if (!unify(x.back[x.back.size() - k], y.back[y.back.size() - k])) return false;
  for (ShapeTerm* t : {&x, &y}) {
    drop(t->front, fronts, 0);
    drop(t->back, 0, backs);
  }
  const bool x_alone = x.front.empty() && x.back.empty(), y_alone = y.front.empty() && y.back.empty();
  if (*x.run == *y.run) return x_alone && y_alone;
  // What is computed stays as it is, and so does what is a window.
  const auto free = [&](std::size_t run) { return !runs_[run].computed && !runs_[run].is_window; };
  if (x_alone && (!y_alone || free(*x.run))) return bind(*x.run, y);
  if (y_alone) return bind(*y.run, x);
  // [A, *x] is [*y, B]: of what both can be, [A, *z, B].
  const ShapeTerm between = any();
  if (x.front.empty())
    return bind(*x.run, {.front = y.front, .run = between.run}) &&
           bind(*y.run, {.run = between.run, .back = x.back});
  return bind(*x.run, {.run = between.run, .back = y.back}) &&
         bind(*y.run, {.front = x.front, .run = between.run});
}

}  // namespace assay
