#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "vocabulary/stop.h"

namespace assay {

unsigned threads_for(int wanted) {
  return wanted > 0 ? static_cast<unsigned>(wanted) : std::max(1u, std::thread::hardware_concurrency());
}

void for_each_parallel(unsigned threads, std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr error;
  std::size_t of = count;
  const auto take = [&, over = StopScope::of_this_thread()] {
    const StopScope scope(over);
    while (!failed) {
      const std::size_t i = next++;
      if (i >= count) return;
      try {
        stop_now();
        work(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (i < of) {
          of = i;
          error = std::current_exception();
        }
        failed = true;
      }
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min<std::size_t>(threads, count); ++t) others.emplace_back(take);
  take();
  for (std::thread& t : others) t.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace assay
