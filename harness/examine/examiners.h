// Threads with an examiner each, for a run's parts one after the other.
//
//   Examiners examiners;
//   examiners.run(4, options, [&](Examiner& examiner) { while (const auto item = next()) examine(examiner, *item); });
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "examine.h"

namespace assay {

class Examiners {
 public:
  // Calls `work` on so many threads, and returns when all have ended. Throws what the first of them threw that did.
  void run(std::size_t threads, const RunOptions& options, const std::function<void(Examiner&)>& work);
  // Whether one has thrown: the others may end.
  bool has_failed() const { return failed_; }

 private:
  std::shared_ptr<Zygotes> zygotes_ = make_zygotes();
  std::shared_ptr<KnownCulprits> known_ = std::make_shared<KnownCulprits>();
  std::atomic<bool> failed_{false};
};

}  // namespace assay
