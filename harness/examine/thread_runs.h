// Large cases that a kernel has passed, called again and again with several threads in one process.
//
// A race shows where threads are at work at the same time. In the first call of a process they are still being started, and one of them
// has done all of a small share before the next begins; from the second call on they wait for work.
#pragma once

#include <functional>
#include <span>

#include "further_runs.h"

namespace assay {

// The same kernel in processes that are told to use so many threads.
using Threaded = std::function<const Kernel&(const Kernel& kernel, int threads)>;

// How many elements some tensor has of a case that is called so: as many as PyTorch's kernels split among threads.
inline constexpr std::int64_t kForThreads = 32'768;

// Changes the findings of those that show a fault. Peers are not asked. How many threads, 2, 3, 4 or 7, follows from the case.
void run_with_threads(Lane& lane, std::span<const Passed> passed, const Threaded& threaded);

}  // namespace assay
