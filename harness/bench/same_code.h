// Whether a kernel is the same machine code in two builds: then it cannot have become slower, and need not be timed.
//
//   CodeComparison code("base/libmine.so", "new/libmine.so");
//   if (code.same(address_in_base, address_in_new)) return;  // not timed
//
// A hash of each object file, embedded by the build, would be less work, and say less: libraries come from anybody's build; a kernel's object
// changes with a sentence in its contract, with a line number in its debug information, and with each of the other kernels that its source
// has; and it does not change with the shared driver that the kernel calls, or with the helper that the linker took from elsewhere.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

namespace assay {

// Two libraries, disassembled by objdump.
//
// Two functions are the same if their instructions are, with the same functions called and pointed to in the same places, and
// the same variables named: addresses themselves count for nothing, so that code which merely moved is the same. What a file
// defines itself is followed wherever it is reached from: calls through its procedure linkage table, its global offset table,
// pointers in its data. Variables must begin as the same bytes, and whoever else may change them must be the same, too, such
// as what fills a table when the library is loaded.
//
// What is not certain counts as different. Constants without a name are compared as far as an instruction reads or, where their
// address is taken, 4 KiB reach; what data points to without a name is a text, or compared like these. Functions of other
// libraries are the same if name and version are, or, without a version, both files are linked with the same libraries.
//
// Not seen is what writes into a variable by a pointer that a function gave it, or that it read, what other functions write into a
// thread's variables, and what differs beyond these 4 KiB.
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
  struct Library;
  // What must be equal for what leads to it to be.
  struct Pair {
    std::uint64_t a = 0, b = 0;
    std::uint64_t size = 0;  // of data; none: functions
    auto operator<=>(const Pair&) const = default;
  };
  class Walk;
  std::unique_ptr<Library> a_, b_;
  std::set<Pair> equal_;  // as far as it has been seen
};

}  // namespace assay
