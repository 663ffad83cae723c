#include "examiners.h"

#include "../model/parallel.h"
#include "vocabulary/stop.h"

namespace assay {

void Examiners::run(std::size_t count, const RunOptions& options,
                    const std::function<void(Examiner&)>& work) {
  const NoStop none;  // `work` knows when to end, and what it has is reported
  for_each_parallel(static_cast<unsigned>(count), count, [&](std::size_t) {
    try {
      Examiner examiner(zygotes_, options, known_);
      work(examiner);
    } catch (...) {
      failed_ = true;
      throw;
    }
  });
}

}  // namespace assay
