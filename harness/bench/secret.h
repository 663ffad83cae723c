// A number that no kernel can foresee. Which calls of a kernel that is timed are looked at, and which elements, must not follow from
// anything that it can know: neither from the run's seed nor from sizes. It is the one thing in the program that --seed does not decide;
// what is found is described by itself.
#pragma once

#include <cstdint>
#include <random>

namespace assay {

inline std::uint64_t secret_seed() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

}  // namespace assay
