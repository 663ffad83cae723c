// Adds findings up to rows. The result does not depend on the order in which findings come.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "../examine/examine.h"
#include "reports/result.h"

namespace assay {

// How many failures of each kind and cause a row keeps: those of the lowest case numbers, of the causes that come first.
inline constexpr std::size_t kFailuresPerKind = 3, kCausesPerKind = 4;
// Failures that diverge are kept in this number until diagnose_failures() has looked for their causes.
inline constexpr std::size_t kFailuresToDiagnose = 24;

class Tally {
 public:
  Tally() = default;
  Tally(const Kernel& kernel, Dtype dtype);

  void add(const Finding& finding, const std::string& case_text, std::uint64_t index);
  void add(const Tally& other);
  // A case that was added here was counted before with this finding, in this tally or another one. That finding is taken out once all tallies
  // of the row are added up: a case is not counted twice.
  void replace(const Finding& other);

  // Beside add(), of a case whose arguments are right: of which classes it is. `instead`: it stands in place of a refused one.
  void covered(const Finding& finding, std::span<const std::string> classes, bool instead = false);
  // Calls of networks are of these classes.
  void expect(std::span<const std::string> ordinary);
  // Of a generated case that the row is to judge.
  void ask() { ++row_.asked; }

  // All of it, for a journal (reports/journal.h): what it adds to the results of a run file, and what that does not say. A tally of both
  // adds up to the same.
  nlohmann::json result() const;
  nlohmann::json more() const;
  static Tally of(const nlohmann::json& result, const nlohmann::json& more);
  bool empty() const { return row_.cases == 0; }
  std::uint64_t faults() const;  // cases

  // The row so far, verdict included.
  Row row() const;
  // Failures that diverge, beyond those of the row: kFailuresToDiagnose with these.
  std::vector<Failure> further() const;

 private:
  void keep(Failure failure);

  Row row_;                    // without failures
  std::vector<Failure> kept_;  // by their numbers
  std::uint64_t worst_index_ = ~std::uint64_t{0};
  std::set<std::string> information_;
};

}  // namespace assay
