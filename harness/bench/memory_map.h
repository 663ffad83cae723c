// Which memory of the timing process a kernel may not take away, and whose protection it may not change: that of the tensors, of the
// program, the C library and the loader. What it maps for itself, and all that its own library has, is its own business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay {

// A mapping of a process, as its table of mappings has it.
struct Mapping {
  std::uint64_t begin = 0, end = 0;
  std::string access;  // "r-xp"
  std::string file;    // or ""
};
// Of this process. Empty where the system does not say.
std::vector<Mapping> mappings();

struct NamedMemory {
  std::span<const std::byte> bytes;
  std::string name;  // "its input `self`"
};

class MemoryMap {
 public:
  // As it is now.
  explicit MemoryMap(std::span<const NamedMemory> tensors);

  // What has changed since: "changed the protection of its input `self` from rw-p to r--p", "took away memory of libc.so.6", or "".
  // Protection is put right again, and zeros come where memory of a tensor was.
  std::string changed() const;

 private:
  struct Watched {
    std::uint64_t begin, end;
    std::string access, name;
    bool tensor = false;
  };
  std::vector<Watched> watched_;
};

}  // namespace assay
