#include "select.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "parts.h"
#include "vocabulary/case.h"
#include "vocabulary/operators.h"

namespace assay {

namespace {

bool excludes(const std::string& glob) { return glob.starts_with('!'); }
// What it says of names, without the "!".
bool matches(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str() + (excludes(glob) ? 1 : 0), name.c_str(), 0) == 0;
}

}  // namespace

bool names(const std::vector<std::string>& globs, const std::string& name) {
  return std::ranges::any_of(globs, [&](const std::string& g) { return !excludes(g) && matches(g, name); });
}

bool names_literally(const std::vector<std::string>& globs, const std::string& name) {
  return std::ranges::find(globs, name) != globs.end();
}

bool selects(const std::vector<std::string>& globs, const std::string& name, const std::string& other) {
  const auto leaves_out = [&](const std::string& g) {
    return excludes(g) && (matches(g, name) || matches(g, other));
  };
  if (std::ranges::any_of(globs, leaves_out)) return false;
  return std::ranges::all_of(globs, excludes) || names(globs, name) || names(globs, other);
}
bool selects(const std::vector<std::string>& globs, const std::string& name) {
  return selects(globs, name, name);
}

bool selects_operator(const std::vector<std::string>& globs, const std::string& name) {
  const std::vector<std::string> all = spellings(name);
  const auto is_meant = [&](const std::string& g) {
    return std::ranges::any_of(all, [&](const std::string& spelling) { return matches(g, spelling); });
  };
  if (std::ranges::any_of(globs, [&](const std::string& g) { return excludes(g) && is_meant(g); }))
    return false;
  return std::ranges::all_of(globs, excludes) ||
         std::ranges::any_of(globs, [&](const std::string& g) { return !excludes(g) && is_meant(g); });
}

bool selects_torch(const std::vector<std::string>& globs) {
  return selects(globs, "torch") || selects(globs, "torch.cuda");
}

std::vector<const Operator*> select_operators(const std::vector<std::string>& patterns) {
  std::vector<const Operator*> chosen;
  for (const Operator* op : operators())
    if (selects_operator(patterns, std::string(op->schema.name))) chosen.push_back(op);
  for (const std::string& p : patterns) {
    const std::string named = p.substr(excludes(p) ? 1 : 0);
    if (std::ranges::any_of(operators(), [&](const Operator* op) {
          return selects_operator({named}, std::string(op->schema.name));
        }))
      continue;
    if (operator_in(p).size() < p.size())
      throw SelectionError(
          fmt::format("no operator matches \"{}\"; to run a case, write --case \"{}\"", p, p));
    throw SelectionError(named.find_first_of("*?[") == std::string::npos
                             ? no_operator(named)
                             : fmt::format("no operator matches \"{}\" (`assay ops` lists them)", p));
  }
  if (chosen.empty())
    throw SelectionError(fmt::format("\"{}\" leaves no operator", fmt::join(patterns, "\" \"")));
  return chosen;
}

void check_patterns(const Registry& registry, const std::vector<std::string>& globs,
                    const std::vector<std::string>& patterns) {
  if (globs.empty()) return;
  for (const std::string& p : patterns)
    if (std::ranges::none_of(
            operators(),
            [&](const Operator* op) { return selects_operator({p}, std::string(op->schema.name)); }) &&
        std::ranges::any_of(registry.kernels(), [&](const Kernel& k) { return selects({p}, k.name); }))
      throw SelectionError(fmt::format(
          "no operator matches \"{}\", which names a kernel: kernels are comma-separated, --impl \"{},{}\"",
          p, fmt::join(globs, ","), p));
}

namespace {

// The nearest ones first, and no more than can be read.
std::string listed(const std::set<std::string>& names, std::string_view meant) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> all(names.begin(), names.end());
  if (all.size() <= kMost) return fmt::format("{}", fmt::join(all, ", "));
  std::ranges::stable_sort(all, {}, [&](const std::string& name) { return edit_distance(name, meant); });
  const std::size_t more = all.size() - kMost;
  all.resize(kMost);
  return fmt::format("{}, and {} more, which `assay ops NAME` lists", fmt::join(all, ", "), more);
}

}  // namespace

std::string operators_of_plugins(const Registry& registry) {
  std::set<std::string> names;
  for (const Kernel& k : registry.kernels())
    if (k.name.starts_with(kPluginPrefix)) names.emplace(k.op->schema.name);
  return listed(names, "");
}

void check_impls(const Registry& registry, const std::vector<const Operator*>& operators,
                 const std::vector<std::string>& globs) {
  std::set<std::string> all;
  for (const Operator* op : operators)
    for (const Kernel* k : registry.kernels_of(*op)) all.insert(k->name);
  for (const std::string& g : globs)
    if (std::ranges::none_of(all, [&](const std::string& n) { return matches(g, n); })) {
      // PyTorch's are in the registry only where they are asked for.
      if (excludes(g) && (matches(g, "torch") || matches(g, "torch.cuda"))) continue;
      if (const auto unbuilt = unbuilt_parts(registry.program(), g.substr(excludes(g) ? 1 : 0));
          !unbuilt.empty()) {
        if (excludes(g)) continue;
        throw NotBuilt(fmt::format("no kernel that is here matches --impl \"{}\": {}", g,
                                   how_to_build(*unbuilt.front())));
      }
      if (std::ranges::any_of(operators, [](const Operator* op) { return op->schema.ns == "aten"; }))
        all.insert("torch");
      const std::string of_plugins = g.starts_with(kPluginPrefix) ? operators_of_plugins(registry) : "";
      throw SelectionError(fmt::format("no kernel matches --impl \"{}\"; there are: {}{}", g, listed(all, g),
                                       of_plugins.empty() ? "" : "; the plugin has " + of_plugins));
    }
  if (!globs.empty() && std::ranges::none_of(all, [&](const std::string& n) { return selects(globs, n); }))
    throw SelectionError(fmt::format("--impl \"{}\" leaves no kernel; there are: {}", fmt::join(globs, ","),
                                     listed(all, globs.front())));
}

}  // namespace assay
