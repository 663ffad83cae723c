// Adds findings up to rows. The result does not depend on the order in which findings come.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "examine.h"
#include "reports/result.h"

namespace assay {

// How many failures of each kind a row keeps: those of the lowest case numbers.
inline constexpr std::size_t kFailuresPerKind = 3;

class Tally {
 public:
  Tally() = default;
  Tally(const Kernel& kernel, Dtype dtype);

  void add(const Finding& finding, const std::string& case_text, std::uint64_t index);
  void add(const Tally& other);

  // The row so far, verdict included.
  Row row() const;

 private:
  void keep(Failure failure);

  Row row_;
  std::uint64_t worst_index_ = ~std::uint64_t{0};
  std::set<std::string> information_;
};

}  // namespace assay
