// What a kernel left at work in the timing process when it returned: threads that compute on, and processes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace assay {

// How many other threads of this process compute while this one calls nobody. Waits, as long as 300 ms, until there are none: threads
// that look out for work a while after a call have gone to sleep by then.
std::size_t threads_at_work();

// Processes that this one started, or that their parents left to it, and that have not ended.
std::vector<pid_t> processes_started();

}  // namespace assay
