#include "shrink.h"

#include <rapidcheck/seq/Create.h>
#include <rapidcheck/seq/Transform.h>
#include <rapidcheck/shrink/Shrink.h>
#include <rapidcheck/shrinkable/Create.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include "check_case.h"
#include "families.h"
#include "reshape.h"
#include "shapes.h"

namespace assay {
namespace {

using Cases = rc::Seq<Case>;

// What is simpler than a case in one aspect, the boldest step first. Each step goes down in an order without infinite
// descent, so that taking steps comes to an end.
using Aspect = std::function<Cases(const Case&)>;

Cases fewer_dimensions(const Case& c) {
  const std::optional<Shaped> from = shaped(c);
  if (!from) return {};
  rc::Seq<Case> simpler;
  for (const std::string& name : from->alternative->runs()) {
    if (from->alternative->window_in(name) != nullptr) continue;  // goes with the run that it lies in
    std::vector<std::size_t> all(from->binding.runs.at(name).size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    simpler = rc::seq::concat(
        simpler, rc::seq::map(rc::shrink::removeChunks(all),
                              [c, from, run = name](const std::vector<std::size_t>& kept) {
                                Case next = c;
                                Shaped left = *from;
                                for (std::size_t d = left.binding.runs.at(run).size(); d-- > 0;) {
                                  if (std::binary_search(kept.begin(), kept.end(), d)) continue;
                                  next = without_run_dimension(next, left, run, d);
                                  left.binding = without_dimension(left, run, d);
                                }
                                return next;
                              }));
  }
  return simpler;
}

// Where another alternative of the shape rule would take a tensor with fewer dimensions.
Cases fewer_shared_dimensions(const Case& c) {
  const std::vector<const TensorSpec*> tensors = tensors_of(c);
  if (tensors.empty()) return {};
  return rc::seq::map(rc::seq::range<std::size_t>(0, tensors.front()->shape.size()),
                      [c](std::size_t d) { return without_shared_dimension(c, d); });
}

// Sizes as one list: symbols and runs, or, where shapes do not go together, every dimension of every tensor.
std::vector<std::int64_t> sizes_of(const Case& c) {
  std::vector<std::int64_t> sizes;
  if (std::optional<Shaped> from = shaped(c)) {
    for (const std::int64_t* size : sizes_of(*from->alternative, from->binding)) sizes.push_back(*size);
  } else {
    for (const TensorSpec* t : tensors_of(c)) sizes.insert(sizes.end(), t->shape.begin(), t->shape.end());
  }
  return sizes;
}

Case with_sizes(const Case& c, const std::vector<std::int64_t>& sizes) {
  if (const std::optional<Shaped> from = shaped(c)) {
    ShapeBinding binding = from->binding;
    std::size_t i = 0;
    for (std::int64_t* size : sizes_of(*from->alternative, binding)) *size = sizes[i++];
    return resized(c, *from, binding);
  }
  Case next = c;
  std::size_t i = 0;
  for (TensorSpec* t : tensors_of(next))
    for (std::int64_t& size : t->shape) size = sizes[i++];
  return next;
}

Cases all_sizes_one(const Case& c) {
  const std::vector<std::int64_t> sizes = sizes_of(c);
  if (std::ranges::all_of(sizes, [](std::int64_t s) { return s == 1; })) return {};
  return rc::seq::just(with_sizes(c, std::vector<std::int64_t>(sizes.size(), 1)));
}

// Sizes to try in place of one, the boldest first: 1, halves, and less by powers of two. A kernel that fails for whole vectors alone
// fails for those, too, where it seldom does halfway to 1.
std::vector<std::int64_t> smaller_sizes(std::int64_t size) {
  if (size == 1) return {};
  std::vector<std::int64_t> tried{1};
  if (size < 1) return tried;
  const auto n = static_cast<std::uint64_t>(size);
  for (std::uint64_t half = n >> std::countr_zero(n); half < n; half *= 2)
    if (half > 1) tried.push_back(static_cast<std::int64_t>(half));
  for (std::uint64_t step = std::bit_floor(n - 1); step > 0; step /= 2)
    if (const auto less = static_cast<std::int64_t>(n - step); std::ranges::find(tried, less) == tried.end())
      tried.push_back(less);
  return tried;
}

// An empty dimension is as interesting as a full one: it is tried with one element, and never made from more.
Aspect smaller_size(std::size_t i) {
  return [i](const Case& c) -> Cases {
    const std::vector<std::int64_t> sizes = sizes_of(c);
    if (i >= sizes.size()) return {};
    return rc::seq::map(rc::seq::fromContainer(smaller_sizes(sizes[i])), [c, i, sizes](std::int64_t size) {
      std::vector<std::int64_t> smaller = sizes;
      smaller[i] = size;
      return with_sizes(c, smaller);
    });
  };
}

// What fails only where two sizes are equal never shrinks one by one.
Cases smaller_equal_sizes(const Case& c) {
  const std::vector<std::int64_t> sizes = sizes_of(c);
  std::map<std::int64_t, int> count;
  for (const std::int64_t size : sizes) ++count[size];
  rc::Seq<Case> all;
  for (const auto& [value, times] : count)
    if (const std::int64_t equal = value; times > 1)
      all = rc::seq::concat(all, rc::seq::map(rc::seq::fromContainer(smaller_sizes(equal)),
                                              [c, sizes, equal](std::int64_t size) {
                                                std::vector<std::int64_t> smaller = sizes;
                                                std::ranges::replace(smaller, equal, size);
                                                return with_sizes(c, smaller);
                                              }));
  return all;
}

Cases without_broadcasts(const Case& c) {
  const std::optional<Shaped> from = shaped(c);
  std::vector<Case> simpler;
  if (!from) return {};
  for (const ShapePattern& p : from->alternative->inputs) {
    const auto i = static_cast<std::size_t>(p.argument);
    const auto* t = std::get_if<TensorSpec>(&c.arguments[i]);
    if (p.broadcast && t != nullptr && t->shape != instantiate(p, from->binding))
      simpler.push_back(without_broadcast(c, *from, i));
  }
  return rc::seq::fromContainer(simpler);
}

Cases plainer_layouts(const Case& c) {
  std::vector<Case> simpler;
  Case plain = c;
  for (TensorSpec* t : tensors_of(plain)) t->layout = {};
  if (plain == c) return {};
  simpler.push_back(plain);
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const auto* t = std::get_if<TensorSpec>(&c.arguments[i]);
    if (t == nullptr || t->layout == Layout{}) continue;
    Case next = c;
    auto& layout = std::get<TensorSpec>(next.arguments[i]).layout;
    layout = {};
    simpler.push_back(next);
    if (t->layout.kind == Layout::Kind::offset && t->layout.parameters[0] > 1) {
      layout = {Layout::Kind::offset, {1}};
      simpler.push_back(next);
    }
    if (t->layout.kind == Layout::Kind::expanded && t->layout.parameters.size() > 1)
      for (const std::int64_t d : t->layout.parameters) {
        layout = {Layout::Kind::expanded, {d}};
        simpler.push_back(next);
      }
  }
  return rc::seq::fromContainer(simpler);
}

// Below every number stand 0 and, above it, 1; integers are simpler than real numbers.
std::vector<CaseValue> simpler_values(const CaseValue& value, const Argument& a) {
  std::vector<CaseValue> simpler;
  if (a.has_default) {
    if (value == default_value(a)) return {};
    simpler.push_back(default_value(a));
  }
  if (a.optional) {
    if (value == CaseValue{None{}}) return {};
    simpler.push_back(None{});
  }
  const auto take = [&](auto&& sequence) {
    while (auto v = sequence.next()) simpler.push_back(CaseValue{*v});
  };
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    take(rc::shrink::integral(*integer));
  } else if (const auto* real = std::get_if<double>(&value)) {
    if (a.type == Type::scalar) simpler.insert(simpler.end(), {std::int64_t{0}, std::int64_t{1}});
    if (*real != 0 && *real != 1) simpler.push_back(1.0);
    take(rc::shrink::real(*real));
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    take(rc::shrink::eachElement(*list, &rc::shrink::integral<std::int64_t>));
  } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    take(rc::shrink::eachElement(*reals, &rc::shrink::real<double>));
  } else if (value == CaseValue{true}) {
    simpler.push_back(false);
  }
  return simpler;
}

