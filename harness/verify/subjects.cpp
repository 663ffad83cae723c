#include "subjects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "../generate/check_case.h"
#include "../generate/data.h"
#include "short_run.h"

namespace assay {
namespace {

// The dtype whose rows a case belongs to: that of its first result.
Dtype row_dtype(const Case& c) {
  const Checked checked = check_without_data(c);
  if (!checked.outputs.empty()) return checked.outputs[0].computed_in;
  for (const CaseValue& v : c.arguments)
    if (const auto* t = std::get_if<TensorSpec>(&v)) return t->dtype;
  return Dtype::f32;
}

// Without kernels: those of the operators that are selected, or of the cases that are listed, in the order of these.
std::vector<Chosen> operators_and_dtypes(const VerifyOptions& options) {
  std::vector<Chosen> all;
  if (options.listed.empty()) {
    for (const Operator* op : select_operators(options.patterns))
      for (int i = 0; i < kDtypes; ++i) all.push_back({op, static_cast<Dtype>(i), {}, {}, {}});
  }
  for (std::uint64_t i = 0; i < options.listed.size(); ++i) {
    const Operator* const op = options.listed[i].op;
    const Dtype dtype = row_dtype(options.listed[i]);
    auto at = std::ranges::find_if(all, [&](const Chosen& s) { return s.op == op && s.dtype == dtype; });
    if (at == all.end()) at = all.insert(at, Chosen{op, dtype, {}, {}, {}});
    at->listed.push_back(i);
  }
  return all;
}

std::string no_dtype(const std::vector<const Operator*>& chosen, const std::vector<Dtype>& dtypes) {
  const auto listed = [](const auto& holds) {
    std::vector<std::string_view> names;
    for (int i = 0; i < kDtypes; ++i)
      if (holds(static_cast<Dtype>(i))) names.push_back(name(static_cast<Dtype>(i)));
    return fmt::format("{}", fmt::join(names, ", "));
  };
  const std::string wished = listed([&](Dtype d) { return std::ranges::find(dtypes, d) != dtypes.end(); });
  if (chosen.size() > 1) return fmt::format("none of these operators has {}", wished);
  return fmt::format("{} has no {}, but {}", chosen[0]->schema.name, wished,
                     listed([&](Dtype d) { return chosen[0]->dtypes.contains(d); }));
}

}  // namespace

std::vector<Chosen> subjects(const Registry& registry, const VerifyOptions& options) {
  check_patterns(registry, options.impls, options.patterns);
  std::vector<Chosen> all = operators_and_dtypes(options);
  std::vector<const Operator*> chosen;
  for (const Chosen& s : all)
    if (std::ranges::find(chosen, s.op) == chosen.end()) chosen.push_back(s.op);
  check_impls(registry, chosen, options.impls);
  std::erase_if(all, [&](const Chosen& s) {
    return !s.op->dtypes.contains(s.dtype) ||
           (!options.dtypes.empty() && std::ranges::find(options.dtypes, s.dtype) == options.dtypes.end());
  });
  if (all.empty() && !options.listed.empty() && !options.dtypes.empty())
    throw SelectionError("no case that is listed has results of these dtypes");
  if (all.empty() && options.listed.empty() && !options.dtypes.empty())
    throw NothingToRun(no_dtype(chosen, options.dtypes));
  for (Chosen& s : all)
    for (const Kernel* k : registry.kernels_of(*s.op))
      if (selects(options.impls, k->name))
        (!k->unavailable.empty()                              ? s.unavailable
         : options.is_short && is_left_out(*k, options.impls) ? s.left_out
                                                              : s.kernels)
            .push_back(k);
  std::erase_if(
      all, [](const Chosen& s) { return s.kernels.empty() && s.unavailable.empty() && s.left_out.empty(); });
  return all;
}

std::size_t most_plugin_kernels(const std::vector<Chosen>& subjects) {
  std::ptrdiff_t most = 0;
  for (const Chosen& s : subjects)
    most = std::max(most, std::ranges::count_if(
                              s.kernels, [](const Kernel* k) { return k->name.starts_with(kPluginPrefix); }));
  return static_cast<std::size_t>(most);
}

ShortRun part_that_ran(const std::vector<Chosen>& subjects, const VerifyOptions& options,
                       const std::map<std::uint64_t, std::uint64_t>& done, std::uint64_t chunk, double budget) {
  ShortRun part;
  part.budget = budget;
  part.of = options.cases;
  const auto rows = static_cast<std::uint64_t>(
      std::ranges::count_if(subjects, [](const Chosen& s) { return !s.kernels.empty(); }));
  std::uint64_t of_peers = 0;
  for (const auto& [number, had_it] : done) {
    if (had_it < rows) continue;  // interrupted
    const std::uint64_t cases = std::min(chunk, options.cases - number * chunk);
    part.cases += cases;
    if (number < kPeerRounds) of_peers += cases;
  }
  std::set<std::string> left_out;
  for (const Chosen& s : subjects) {
    for (const Kernel* k : s.left_out) left_out.insert(k->name);
    for (const Kernel* k : s.kernels)
      if (is_sampled(*k, options.impls)) part.sampled[k->name] = of_peers;
  }
  part.left_out.assign(left_out.begin(), left_out.end());
  return part;
}

}  // namespace assay
