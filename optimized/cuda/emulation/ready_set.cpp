#include "ready_set.h"

#include <bit>

namespace assay::cuda::emulation {

int ReadySet::first_from(std::size_t word) const {
  for (; word < words_.size(); ++word)
    if (words_[word] != 0) return static_cast<int>(word * 64) + std::countr_zero(words_[word]);
  return -1;
}

int ReadySet::take(Order order, Random& random) {
  int found = -1;
  if (order == Order::reverse) {
    for (std::size_t i = words_.size(); i-- > 0 && found < 0;)
      if (words_[i] != 0) found = static_cast<int>(i * 64) + 63 - std::countl_zero(words_[i]);
  } else if (order == Order::random) {
    // The first one after a place that is any.
    const std::uint64_t any = random();
    const std::size_t word = any % words_.size();
    const std::uint64_t behind = words_[word] & ~std::uint64_t{0} << (any >> 32) % 64;
    found = behind != 0 ? static_cast<int>(word * 64) + std::countr_zero(behind) : first_from(word + 1);
    if (found < 0) found = first_from(0);
  } else {
    found = first_from(0);
  }
  if (found >= 0) words_[static_cast<std::size_t>(found) / 64] &= ~(std::uint64_t{1} << found % 64);
  return found;
}

}  // namespace assay::cuda::emulation
