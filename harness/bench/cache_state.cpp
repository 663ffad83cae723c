#include "cache_state.h"

#include <fmt/format.h>
#include <immintrin.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

namespace assay {
namespace {

constexpr std::array<std::string_view, 3> kNames{"warm", "l2", "dram"};
constexpr std::size_t kLine = 64;

// As the kernel of the system lists it for the first processor ("1024K"); what the processor itself says, which sysconf()
// repeats, may be the sum over all of its parts.
std::size_t listed_size(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    int found = 0;
    std::string type;
    std::size_t size = 0;
    char unit = 0;
    if (!(std::ifstream(folder + "level") >> found) || found != level) continue;
    if (!(std::ifstream(folder + "type") >> type) || type == "Instruction") continue;
    if (std::ifstream(folder + "size") >> size >> unit) return unit == 'M' ? size << 20 : size << 10;
  }
  return 0;
}

std::size_t size_or(int level, int what, std::size_t otherwise) {
  if (const std::size_t listed = listed_size(level); listed > 0) return listed;
  const long size = sysconf(what);
  return size > 0 ? static_cast<std::size_t>(size) : otherwise;
}

// CLFLUSHOPT, which does not wait for the line before, is as old as AVX2 but for a few; CLFLUSH is everywhere.
__attribute__((target("clflushopt"))) void flush_fast(const std::byte* from, const std::byte* to) {
  for (; from < to; from += kLine) _mm_clflushopt(const_cast<std::byte*>(from));
}
void flush_each(const std::byte* from, const std::byte* to) {
  for (; from < to; from += kLine) _mm_clflush(from);
}

bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  asm volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0), "c"(0));
  if (a < 7) return false;
  asm volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
  return (b >> 23 & 1) != 0;
}

}  // namespace

std::string_view name(Cache cache) { return kNames[static_cast<std::size_t>(cache)]; }

std::optional<Cache> cache_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Cache>(i);
  return std::nullopt;
}

CacheSizes cache_sizes() {
  static const CacheSizes sizes{size_or(1, _SC_LEVEL1_DCACHE_SIZE, std::size_t{32} << 10),
                                size_or(2, _SC_LEVEL2_CACHE_SIZE, std::size_t{1} << 20),
                                size_or(3, _SC_LEVEL3_CACHE_SIZE, std::size_t{32} << 20)};
  return sizes;
}

void flush(std::span<const std::byte> memory) {
  static const bool fast = has_clflushopt();
  if (memory.empty()) return;
  // From the line that the first byte lies in.
  const std::byte* const begin = memory.data() - reinterpret_cast<std::size_t>(memory.data()) % kLine;
  (fast ? flush_fast : flush_each)(begin, memory.data() + memory.size());
  _mm_mfence();
}

SecondLevel::SecondLevel() : other_(4 * cache_sizes().l2 / sizeof(std::uint64_t), 1) {}

void SecondLevel::evict() {
  // Twice, because a cache that guesses what will be used again keeps some lines the first time.
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < other_.size(); i += kLine / sizeof(std::uint64_t)) {
      const std::uint64_t read = *static_cast<const volatile std::uint64_t*>(&other_[i]);
      (void)read;
    }
}

}  // namespace assay
