// Choices for one case, drawn from RapidCheck's splittable generator.
//
// Each draw splits off its own generator, so a draw is a pure function of the seed and of how many draws came before
// it. gen::exec, RapidCheck's own way of writing this, keeps its state in globals and must not be used: Draw may be
// used by many threads, each with its own.
#pragma once

#include <rapidcheck/Random.h>

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace assay {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::int64_t range(std::int64_t least, std::int64_t greatest);  // both included
  bool chance(int percent) { return range(0, 99) < percent; }
  // A position in the list of weights, each as likely as its weight says.
  std::size_t weighted(std::initializer_list<int> weights);
  template <class List>
  const auto& pick(const List& list) {
    return *std::next(std::begin(list), range(0, static_cast<std::int64_t>(std::size(list)) - 1));
  }
  std::vector<std::int64_t> permutation(std::size_t n);

 private:
  rc::Random random_;
};

}  // namespace assay
