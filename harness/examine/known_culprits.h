// What has been found out of kernels, by whichever lane: each shall not pay for it anew. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace assay {

struct Kernel;

class KnownCulprits {
 public:
  using Row = std::pair<const Kernel*, std::uint64_t>;  // ExamineOptions::row

  // Rows whose kernel has been seen to be wrong alone.
  void note_wrong_alone(const Row& row) {
    const std::scoped_lock lock(mutex_);
    wrong_alone_.insert(row);
  }
  bool is_wrong_alone(const Row& row) const {
    const std::scoped_lock lock(mutex_);
    return wrong_alone_.contains(row);
  }

  // Kernels that spoil their process, by their names. `late`: with a thread that goes on after the call.
  void note_spoils(const std::string& kernel, bool late = false) {
    const std::scoped_lock lock(mutex_);
    spoil_.insert(kernel);
    if (late) late_.insert(kernel);
  }
  std::set<std::string> that_spoil() const {
    const std::scoped_lock lock(mutex_);
    return spoil_;
  }
  bool works_late(const std::string& kernel) const {
    const std::scoped_lock lock(mutex_);
    return late_.contains(kernel);
  }

 private:
  mutable std::mutex mutex_;
  std::set<Row> wrong_alone_;
  std::set<std::string> spoil_, late_;
};

}  // namespace assay
