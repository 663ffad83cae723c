#include "draw.h"

#include <rapidcheck/Gen.h>
#include <rapidcheck/gen/Numeric.h>

#include <numeric>
#include <utility>

namespace assay {

std::int64_t Draw::range(std::int64_t least, std::int64_t greatest) {
  return rc::gen::inRange<std::int64_t>(least, greatest + 1)(random_.split(), rc::kNominalSize).value();
}

std::size_t Draw::weighted(std::initializer_list<int> weights) {
  std::int64_t left = range(0, std::accumulate(weights.begin(), weights.end(), std::int64_t{0}) - 1);
  std::size_t i = 0;
  for (const int weight : weights) {
    if (left < weight) break;
    left -= weight;
    ++i;
  }
  return i;
}

std::vector<std::int64_t> Draw::permutation(std::size_t n) {
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = n; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(range(0, static_cast<std::int64_t>(i) - 1))]);
  return order;
}

}  // namespace assay