Cases simpler_attributes(const Case& c) {
  std::vector<Case> simpler;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = c.op->schema.argument_storage[i];
    if (a.is_tensor() && !a.optional) continue;
    for (CaseValue& value : simpler_values(c.arguments[i], a)) {
      simpler.push_back(c);
      simpler.back().arguments[i] = std::move(value);
    }
  }
  return rc::seq::fromContainer(simpler);
}

// All tensors in the dtype of the results, and no other one asked for.
Cases one_dtype(const Case& c) {
  const Checked checked = check_case(c);
  if (!checked.ok() || checked.outputs.empty()) return {};
  std::vector<Case> simpler(1, c);
  const Dtype dtype = checked.outputs[0].computed_in;
  const auto has_own = [&](std::size_t i) {
    return !domain(*c.op, c.op->schema.argument_storage[i].name).own.empty();
  };
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = c.op->schema.argument_storage[i];
    if (a.type == Type::dtype && a.optional) simpler[0].arguments[i] = None{};
    const auto* t = std::get_if<TensorSpec>(&c.arguments[i]);
    if (t == nullptr || t->dtype == dtype || has_own(i)) continue;
    std::get<TensorSpec>(simpler[0].arguments[i]).dtype = dtype;
    simpler.push_back(c);
    std::get<TensorSpec>(simpler.back().arguments[i]).dtype = dtype;
  }
  std::erase(simpler, c);
  return rc::seq::fromContainer(simpler);
}

