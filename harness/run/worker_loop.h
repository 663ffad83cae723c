// A worker process: runs the entries of its arena's batches until it is killed.
#pragma once

#include "forbidden.h"
#include "lane.h"
#include "protocol.h"

namespace assay {

// What a worker tells its zygote when it is ready to run.
struct Watched {
  Reservation reservation;
};

struct WorkerFiles {
  int arena;
  int bell;
  int watch;  // a socket to the zygote: a Watched and, where the system can, the descriptor that forbidden calls are read from
};

// Never returns. Precondition: a fresh, single-threaded child of a zygote.
[[noreturn]] void serve_batches(const WorkerTable& table, const WorkerFiles& files);

}  // namespace assay
