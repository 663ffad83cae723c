#include "recovered.h"

#include <algorithm>
#include <cmath>

namespace assay::diagnose {
namespace {

constexpr double kNearOne = 0x1p-6;

}  // namespace

bool gives_all(const std::vector<Inverted>& inverted) {
  return std::ranges::any_of(
      inverted, [](const Inverted& i) { return i.argument != "the result" && i.reproduced >= kAllOfThem; });
}

bool gives_all_with_few(const std::vector<Inverted>& inverted) {
  return std::ranges::any_of(inverted,
                             [](const Inverted& i) { return !i.dimension && i.reproduced >= kAllOfThem; });
}

bool is_recovered_otherwise(const std::vector<Inverted>& inverted) {
  return std::ranges::any_of(inverted, [](const Inverted& i) {
    return i.argument != "the result" || !i.dimension ||
           !std::ranges::all_of(i.values, [](double x) { return std::fabs(x - 1) < kNearOne; });
  });
}

}  // namespace assay::diagnose
