// Which values of a universe met in the cases of one covering array: two of them, and three.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "universe.h"

namespace assay {

class Pairs {
 public:
  explicit Pairs(const Universe& universe);

  // Not met, and not given up: after three tries it is one that cannot be.
  bool is_open(std::size_t a, std::size_t b) const;
  // In a case, and not only because the two need not meet.
  bool have_met(std::size_t a, std::size_t b) const { return met_[at(a, b)] && wanted_[at(a, b)]; }
  // With how many others the value is to meet.
  std::size_t degree(std::size_t a) const;
  std::vector<std::pair<std::size_t, std::size_t>> open() const;

  void tried(std::size_t a, std::size_t b) { ++tries_[at(a, b)]; }
  // Two values were chosen, and what was made has not both. One of a third value may be the reason: if it was so twice, the two are
  // not chosen again together but as the two that a case is made for.
  void doubt(const std::vector<std::size_t>& chosen, const std::vector<std::size_t>& had);
  bool is_doubted(std::size_t a, std::size_t b) const { return doubts_[at(a, b)] >= 2; }

  std::size_t would_be_new(const std::vector<std::size_t>& values) const;
  void take(const std::vector<std::size_t>& values);

 private:
  std::size_t at(std::size_t a, std::size_t b) const { return a < b ? a * n_ + b : b * n_ + a; }

  std::size_t n_;
  std::vector<bool> wanted_, met_;
  std::vector<std::uint8_t> tries_, doubts_;
};

// Threes of which each two should meet.
class Triples {
 public:
  explicit Triples(const Universe& universe);

  bool is_open(std::size_t a, std::size_t b, std::size_t c) const { return !met_[at(a, b, c)]; }
  // How many there are of this value and two of the others that have not met.
  std::size_t would_be_new(std::size_t value, const std::vector<std::size_t>& others) const;
  std::size_t would_be_new(const std::vector<std::size_t>& values) const;
  void take(const std::vector<std::size_t>& values);

 private:
  static std::size_t at(std::size_t a, std::size_t b, std::size_t c);

  std::vector<bool> met_;
};

}  // namespace assay
