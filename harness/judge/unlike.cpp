#include "unlike.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "../model/strided_copy.h"

namespace assay {
namespace {

bool same_bits(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}

// The numbers of elements whose bits are not the same.
template <class T>
std::vector<std::size_t> differing_as(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  constexpr std::size_t kAtOnce = 64;
  const std::size_t n = a.size() / sizeof(T);
  std::vector<std::size_t> all;
  std::array<std::size_t, kAtOnce> found;
  for (std::size_t begin = 0; begin < n; begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, n);
    if (std::memcmp(a.data() + begin * sizeof(T), b.data() + begin * sizeof(T), (end - begin) * sizeof(T)) ==
        0)
      continue;
    std::size_t count = 0;
    for (std::size_t i = begin; i < end; ++i) {
      T x, y;
      std::memcpy(&x, a.data() + i * sizeof(T), sizeof(T));
      std::memcpy(&y, b.data() + i * sizeof(T), sizeof(T));
      found[count] = i;
      count += x != y ? 1 : 0;
    }
    all.insert(all.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}
std::vector<std::size_t> differing(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                                   std::size_t element) {
  switch (element) {
    case 1:
      return differing_as<std::uint8_t>(a, b);
    case 2:
      return differing_as<std::uint16_t>(a, b);
    case 4:
      return differing_as<std::uint32_t>(a, b);
    default:
      return differing_as<std::uint64_t>(a, b);
  }
}

}  // namespace

std::vector<std::size_t> unlike_reference(Expectation& expectation, int output,
                                          const std::vector<std::byte>& packed) {
  const Dtype dtype = expectation.call().outputs[static_cast<std::size_t>(output)].dtype;
  const std::vector<double>& values = expectation.values(output);
  const auto size = static_cast<std::size_t>(bytes(dtype));
  std::vector<std::size_t> others;
  if (is_float(dtype)) {
    const std::vector<std::byte>& rounded = expectation.rounded(output);
    if (same_bytes(packed, rounded)) return others;
    others = differing(packed, rounded, size);
    std::erase_if(others, [&](std::size_t e) {
      return std::isnan(values[e]) && std::isnan(load(packed.data() + e * size, dtype));
    });
    return others;
  }
  // A number beyond the dtype's range would not be itself in memory.
  const Format& f = format(dtype);
  for (std::size_t e = 0; e < values.size(); ++e)
    if (!same_bits(load(packed.data() + e * size, in_memory(dtype)), round_to(values[e], f)))
      others.push_back(e);
  return others;
}

}  // namespace assay
