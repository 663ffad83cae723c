// Ctrl-C, SIGTERM, and SIGHUP of a terminal that closes: what was done stays valid.
#pragma once

#include <atomic>

namespace assay {

// From now on the first signal only sets interrupted(); another one, later, ends the process at once. SIGHUP stays ignored if it
// was (nohup).
void catch_interrupts();
const std::atomic<bool>& interrupted();

}  // namespace assay