Cases simpler_data(const Case& c) {
  std::vector<Case> simpler;
  for (const Family& f : families()) {
    if (f.name == c.data) break;
    simpler.push_back(c);
    simpler.back().data = f.name;
  }
  return rc::seq::fromContainer(simpler);
}

// The layouts of results count through 16 small seeds.
Cases smaller_seed(const Case& c) {
  return rc::seq::map(rc::seq::range<std::uint64_t>(0, std::min<std::uint64_t>(c.seed, 16)),
                      [c](std::uint64_t seed) {
                        Case next = c;
                        next.seed = seed;
                        return next;
                      });
}

// What fails for a value that few elements have seldom fails for fewer elements of the same seed: smaller sizes with other values.
Cases smaller_sizes_of_other_seeds(const Case& c) {
  Cases smaller = rc::seq::concat(fewer_dimensions(c), all_sizes_one(c), smaller_equal_sizes(c));
  for (std::size_t i = 0; i < sizes_of(c).size(); ++i) smaller = rc::seq::concat(smaller, smaller_size(i)(c));
  return rc::seq::mapcat(smaller, [](const Case& next) {
    return rc::seq::map(rc::seq::range<std::uint64_t>(0, 8), [next](std::uint64_t seed) {
      Case other = next;
      other.seed = seed;
      return other;
    });
  });
}

// Steps after which what is computed from the rest of the case goes with it again.
Aspect settling(const Aspect& simpler) {
  return [simpler](const Case& c) { return rc::seq::map(simpler(c), settled); };
}

std::vector<Aspect> aspects(const Case& c) {
  std::vector<Aspect> all{fewer_dimensions, all_sizes_one, smaller_equal_sizes, fewer_shared_dimensions};
  for (std::size_t i = 0; i < sizes_of(c).size(); ++i) all.push_back(smaller_size(i));
  all.insert(all.end(), {plainer_layouts, without_broadcasts, simpler_attributes, one_dtype, simpler_data,
                         smaller_seed, smaller_sizes_of_other_seeds});
  return all;
}

// The dtype of the results; nullopt where the operator does not allow the arguments.
std::optional<Dtype> result_dtype(const Case& c) {
  try {
    const Checked checked = check_case(c);
    if (checked.ok() && !checked.outputs.empty()) return checked.outputs[0].computed_in;
  } catch (const CaseError&) {  // a layout that does not fit
  }
  return std::nullopt;
}

}  // namespace

Shrunk shrink(const Case& failing, const std::function<bool(const Case&)>& still_fails, int budget) {
  Shrunk shrunk{failing, 0};
  const std::optional<Dtype> dtype = result_dtype(failing);
  std::set<std::string> asked{text(failing)};
  const auto fails = [&](const Case& c) {
    if (result_dtype(c) != dtype || !asked.insert(text(c)).second) return false;
    ++shrunk.tries;
    return still_fails(c);
  };

  for (bool progress = true; progress && shrunk.tries < budget;) {
    progress = false;
    for (const Aspect& simpler : aspects(shrunk.smallest)) {
      auto tree = rc::shrinkable::shrinkRecur(Case(shrunk.smallest), settling(simpler));
      auto branches = tree.shrinks();
      while (shrunk.tries < budget) {
        auto next = branches.next();
        if (!next) break;
        if (!fails(next->value())) continue;
        shrunk.smallest = next->value();
        branches = next->shrinks();
        progress = true;
      }
    }
  }
  return shrunk;
}

}  // namespace assay
