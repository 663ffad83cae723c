// In a worker: turns a fatal signal, and exit(), into a record that the harness can read.
#pragma once

#include "protocol.h"

namespace assay {

// Signals are caught on a stack of their own, so that a stack overflow is caught too. The process ends at once.
void install_crash_handlers(Crash& crash);

}  // namespace assay
