// Seeded numbers of our own: the same on every machine and in every release, whatever the standard library does.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

// The output function of splitmix64 (Steele, Lea and Flood 2014; constants of Stafford's variant 13).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;

// One number out of two, in which every bit of both counts.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return scramble(scramble(a + kGolden) ^ (b * kGolden));
}

// FNV-1a.
constexpr std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h;
}

// splitmix64, addressed by position instead of advanced: word i is the same whether or not word i-1 was read.
class Stream {
 public:
  constexpr explicit Stream(std::uint64_t seed) : seed_(scramble(seed + kGolden)) {}
  constexpr std::uint64_t word(std::uint64_t i) const { return scramble(seed_ + (i + 1) * kGolden); }
  // Uniform in [0, 1), 53 bits.
  constexpr double unit(std::uint64_t i) const {
    const auto bits = static_cast<std::int64_t>(word(i) >> 11);  // signed: converted by one instruction
    return static_cast<double>(bits) * 0x1p-53;
  }
  // Uniform in [0, n).
  constexpr std::int64_t below(std::uint64_t i, std::int64_t n) const {
    return static_cast<std::int64_t>(
        static_cast<unsigned __int128>(word(i)) * static_cast<std::uint64_t>(n) >> 64);
  }

 private:
  std::uint64_t seed_;
};

}  // namespace assay
