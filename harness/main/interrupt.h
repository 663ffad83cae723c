// Ctrl-C, SIGTERM, and SIGHUP of a terminal that closes: what was done stays valid.
#pragma once

#include <atomic>
#include <chrono>

#include "../run/lane.h"

namespace assay {

// Of a command that has nothing to write once it was interrupted; and of one that has, whose end nobody should have to force.
inline constexpr std::chrono::milliseconds kEndsAtOnce{1500}, kEndsInOrder{10'000};

// From now on the first signal only sets interrupted(); another one, later, ends the process at once, and so does it that this time has
// passed since the first (0: it does not). SIGHUP stays ignored if it was (nohup).
void catch_interrupts(std::chrono::milliseconds last_resort = {});
const std::atomic<bool>& interrupted();
// Kernels end with the command.
RunOptions until_interrupted();

}  // namespace assay
