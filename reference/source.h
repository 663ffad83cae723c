// Where a tensor's elements come from if nobody has decoded them: other formulas compute them, in graphs.
#pragma once

#include <cstdint>

namespace assay {

template <class S>
class Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  // The element of this number in row-major order.
  virtual S at(std::int64_t n) const = 0;
};

}  // namespace assay
