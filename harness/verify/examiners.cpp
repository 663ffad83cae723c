#include "examiners.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace assay {

void Examiners::run(std::size_t count, const RunOptions& options,
                    const std::function<void(Examiner&)>& work) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::exception_ptr error;
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&] {
      try {
        Examiner examiner(zygotes_, options, known_);
        work(examiner);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!error) error = std::current_exception();
        failed_ = true;
      }
    });
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace assay
