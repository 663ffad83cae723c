// A zygote once its kernels are loaded: it forks workers for the lanes, looks at their forbidden calls, and tells the lanes how each one ended.
#pragma once

#include <csignal>

#include "lane.h"

namespace assay {

// The exit status of a zygote that cannot go on.
inline constexpr int kWorkerFailed = 1;

// The set of this signal alone.
sigset_t one_signal(int signal);

// Answers the harness's requests, which come from `socket`, until it is gone; then ends what is left of its workers. Returns the process's
// exit status. `before` are the signals that were blocked when the process began. Precondition: a single-threaded process with SIGCHLD
// blocked, whose descendants become its children (strays.h).
int serve_requests(int socket, WorkerTable table, const sigset_t& before);

}  // namespace assay
