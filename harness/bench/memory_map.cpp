#include "memory_map.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "../run/forbidden.h"
#include "../run/page.h"
#include "own_code.h"

namespace assay {
namespace {

int protection(const std::string& access) {
  return (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) |
         (access[2] == 'x' ? PROT_EXEC : 0);
}

}  // namespace

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    // "55d0-55e0 r-xp 00001000 fe:00 1234   /usr/bin/assay"
    Mapping m;
    char access[5] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &m.begin, &m.end, access,
                    &path) < 3)
      continue;
    m.access = access;
    if (path > 0) m.file = line.substr(static_cast<std::size_t>(path));
    all.push_back(std::move(m));
  }
  return all;
}

MemoryMap::MemoryMap(std::span<const NamedMemory> tensors) {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  for (const Mapping& m : mappings()) {
    if (is_code_of_ours(m.file, program))
      watched_.push_back({m.begin, m.end, m.access, std::filesystem::path(m.file).filename().string()});
    for (const NamedMemory& t : tensors) {
      if (t.bytes.empty()) continue;
      const auto at = reinterpret_cast<std::uint64_t>(t.bytes.data());
      const std::uint64_t begin = std::max(m.begin, at / kPage * kPage);
      const std::uint64_t end = std::min<std::uint64_t>(m.end, round_up(at + t.bytes.size(), kPage));
      if (begin < end) watched_.push_back({begin, end, m.access, t.name, true});
    }
  }
}

std::string MemoryMap::changed() const {
  const std::vector<Mapping> now = mappings();
  if (now.empty()) return {};
  std::string what;
  for (const Watched& w : watched_) {
    std::uint64_t at = w.begin;
    auto m = std::ranges::upper_bound(now, w.begin, {}, &Mapping::end);
    for (; m != now.end() && m->begin < w.end; ++m) {
      if (m->begin > at) break;
      const std::uint64_t end = std::min(m->end, w.end);
      if (m->access != w.access) {
        if (what.empty())
          what = fmt::format("changed the protection of {} from {} to {}", w.name, w.access, m->access);
        trusted_call(SYS_mprotect, static_cast<long>(at), static_cast<long>(end - at), protection(w.access));
      }
      at = end;
    }
    if (at >= w.end) continue;
    if (what.empty()) what = fmt::format("took away memory of {}", w.name);
    if (w.tensor)
      trusted_call(SYS_mmap, static_cast<long>(at), static_cast<long>(w.end - at), protection(w.access),
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
  }
  return what;
}

}  // namespace assay
