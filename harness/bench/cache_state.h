// Where a call finds its operands when it begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

enum class Cache : std::uint8_t {
  warm,  // where the call before left them
  l2,    // pushed out of the second-level cache by other data: in the third level, if they fit there
  dram,  // flushed out of all caches
};
std::string_view name(Cache cache);
std::optional<Cache> cache_named(std::string_view name);

// The data caches of this machine in bytes, as the system says; where it does not: 32 KiB, 1 MiB, 32 MiB.
struct CacheSizes {
  std::size_t l1 = 0;
  std::size_t l2 = 0;
  std::size_t l3 = 0;
};
CacheSizes cache_sizes();

// Writes back and drops each line of it from every cache.
void flush(std::span<const std::byte> memory);

// Fills the second-level cache with something else.
class SecondLevel {
 public:
  SecondLevel();
  void evict();

 private:
  std::vector<std::uint64_t> other_;
};

}  // namespace assay
