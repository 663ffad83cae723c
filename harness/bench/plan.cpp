#include <algorithm>
#include <map>

#include "../registry/select.h"
#include "bench.h"

namespace assay {
namespace {

// The library that a kernel is of, on the processor or on a GPU: "onednn" of "onednn.avx2".
std::string family(const Kernel& kernel) {
  return kernel.on_device ? kernel.name : kernel.name.substr(0, kernel.name.find('.'));
}

// On the processor, whose time says nothing about a GPU's.
bool emulates(const Kernel& kernel) { return family(kernel) == "cuda" && !kernel.on_device; }

// By default, of kernels that differ by instruction set only the one with the widest vectors that run here, so that rows say what a
// user of each library gets, be it the fastest or not. A plugin's kernels are all of interest.
std::vector<const Kernel*> widest(const std::vector<const Kernel*>& kernels) {
  std::map<std::string, const Kernel*> best;
  std::vector<const Kernel*> chosen;
  for (const Kernel* k : kernels) {
    if (k->name.starts_with(kPluginPrefix)) {
      chosen.push_back(k);
      continue;
    }
    const Kernel*& known = best[family(*k)];
    const bool better = known == nullptr || (known->unavailable.empty() ? k->peer && k->unavailable.empty()
                                                                        : k->unavailable.empty());
    if (better) known = k;
  }
  for (const auto& [name, kernel] : best) chosen.push_back(kernel);
  // In the registry's order: ours first.
  std::vector<const Kernel*> ordered;
  for (const Kernel* k : kernels)
    if (std::ranges::find(chosen, k) != chosen.end()) ordered.push_back(k);
  return ordered;
}

std::vector<const Kernel*> kernels_for(const Registry& registry, const Operator& op,
                                       const std::vector<std::string>& impls) {
  std::vector<const Kernel*> all = registry.kernels_of(op);
  if (impls.empty()) {
    std::erase_if(all,
                  [](const Kernel* k) { return emulates(*k) || (k->on_device && !k->unavailable.empty()); });
    return widest(all);
  }
  std::erase_if(all, [&](const Kernel* k) { return !selects(impls, k->name); });
  return all;
}

// Whether one process can have both; then `to` is both.
bool merge(std::vector<std::string>& to, const std::vector<std::string>& more) {
  std::vector<std::string> both = to;
  for (const std::string& variable : more) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    const auto same = std::ranges::find_if(to, [&](const std::string& v) { return v.starts_with(name); });
    if (same == to.end())
      both.push_back(variable);
    else if (*same != variable)
      return false;
  }
  to = both;
  return true;
}

struct Process {
  std::vector<std::string> variables;
  std::vector<const Kernel*> kernels;
};

// As few processes as will do for kernels that each want variables of their own.
std::vector<Process> processes(const std::vector<const Kernel*>& kernels) {
  std::vector<Process> all;
  for (const Kernel* k : kernels) {
    const auto fits =
        std::ranges::find_if(all, [&](Process& p) { return merge(p.variables, k->environment.variables); });
    if (fits != all.end())
      fits->kernels.push_back(k);
    else
      all.push_back({k->environment.variables, {k}});
  }
  for (Process& p : all) std::ranges::sort(p.variables);
  if (all.empty()) all.emplace_back();
  return all;
}

}  // namespace

const Kernel* narrower(const Registry& registry, const Kernel& kernel) {
  const Kernel* before = nullptr;
  if (!kernel.peer || kernel.name.starts_with(kPluginPrefix)) return nullptr;
  for (const Kernel* k : registry.kernels_of(*kernel.op)) {
    if (k == &kernel) return before;
    if (k->unavailable.empty() && family(*k) == family(kernel)) before = k;
  }
  return nullptr;
}

std::optional<BenchGroup> with_other(const BenchGroup& group, std::size_t i, const Kernel& other) {
  BenchGroup changed = group;
  changed.kernels[i] = &other;
  changed.variables.clear();
  for (const Kernel* k : changed.kernels)
    if (!merge(changed.variables, k->environment.variables)) return std::nullopt;
  std::ranges::sort(changed.variables);
  return changed;
}

std::string untimed_because(const Kernel& kernel, Cache cache) {
  if (!kernel.unavailable.empty()) return kernel.unavailable;
  if (emulates(kernel)) return "not timed: an emulation's time says nothing about a GPU's";
  if (kernel.on_device && cache == Cache::l2)
    return "not timed: a GPU has one cache, which all of it shares; cold there is --cache dram";
  return "";
}

std::vector<BenchGroup> plan(const Registry& registry, const BenchOptions& options) {
  std::vector<BenchGroup> groups;
  for (const int threads : options.threads)
    for (const Cache cache : options.caches)
      for (const BenchCase& bench_case : options.cases) {
        std::vector<const Kernel*> anywhere, missing, particular, device;
        for (const Kernel* k : kernels_for(registry, *bench_case.c.op, options.impls)) {
          if (!untimed_because(*k, cache).empty())
            missing.push_back(k);
          else if (k->on_device)
            device.push_back(k);
          else
            (k->environment.variables.empty() ? anywhere : particular).push_back(k);
        }
        for (const Process& p : processes(particular)) {
          BenchGroup g{&bench_case, cache, threads, anywhere, missing, p.variables};
          g.kernels.insert(g.kernels.end(), p.kernels.begin(), p.kernels.end());
          missing.clear();
          if (!g.kernels.empty() || !g.missing.empty()) groups.push_back(std::move(g));
        }
        if (threads == options.threads.front())  // a GPU has threads of its own
          for (const Process& p : processes(device))
            if (!p.kernels.empty())
              groups.push_back({&bench_case, cache, threads, p.kernels, {}, p.variables});
      }
  // Processes are started as rarely as can be.
  std::ranges::stable_sort(groups, [](const BenchGroup& a, const BenchGroup& b) {
    return std::tie(a.threads, a.variables) < std::tie(b.threads, b.variables);
  });
  return groups;
}

}  // namespace assay
