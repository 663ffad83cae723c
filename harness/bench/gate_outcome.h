// What a comparison of two builds of a kernel came to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "statistics.h"

namespace assay {

// By the interval of the logarithms of ratios: wholly beyond the threshold on one side, wholly inside, or neither.
SpeedVerdict decide(const Estimate& logarithms, double threshold);

// Whether several processes, by the medians of their logarithms, say so too: five or more by Student's interval, or eight and
// more by the sign test's, which one that was disturbed does not widen. Fewer can lie side by side by chance, where noise has
// two peaks. `over` becomes the interval that decided, or the last one.
bool agree(std::span<const double> medians, SpeedVerdict verdict, double threshold, Estimate& over);

inline constexpr std::size_t kConfirmations = 12;  // at most; of twelve the sign test lets one disagree
// What the processes say in which something that was `found` in another one is tried again: the same, as soon as they agree;
// the opposite, or that nothing has changed, if they do after all of them, because it was that other one which was disturbed;
// or nothing yet. Which of these it will be is never certain before.
std::optional<SpeedVerdict> settle(std::span<const double> medians, SpeedVerdict found, double threshold,
                                   Estimate& over);

// What one process says, by the logarithms of its rounds.
GateOutcome outcome_of(std::span<const double> logarithms, double threshold);

// What is found in one process must hold in several: the same code differs by where it comes to lie, calls of less than a
// microsecond by some percent. `again(n)` times it in the nth other one, and gives the logarithms of its rounds; or none if it
// cannot be timed any more, and then nothing comes of it. The process in which it was found does not count.
GateOutcome confirm(const GateOutcome& found,
                    const std::function<std::optional<std::vector<double>>(std::size_t)>& again);

inline constexpr double kThreshold = 0.01;
inline constexpr double kThresholdDram = 0.03;  // the main memory is shared by more than this process
inline constexpr double kContended = 1.2;  // wall over own time; above, others had the processor

}  // namespace assay
