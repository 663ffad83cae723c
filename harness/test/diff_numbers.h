// Numbers for tensors that are compared.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace assay::diff {

// So many of a normal distribution, each one of f32.
inline std::vector<double> normal(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> draw;
  std::vector<double> values(n);
  for (double& x : values) x = static_cast<float>(draw(random));
  return values;
}

}  // namespace assay::diff
