// The one place where kernels use more than one thread.
#pragma once

#include <cstdint>

namespace assay::cpu {

namespace detail {
void parallel_chunks(std::int64_t n, std::int64_t grain,
                     void (*run)(const void* function, std::int64_t begin, std::int64_t end),
                     const void* function);
}

// Calls function(begin, end) on disjoint ranges that cover [0, n), on up to omp_get_max_threads() threads. A
// range has at least `grain` numbers (grain >= 1), unless n is smaller; one range runs on the calling thread,
// without OpenMP. n <= 0 calls nothing. The ranges depend on the number of threads: what must not depend on
// it (a sum) is cut into pieces by the caller, and the pieces are what is numbered here. The first exception
// thrown by `function` is thrown again when every range is done.
template <class Function>
void parallel_for(std::int64_t n, std::int64_t grain, const Function& function) {
  detail::parallel_chunks(
      n, grain,
      [](const void* f, std::int64_t begin, std::int64_t end) {
        (*static_cast<const Function*>(f))(begin, end);
      },
      &function);
}

}  // namespace assay::cpu
