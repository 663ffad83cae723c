#include "universe.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "check_case.h"
#include "families.h"
#include "random.h"
#include "random_case.h"

namespace assay {
namespace {

constexpr std::uint64_t kSamples = 240;  // random cases from which the values of factors are learned

bool is_of_tensors(const std::string& factor) {
  return std::ranges::any_of(std::array{"size ", "rank ", "layout ", "broadcast ", "window "},
                             [&](const char* start) { return factor.starts_with(start); });
}

bool is_empty(const Universe::Value& v) { return v.name == "0" && v.factor.starts_with("size "); }

std::vector<Universe> learned_universes(const Operator& op, Dtype dtype) {
  const auto& alternatives = shape_rule(op).alternatives;
  std::vector<std::map<std::string, std::set<std::string>>> seen(alternatives.size());
  const std::uint64_t key = mix(hash(op.schema.name), static_cast<std::uint64_t>(dtype));
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const Case c = random_case(op, dtype, mix(key, i), false);
    if (!check_case(c).ok()) continue;
    const ShapeMatch match = match_case(c);
    for (const auto& [factor, name] : factors_of(c))
      seen[static_cast<std::size_t>(match.alternative)][factor].insert(name);
  }
  std::vector<Universe> all(alternatives.size());
  for (std::size_t a = 0; a < alternatives.size(); ++a) {
    for (auto& [factor, names] : seen[a])
      if (factor.starts_with("size "))
        for (const SizeClass& c : size_classes()) names.emplace(c.name);
    for (const Family& f : families())
      if (weight_for(op, f) > 0) seen[a]["data"].emplace(f.name);
    for (const auto& [factor, names] : seen[a]) {
      if (names.size() < 2) continue;  // what is always the same meets everything
      all[a].by_factor.emplace_back();
      for (const std::string& name : names) {
        all[a].by_factor.back().push_back(all[a].values.size());
        all[a].values.push_back({factor, name, all[a].by_factor.size() - 1});
      }
    }
  }
  return all;
}

}  // namespace

bool Universe::should_meet(std::size_t a, std::size_t b) const {
  const Value &x = values[a], &y = values[b];
  if (x.factor_number == y.factor_number) return false;
  const auto keeps_from = [](const Value& one, const Value& other) {
    return (one.factor == "data" && is_of_tensors(other.factor)) ||
           (is_empty(one) && (other.factor == "data" || is_of_tensors(other.factor)));
  };
  return !keeps_from(x, y) && !keeps_from(y, x);
}

std::vector<std::size_t> Universe::numbers(const Factors& factors) const {
  std::vector<std::size_t> all;
  for (std::size_t v = 0; v < values.size(); ++v)
    if (const auto found = factors.find(values[v].factor);
        found != factors.end() && found->second == values[v].name)
      all.push_back(v);
  return all;
}

const std::vector<Universe>& universes_of(const Operator& op, Dtype dtype) {
  struct Learned {
    std::once_flag once;
    std::vector<Universe> universes;
  };
  static std::mutex mutex;
  static std::map<std::pair<const Operator*, Dtype>, Learned> all;
  Learned* learned = nullptr;
  {
    const std::scoped_lock lock(mutex);
    learned = &all[{&op, dtype}];
  }
  std::call_once(learned->once, [&] { learned->universes = learned_universes(op, dtype); });
  return learned->universes;
}

}  // namespace assay
