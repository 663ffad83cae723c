#include "covering_order.h"

#include <algorithm>
#include <map>
#include <string>

#include "case_classes.h"
#include "cases.h"

namespace assay {

std::vector<std::uint64_t> covering_order(const Operator& op, Dtype result_dtype, std::uint64_t seed,
                                          std::uint64_t cases) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::vector<std::size_t>> classes(cases);  // of each case
  for (std::uint64_t i = 0; i < cases; ++i)
    for (const std::string& name : classes_of(generate(op, result_dtype, seed, i)))
      classes[i].push_back(numbers.try_emplace(name, numbers.size()).first->second);

  std::vector<std::uint64_t> order, left(cases);
  for (std::uint64_t i = 0; i < cases; ++i) left[i] = i;
  // Round after round, always the case next that has the most classes that are new in this round; of several the first.
  std::vector<bool> seen(numbers.size());
  const auto fresh = [&](std::uint64_t i) {
    return std::ranges::count_if(classes[i], [&](std::size_t c) { return !seen[c]; });
  };
  while (!left.empty()) {
    const auto best = std::ranges::max_element(left, {}, fresh);
    if (fresh(*best) == 0) {
      seen.assign(seen.size(), false);
      continue;
    }
    for (const std::size_t c : classes[*best]) seen[c] = true;
    order.push_back(*best);
    left.erase(best);
  }
  return order;
}

}  // namespace assay
