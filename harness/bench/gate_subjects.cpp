#include "gate_subjects.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "../registry/select.h"

namespace assay {
namespace {

// By its plugin's path.
bool own_kernel(const Kernel& k, const std::string& library) {
  const std::vector<std::string>& a = k.environment.arguments;
  return a.size() == 2 && a[0] == "--plugin" && a[1] == library;
}

std::vector<const Kernel*> kernels_of(const Registry& registry, const std::string& library) {
  std::vector<const Kernel*> all;
  for (const Kernel& k : registry.kernels())
    if (own_kernel(k, library)) all.push_back(&k);
  return all;
}

int level_of(const Kernel& k) {
  constexpr std::string_view kLevels[] = {"baseline", "sse41", "avx2", "avx512", "amx"};
  for (int i = 4; i >= 0; --i)
    if (k.table_name.find(kLevels[i]) != std::string::npos) return i;
  return -1;
}

bool is_named(const Kernel& k, const std::vector<std::string>& globs) {
  return selects(globs, k.table_name, k.name);
}

void check_choice(const GateOptions& options, const std::vector<const Kernel*>& all) {
  std::vector<const Kernel*> wanted;
  std::set<std::string> names;
  for (const Kernel* k : all)
    if (std::ranges::any_of(options.bench.cases, [&](const BenchCase& b) { return b.c.op == k->op; })) {
      wanted.push_back(k);
      names.insert(k->table_name);
    }
  if (wanted.empty())
    throw SelectionError(fmt::format("{} has no kernel of {}{}", options.candidate,
                                     options.bench.cases.front().c.op->schema.name,
                                     options.bench.cases.size() > 1 ? " and the other cases" : ""));
  for (const std::string& glob : options.bench.impls)
    if (!glob.starts_with('!') &&
        std::ranges::none_of(wanted, [&](const Kernel* k) { return is_named(*k, {glob}); }))
      throw SelectionError(fmt::format("no kernel of {} matches --impl \"{}\"; there are: {}",
                                       options.candidate, glob, fmt::join(names, ", ")));
  std::erase_if(wanted, [&](const Kernel* k) { return !is_named(*k, options.bench.impls); });
  if (wanted.empty())
    throw SelectionError(fmt::format("--impl \"{}\" leaves no kernel of {}; there are: {}",
                                     fmt::join(options.bench.impls, ","), options.candidate,
                                     fmt::join(names, ", ")));
  if (std::ranges::none_of(wanted, [](const Kernel* k) { return k->unavailable.empty(); }))
    throw std::runtime_error(fmt::format("nothing can be compared: {} does not run here: {}",
                                         wanted.front()->table_name, wanted.front()->unavailable));
}

std::vector<const Kernel*> chosen(const GateOptions& options, const std::vector<const Kernel*>& all,
                                  const Operator& op) {
  std::vector<const Kernel*> some;
  for (const Kernel* k : all)
    if (k->op == &op && k->unavailable.empty() && is_named(*k, options.bench.impls)) some.push_back(k);
  if (!options.bench.impls.empty()) return some;
  int widest = -1;
  for (const Kernel* k : some) widest = std::max(widest, level_of(*k));
  std::erase_if(some, [&](const Kernel* k) { return level_of(*k) >= 0 && level_of(*k) < widest; });
  return some;
}

}  // namespace

std::vector<GateSubject> gate_subjects(const GateOptions& options, const Registry& candidate,
                                       const Registry& base) {
  const std::vector<const Kernel*> theirs = kernels_of(base, options.base);
  const std::vector<const Kernel*> ours = kernels_of(candidate, options.candidate);
  check_choice(options, ours);
  std::vector<GateSubject> subjects;
  for (const int threads : options.bench.threads)
    for (const Cache cache : options.bench.caches)
      for (const BenchCase& bench_case : options.bench.cases)
        for (const Kernel* k : chosen(options, ours, *bench_case.c.op)) {
          const auto same = std::ranges::find_if(
              theirs, [&](const Kernel* b) { return b->op == k->op && b->table_name == k->table_name; });
          subjects.push_back({&bench_case, k, same == theirs.end() ? nullptr : *same, cache, threads});
        }
  return subjects;
}

}  // namespace assay
