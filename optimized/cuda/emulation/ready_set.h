// Which threads of a block can go on, and the numbers that decide where the order is random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "launch.h"

namespace assay::cuda::emulation {

// xorshift64*, Vigna 2016: orders and poison need no better one.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {}
  std::uint64_t operator()() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  void fill(std::byte* memory, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 8) {
      const std::uint64_t r = (*this)();
      std::memcpy(memory + i, &r, bytes - i < 8 ? bytes - i : 8);
    }
  }

 private:
  std::uint64_t state_;
};

// Picks one in the order asked for.
class ReadySet {
 public:
  void clear(unsigned threads) { words_.assign((threads + 63) / 64, 0); }
  void add(unsigned thread) { words_[thread / 64] |= std::uint64_t{1} << thread % 64; }
  void add_lanes(unsigned first, unsigned mask) { words_[first / 64] |= std::uint64_t{mask} << first % 64; }
  // A thread, which is no longer in the set, or -1.
  int take(Order order, Random& random);

 private:
  int first_from(std::size_t word) const;
  std::vector<std::uint64_t> words_;
};

}  // namespace assay::cuda::emulation
