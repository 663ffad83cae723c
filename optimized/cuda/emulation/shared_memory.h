// The shared memory of a block: variables one after another, each with bytes in front and after that nobody may write.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "ready_set.h"

namespace assay::cuda::emulation {

inline constexpr std::size_t kMaxShared = 227 * 1024;  // a block's, on sm_90

class SharedMemory {
 public:
  // A block begins.
  void clear();
  // The variable of that key. Where there is none yet it is allocated, of random bits, or NaN without a `random`, and the checker
  // is told. Null if that is more than a block can have.
  void* variable(const void* key, std::size_t bytes, const char* name, Random* random);
  // What was written in front of a variable or after it, in words; "" if nothing was.
  std::string overrun() const;

 private:
  struct Variable {
    std::byte* address;
    std::size_t bytes;
    const char* name;
    const void* key;
  };

  void* allocate(const void* key, std::size_t bytes, const char* name, Random* random);

  std::unique_ptr<std::byte[]> memory_;
  std::size_t used_ = 0;
  std::vector<Variable> variables_;
};

}  // namespace assay::cuda::emulation
