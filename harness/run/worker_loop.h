// A worker process: runs the entries of its arena's batches until it is killed.
#pragma once

#include "lane.h"
#include "protocol.h"

namespace assay {

struct WorkerFiles {
  int arena;
  int bell;
};

// Never returns. Precondition: a fresh, single-threaded child of a zygote.
[[noreturn]] void serve_batches(const WorkerTable& table, const WorkerFiles& files);

}  // namespace assay
