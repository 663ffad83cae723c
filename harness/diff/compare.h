// Two tensors of one shape, element by element: how many elements are how far apart, and which.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vocabulary/dtype.h"

namespace assay::diff {

// In order of severity. Two NaN are equal, whatever their bits.
enum class Class : std::uint8_t {
  equal,
  zero_sign,  // 0 and -0
  one_ulp,    // neighbours in the format, or integers that differ by 1
  small,      // up to 16 ulp apart
  large,
  nonfinite,  // NaN or an infinity on one side, and something else on the other
};
inline constexpr int kClasses = 6;
inline constexpr std::array<std::string_view, kClasses> kClassNames{"equal", "zero_sign", "one_ulp",
                                                                    "small", "large",     "nonfinite"};
inline constexpr std::uint64_t kSmall = 16;  // ulp

// Elements as numbers; integers beyond 2^53 lose bits here, not in the comparison.
struct Elements {
  std::span<const std::byte> bytes;  // packed
  Dtype dtype = Dtype::f32;

  std::uint64_t count() const { return bytes.size() / static_cast<std::size_t>(assay::bytes(dtype)); }
  double operator[](std::uint64_t i) const {
    return load(bytes.data() + i * static_cast<std::uint64_t>(assay::bytes(dtype)), dtype);
  }
  // Precondition: these are integers.
  std::int64_t integer(std::uint64_t i) const {
    return load_integer(bytes.data() + i * static_cast<std::uint64_t>(assay::bytes(dtype)), dtype);
  }
};

// The number of steps between neighbours from a to b, in a format that holds both. 0 and -0 are the same
// place. Precondition: both are finite.
std::uint64_t ulp_distance(double a, double b, const Format& format);

struct Extreme {
  std::uint64_t element = 0;
  double a = 0, b = 0;
  std::optional<std::int64_t> integer_a = {}, integer_b = {};  // in full, of a side that has integers
};

// One bit for each element.
class Mask {
 public:
  explicit Mask(std::uint64_t size) : size_(size), words_((size + 63) / 64) {}
  std::uint64_t size() const { return size_; }
  bool operator[](std::uint64_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void set(std::uint64_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  std::uint64_t count() const;

 private:
  std::uint64_t size_;
  std::vector<std::uint64_t> words_;
};

struct Comparison {
  Dtype unit = Dtype::f32;  // the format whose ulp is meant: the coarser one of the two
  std::uint64_t elements = 0;
  std::array<std::uint64_t, kClasses> counts{};
  // [k]: pairs of finite numbers more than 2^(k-1) and at most 2^k ulp apart; [0]: one ulp.
  std::array<std::uint64_t, 65> histogram{};
  Extreme farthest;       // in ulp; of the class `nonfinite`, the first
  std::uint64_t ulp = 0;  // of the farthest of finite numbers
  Extreme widest;         // in |a - b|, of finite numbers
  double difference = 0;  // |a - b| there
  double scale = 0;       // the largest finite |a|
  Class worst = Class::equal;

  std::uint64_t of(Class c) const { return counts[static_cast<std::size_t>(c)]; }
  bool same() const { return worst <= Class::zero_sign; }
};

// Precondition: as many elements on either side. `unit` is the coarser dtype's format; an integer and a floating-point
// tensor are compared as numbers in the floating-point one.
Comparison compare(const Elements& a, const Elements& b);

// The elements of the class, or of one more severe.
Mask elements_from(Class least, const Elements& a, const Elements& b);

}  // namespace assay::diff
