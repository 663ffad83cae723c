// Work in parts that do not depend on each other, on several threads.
//
//   std::vector<double> roots(numbers.size());
//   for_each_parallel(4, numbers.size(), [&](std::size_t i) { roots[i] = std::sqrt(numbers[i]); });
#pragma once

#include <cstddef>
#include <functional>

namespace assay {

// One for each processor that this machine has, where `wanted` is 0 or less; else as many as wanted.
unsigned threads_for(int wanted);

// Calls `work` with 0, 1, ... count - 1, on at most so many threads; the calling one is one of them. Parts are taken in order, by whoever is
// ready, so that results which go where their number says are the same on any number of threads. Where the caller's StopScope ends, no
// further part begins, and Stopped is thrown. Of parts that throw, the exception of the first one is thrown when all that have begun have
// ended; no further part begins.
void for_each_parallel(unsigned threads, std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace assay
