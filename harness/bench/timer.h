// The process in which kernels are timed: all of them in one, ours and the peers', because two processes that run the same
// code differ by more than what a benchmark is to find.
//
// It is asked by lines of JSON on a socket and answers each with a line. The harness's side is session.h.
//
//   {"do": "open", "case", "cache", "limits", "same_count", "batch_ns", "seed", "timeout", "threads",
//    "kernels": [{"module", "schema",
//    "name", "contract", "slowed"}]}        slowed: a share of its time for which the kernel idles after each call, or 0;
//                                           timeout: seconds of a call
//        -> {"kernels": [{"status", "reason", "information"}], "operations", "functions", "dtype", "bytes", "sets",
//            "bytes_of_set", "device", "device_cache"}    the name of the GPU whose clock is read, or "", and bytes of its cache
//   {"do": "measure", "rounds", "seconds"}
//        -> {"elapsed", "kernels": [{"cpu": [], "wall": [], "calls"}], "limits": {"stream", "streaming", "operation", "element"}}
//           times of one call in nanoseconds, of the rounds of this request, and how many it took in all
//   {"do": "close"}                -> {"kernels": [{"status", "reason"}]}
//   {"do": "entries", "kernels": [{"module", "schema", "name"}]}
//        -> {"entries": [n]}    where the kernels begin in their files, or null
//   {"do": "bandwidths"}           -> {"limits": [{"name", "kind", "level", "dtype", "value", "device"}]}
//
// A request that fails is answered with {"error": "why"}. Which kernel was running when the process ended stands in memory that
// it is sent before all requests (call_page.h).
#pragma once

#include <functional>
#include <span>
#include <string>

#include "../run/lane.h"
#include "group.h"

namespace assay {

// Kernels that the program itself has; PyTorch's, in assay-torch.
struct TimedTable {
  WorkerTable table;
  std::function<Prepared(const assay_call&)> prepare;
};

// Whether main() is to hand over to timer_main: `PROGRAM worker --timer ...`.
bool is_timer(int argc, char** argv);

//   worker --timer FD [--own] [--module LIB.so]... [--copies] [--reversed] [--cpus LIST] [--membind N]
//
// `own` is asked for with --own. With --copies libraries are copied into memory
// first; with --reversed the last one is loaded first. Serves until the socket is closed.
int timer_main(int argc, char** argv, const std::function<TimedTable()>& own);

}  // namespace assay
