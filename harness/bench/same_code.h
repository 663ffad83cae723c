// Whether a kernel is the same machine code in two builds: then it cannot have become slower, and need not be timed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace assay {

// Two libraries, disassembled by objdump.
//
// Two functions are the same if their instructions are, with the same functions called and pointed to in the same places, and
// the same constants read: addresses themselves count for nothing, so that code which merely moved is the same. What
// is not certain counts as different: constants without a name are compared as far as an instruction or, where their address is
// taken, 4 KiB reach; tables of pointers with the functions that they lead to.
class CodeComparison {
 public:
  // Throws FileError for files that are no libraries, and std::runtime_error if objdump is missing.
  CodeComparison(const std::string& a, const std::string& b);
  ~CodeComparison();

  // Why it cannot be seen whether two functions are the same; empty if it can.
  std::string unseen(std::uint64_t a, std::uint64_t b);
  // Functions by where they begin in each file, as dladdr() and the file's base say.
  bool same(std::uint64_t a, std::uint64_t b);

 private:
  class Library;
  std::unique_ptr<Library> a_, b_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> equal_;  // as far as it has been seen
};

}  // namespace assay
