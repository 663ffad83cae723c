#include "met.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr int kGiveUp = 3;

template <class Function>  // (one, other)
void each_pair(const std::vector<std::size_t>& values, const Function& function) {
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t k = i + 1; k < values.size(); ++k) function(values[i], values[k]);
}

}  // namespace

Pairs::Pairs(const Universe& universe)
    : n_(universe.values.size()), wanted_(n_ * n_), met_(n_ * n_), tries_(n_ * n_), doubts_(n_ * n_) {
  for (std::size_t a = 0; a < n_; ++a)
    for (std::size_t b = a + 1; b < n_; ++b) {
      wanted_[at(a, b)] = universe.should_meet(a, b);
      met_[at(a, b)] = !wanted_[at(a, b)];
    }
}

bool Pairs::is_open(std::size_t a, std::size_t b) const {
  return a != b && !met_[at(a, b)] && tries_[at(a, b)] < kGiveUp;
}

std::size_t Pairs::degree(std::size_t a) const {
  std::size_t n = 0;
  for (std::size_t b = 0; b < n_; ++b) n += is_open(a, b) ? 1 : 0;
  return n;
}

std::vector<std::pair<std::size_t, std::size_t>> Pairs::open() const {
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (std::size_t a = 0; a < n_; ++a)
    for (std::size_t b = a + 1; b < n_; ++b)
      if (is_open(a, b)) all.emplace_back(a, b);
  return all;
}

void Pairs::doubt(const std::vector<std::size_t>& chosen, const std::vector<std::size_t>& had) {
  each_pair(chosen, [&](std::size_t a, std::size_t b) {
    doubts_[at(a, b)] = static_cast<std::uint8_t>(std::min(doubts_[at(a, b)] + 1, 3));
  });
  each_pair(had, [&](std::size_t a, std::size_t b) { doubts_[at(a, b)] = 0; });
}

std::size_t Pairs::would_be_new(const std::vector<std::size_t>& values) const {
  std::size_t fresh = 0;
  each_pair(values, [&](std::size_t a, std::size_t b) { fresh += met_[at(a, b)] ? 0 : 1; });
  return fresh;
}

void Pairs::take(const std::vector<std::size_t>& values) {
  each_pair(values, [&](std::size_t a, std::size_t b) { met_[at(a, b)] = true; });
}

Triples::Triples(const Universe& universe) {
  const std::size_t n = universe.values.size();
  met_.resize(n * (n + 1) * (n + 2) / 6);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b)
      for (std::size_t c = b + 1; c < n; ++c)
        met_[at(a, b, c)] =
            !(universe.should_meet(a, b) && universe.should_meet(a, c) && universe.should_meet(b, c));
}

std::size_t Triples::at(std::size_t a, std::size_t b, std::size_t c) {
  std::array sorted{a, b, c};
  std::ranges::sort(sorted);
  const auto [x, y, z] = sorted;
  return x + y * (y - 1) / 2 + z * (z - 1) * (z - 2) / 6;  // x < y < z: how many threes stand before
}

std::size_t Triples::would_be_new(std::size_t value, const std::vector<std::size_t>& others) const {
  std::size_t fresh = 0;
  each_pair(others, [&](std::size_t a, std::size_t b) { fresh += is_open(value, a, b) ? 1 : 0; });
  return fresh;
}

std::size_t Triples::would_be_new(const std::vector<std::size_t>& values) const {
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    each_pair({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i)},
              [&](std::size_t a, std::size_t b) { fresh += is_open(values[i], a, b) ? 1 : 0; });
  return fresh;
}

void Triples::take(const std::vector<std::size_t>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    each_pair({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i)},
              [&](std::size_t a, std::size_t b) { met_[at(values[i], a, b)] = true; });
}

}  // namespace assay
