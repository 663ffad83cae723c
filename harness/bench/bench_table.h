// Timed rows as text for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench.h"

namespace assay {

// A paragraph for each case: its kernels, fastest first, with their times, their shares of the limit, and ours beside the best
// peer.
std::string case_text_of(const std::vector<BenchRow>& rows, bool colour);

// What to remember of all of them: how often ours is faster than the best peer, the ten places with most room, what was not
// measured. `planned`: how many rows there would have been, where an interrupt left some out.
std::string summary_of(const std::vector<BenchRow>& rows, bool colour, std::size_t planned = 0);

// "12.3 µs"
std::string time_of_call(double ns);

}  // namespace assay
