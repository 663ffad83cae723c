#include "hangs.h"

namespace assay {

void Hangs::note(const Kernel& kernel, std::uint64_t row, bool hung) {
  const std::scoped_lock lock(mutex_);
  const auto at = in_a_row_.find(key(kernel, row));
  if (at == in_a_row_.end()) {
    if (hung) in_a_row_.emplace(key(kernel, row), 1);
  } else if (at->second < kHangsInARow) {  // who was given up stays so, whatever other lanes still hear
    at->second = hung ? at->second + 1 : 0;
  }
}

bool Hangs::given_up(const Kernel& kernel, std::uint64_t row) const {
  const std::scoped_lock lock(mutex_);
  const auto at = in_a_row_.find(key(kernel, row));
  return at != in_a_row_.end() && at->second >= kHangsInARow;
}

void Hangs::note_alone(const Kernel& kernel, std::uint64_t row) {
  const std::scoped_lock lock(mutex_);
  alone_.insert(key(kernel, row));
}

bool Hangs::hangs_alone(const Kernel& kernel, std::uint64_t row) const {
  const std::scoped_lock lock(mutex_);
  return alone_.contains(key(kernel, row));
}

}  // namespace assay
