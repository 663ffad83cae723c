// Self-test files, format "assay.selftest/1": which planted faults were found. harness/selftest/report.h writes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// A kernel that is wrong on purpose, on the cases of its operator and dtype.
struct PlantedFault {
  std::string op, dtype, variant, says;
  bool found = false;
  std::string case_text;           // that found it
  std::string unobservable;        // why a right kernel may do the same, or empty
  std::map<std::string, bool> by;  // other ways of comparing, and whether they found it

  bool survived() const { return !found && unobservable.empty(); }
  bool wrongly_excused() const { return found && !unobservable.empty(); }
};

// A right kernel on the same cases.
struct RightKernel {
  std::string op, dtype, kernel;
  std::string alarm;  // what it was called, wrongly; or empty
  std::map<std::string, bool> by;
};

struct SelftestFile {
  std::string name;  // of the file
  std::uint64_t seed = 0;
  double seconds = 0;
  bool complete = true;
  std::vector<PlantedFault> planted;
  std::vector<RightKernel> controls;
};

// How many of the faults that can be observed were found.
struct MutationScore {
  std::uint64_t observable = 0, found = 0, unobservable = 0;
  std::map<std::string, std::uint64_t> by;  // found by other ways of comparing

  void add(const PlantedFault& fault);
  std::uint64_t survived() const { return observable - found; }
};
MutationScore score_of(const SelftestFile& file);

// Throws FileError that names the file and the key that is wrong.
SelftestFile selftest_from_json(std::string_view text, const std::string& name);

}  // namespace assay
