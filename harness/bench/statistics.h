// What can be said of times that were measured in rounds: medians, with intervals that need no assumption about how the
// noise is distributed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "reports/bench_row.h"

namespace assay {

inline constexpr double kConfidence = 0.99;

// A median and the interval that holds the true one with probability `kConfidence`; infinitely wide where there are too few samples to say
// so (fewer than eight). The interval of the sign test: order statistics chosen by the binomial distribution. The samples must be independent and
// have a common median; nothing else is assumed. NaN for no samples.
Estimate median_interval(std::span<const double> samples, double confidence = kConfidence);

// The ratio b/a, from rounds in which both were measured one right after the other: the exponential of the estimate of
// ln(b/a). Above 1: b is slower. Precondition: as many of one as of the other, all above 0.
Estimate ratio_interval(std::span<const double> a, std::span<const double> b,
                        double confidence = kConfidence);

// ln(b/a) of each round.
std::vector<double> log_ratios(std::span<const double> a, std::span<const double> b);

// The mean of a few numbers with Student's interval, which holds the true one with probability `kConfidence`: for samples that are
// medians themselves. Infinitely wide for fewer than two.
Estimate mean_interval(std::span<const double> samples);

// What a comparison by these logarithms of ratios would find in 80% of tries: the threshold, and what the noise of this row
// hides beside it. As a ratio less one: 0.03 is a change by 3%.
double detectable_effect(std::span<const double> log_ratios, double threshold);
// The same of what so many processes must agree on, where some of them had these medians.
double detectable_between(std::span<const double> medians, std::size_t processes, double threshold);

// The middle of |x - median|, times what makes it the standard deviation of normal noise.
double spread(std::span<const double> samples);

}  // namespace assay
