#include "parallel.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <mutex>

namespace assay::cpu::detail {

void parallel_chunks(std::int64_t n, std::int64_t grain,
                     void (*run)(const void* function, std::int64_t begin, std::int64_t end),
                     const void* function) {
  if (n <= 0) return;
  const std::int64_t threads = omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
  const std::int64_t chunks = std::clamp<std::int64_t>(n / grain, 1, threads);
  if (chunks == 1) return run(function, 0, n);

  std::exception_ptr failure;
  std::mutex mutex;
  const int team = static_cast<int>(chunks);
#pragma omp parallel for schedule(static, 1) num_threads(team)
  for (std::int64_t i = 0; i < chunks; ++i) {
    try {
      run(function, n / chunks * i + std::min(i, n % chunks),
          n / chunks * (i + 1) + std::min(i + 1, n % chunks));
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace assay::cpu::detail
