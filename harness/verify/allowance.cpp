#include "allowance.h"

#include <algorithm>

namespace assay {

Allowance::Clock::time_point Allowance::next() {
  const std::scoped_lock lock(mutex_);
  const Clock::time_point now = Clock::now();
  const auto left = std::max(end_ - now, Clock::duration{0});
  const std::size_t turns = std::max<std::size_t>(1, (rows_ + lanes_ - 1) / std::max<std::size_t>(1, lanes_));
  if (rows_ > 0) --rows_;
  return now + left / static_cast<Clock::rep>(turns);
}

}  // namespace assay
