// Why a call of a bisection is wrong, or what is not decided of it.
#pragma once

#include <cstddef>
#include <string>

#include "absent.h"
#include "bisect.h"

namespace assay {

class CauseFinder {
 public:
  // All must outlive this object. `path`: the dump's.
  CauseFinder(const CaseFile& trace, Dump& dump, const KnownResults& results, const Absent& absent,
              const std::string& path, const BisectOptions& options);

  // `own`: of the call alone; `together`: with the calls before it that the dump does not have, or nullptr.
  void find(std::size_t call, diagnose::Evidence& own, JudgedRegion* together, BisectedCall& result) const;
  // What is right under a bound that would acquit nearly anything is not called right.
  void doubt(diagnose::Evidence& own, JudgedRegion* together, BisectedCall& result) const;

 private:
  void describe(diagnose::Diagnosis& d, const BisectedCall& result) const;
  void name_another(std::size_t call, diagnose::Evidence& own, BisectedCall& result) const;
  void name_given(std::size_t call, diagnose::Evidence& own, BisectedCall& result) const;

  const CaseFile& trace_;
  Dump& dump_;
  const KnownResults& results_;
  const Absent& absent_;
  const std::string& path_;
  const BisectOptions& options_;
};

}  // namespace assay
