#include "sample.h"

#include <algorithm>
#include <bit>

namespace assay::diff {
namespace {

// A share of the elements that pass by, which keeps no step with anything periodic: SplitMix64 of their number.
class Spread {
 public:
  Spread(std::uint64_t there, std::uint64_t wanted)
      : share_(there <= wanted ? 1 : static_cast<double>(wanted) / static_cast<double>(there)) {}
  bool take() {
    if (share_ >= 1) return true;
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53 < share_;
  }

 private:
  double share_;
  std::uint64_t state_ = 0;
};

}  // namespace

Sample sample(const Mask& set, std::size_t most) {
  Sample s;
  const std::uint64_t in = set.count(), out = set.size() - in;
  s.all = set.size() <= most;
  const std::uint64_t half = s.all ? set.size() : most / 2;
  Spread of_set(in, std::max(half, most - std::min<std::uint64_t>(out, half)));
  Spread of_others(out, std::max(half, most - std::min<std::uint64_t>(in, half)));
  std::vector<bool> sides;
  std::uint64_t taken_in = 0, taken_out = 0;
  for (std::uint64_t i = 0; i < set.size(); ++i) {
    const bool is_in = set[i];
    if (!(is_in ? of_set : of_others).take()) continue;
    s.elements.push_back(i);
    sides.push_back(is_in);
    ++(is_in ? taken_in : taken_out);
  }
  s.in_set.assign((s.size() + 63) / 64, 0);
  for (std::size_t k = 0; k < s.size(); ++k)
    if (sides[k]) s.in_set[k / 64] |= std::uint64_t{1} << (k % 64);
  if (taken_in > 0) s.weight_in = static_cast<double>(in) / static_cast<double>(taken_in);
  if (taken_out > 0) s.weight_out = static_cast<double>(out) / static_cast<double>(taken_out);
  return s;
}

Score score(const Sample& s, const Bits& condition) {
  std::uint64_t named = 0, named_in = 0, in = 0;
  for (std::size_t w = 0; w < condition.size(); ++w) {
    named += static_cast<std::uint64_t>(std::popcount(condition[w]));
    named_in += static_cast<std::uint64_t>(std::popcount(condition[w] & s.in_set[w]));
    in += static_cast<std::uint64_t>(std::popcount(s.in_set[w]));
  }
  return {static_cast<double>(named_in) * s.weight_in, static_cast<double>(named - named_in) * s.weight_out,
          static_cast<double>(in) * s.weight_in};
}

Bits both(const Bits& a, const Bits& b) {
  Bits c(a.size());
  for (std::size_t w = 0; w < a.size(); ++w) c[w] = a[w] & b[w];
  return c;
}

}  // namespace assay::diff
