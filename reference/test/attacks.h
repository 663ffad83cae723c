// Whether what conforming kernels may give lies inside the interval: the adversary's results of one call.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "random_call.h"

namespace assay::testing {

struct Worst {
  double ratio = 0;
  long elements = 0;
  long undecidable = 0;
  long wide = 0;  // more than one result is admitted
};

inline std::string describe(const Interval& i) {
  char text[200];
  std::snprintf(text, sizeof text, "[%.17g, %.17g] around %.17g%s%s%s%s", i.lower, i.upper, i.value,
                i.nan ? " NaN" : "", i.positive_infinity ? " +inf" : "", i.negative_infinity ? " -inf" : "",
                i.exact_zero_sign ? " signed zero" : "");
  return text;
}

inline constexpr Attack::Rounding kRoundings[] = {Attack::Rounding::up, Attack::Rounding::down,
                                                  Attack::Rounding::random_sign, Attack::Rounding::uniform,
                                                  Attack::Rounding::nearest};

// Attacks every element of one call in every way. Returns false, with the reason, at the first escape.
inline ::testing::AssertionResult withstands(RandomCall& c, const Contract& contract, std::uint64_t seed,
                                             Worst& worst, int most_elements = 24) {
  for (int output = 0; output < static_cast<int>(c.call.outputs().size()); ++output) {
    const std::int64_t numel = c.call.numel(output);
    const std::int64_t step = std::max<std::int64_t>(1, numel / most_elements);
    for (std::int64_t element = 0; element < numel; element += step) {
      const Interval interval = c.evaluation->interval(output, element, contract);
      ++worst.elements;
      worst.undecidable += interval.undecidable();
      worst.wide += interval.lower < interval.upper;
      for (const Attack::Rounding rounding : kRoundings)
        for (const bool shuffle : {false, true})
          for (const bool fuse : {false, true}) {
            const Attack attack{rounding, shuffle, fuse, seed};
            const double result = c.evaluation->attacked(output, element, contract, attack);
            if (!interval.contains(result))
              return ::testing::AssertionFailure()
                     << c.text << " result " << output << " element " << element << " rounding "
                     << static_cast<int>(rounding) << " shuffle " << shuffle << " fuse " << fuse << ": "
                     << std::hexfloat << result << std::defaultfloat << " = " << result << " is outside "
                     << describe(interval);
            const double ratio = interval.error_over_bound(result);
            if (std::isfinite(ratio) && interval.lower < interval.upper)
              worst.ratio = std::max(worst.ratio, ratio);
          }
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace assay::testing
