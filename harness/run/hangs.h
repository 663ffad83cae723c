// Kernels that hang again and again: each of their calls costs the whole time limit, and says no more than the first ones.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "../model/kernel.h"

namespace assay {

// After so many calls in a row that did not return within the time limit, a kernel is given up.
inline constexpr int kHangsInARow = 5;

// Shared by lanes. What counts together is a kernel's calls in a row of the results, which the caller numbers.
class Hangs {
 public:
  // How the kernel's latest call ended.
  void note(const Kernel& kernel, std::uint64_t row, bool hung);
  bool given_up(const Kernel& kernel, std::uint64_t row) const;
  // A call did not return in a process that had run nothing else.
  void note_alone(const Kernel& kernel, std::uint64_t row);
  bool hangs_alone(const Kernel& kernel, std::uint64_t row) const;

 private:
  using Key = std::tuple<const Operator*, std::string, std::uint64_t>;
  static Key key(const Kernel& kernel, std::uint64_t row) { return {kernel.op, kernel.name, row}; }

  mutable std::mutex mutex_;
  std::map<Key, int> in_a_row_;
  std::set<Key> alone_;
};

}  // namespace assay
