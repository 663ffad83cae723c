// Adds findings up to rows. The result does not depend on the order in which findings come.
#pragma once

#include <set>
#include <span>
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

  // Beside add(), of a case whose arguments are right: of which classes it is. `instead`: it stands in place of a refused one.
  void covered(const Finding& finding, std::span<const std::string> classes, bool instead = false);
  // Calls of networks are of these classes.
  void expect(std::span<const std::string> ordinary);
  // Of a generated case that the row is to judge.
  void ask() { ++row_.asked; }

  // The row so far, verdict included.
  Row row() const;

 private:
  void keep(Failure failure);

  Row row_;
  std::uint64_t worst_index_ = ~std::uint64_t{0};
  std::set<std::string> information_;
};

}  // namespace assay
