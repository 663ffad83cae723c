#include "worker_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../coverage/runtime.h"

namespace assay {

namespace {

// By the worker's own calls, which are not forbidden.
bool map_at(std::byte* at, std::size_t bytes, int protection, int flags, int file, std::uint64_t from) {
  return trusted_call(SYS_mmap, reinterpret_cast<long>(at), static_cast<long>(bytes), protection,
                      MAP_FIXED | flags, file, static_cast<long>(from)) == reinterpret_cast<long>(at);
}

}  // namespace

[[noreturn]] void stop_worker(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  _exit(71);
}

WorkerMemory::WorkerMemory(int arena_file) : arena_file_(arena_file) {
  void* reserved = mmap(nullptr, kBeforeBytes + kReservedBytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    stop_worker("a worker process cannot reserve 68 GiB of address space (is there a limit, ulimit -v?)");
  base_ = static_cast<std::byte*>(reserved) + kBeforeBytes;
  map(kControlPlace, kControlBytes + kResultBytes, PROT_READ | PROT_WRITE);
  map(kMessagePlace, kMessageBytes, PROT_READ);
  if (!covered_modules().empty()) {
    map(kCoveragePlace, kCoverageBytes, PROT_READ | PROT_WRITE);
    record_coverage(reinterpret_cast<CoverageLog*>(base_ + kCoveragePlace.address));
  }
  control_ = reinterpret_cast<Control*>(base_ + kControlPlace.address);
  results_ = reinterpret_cast<EntryResult*>(base_ + kResultPlace.address);
  messages_ = base_ + kMessagePlace.address;
  control_->base = reinterpret_cast<std::uint64_t>(base_);
}

Reservation WorkerMemory::reservation() const {
  const auto begin = reinterpret_cast<std::uint64_t>(base_) - kBeforeBytes;
  return {begin, begin + kBeforeBytes + kReservedBytes, arena_file_};
}

void WorkerMemory::map_buffers(const WireEntry& entry) {
  const auto* buffers = message<WireBuffer>(entry.buffers_at);
  for (std::uint32_t i = 0; i < entry.buffers; ++i) {
    const WireBuffer& b = buffers[i];
    if (b.window != kNothing && mapped_[b.window]) continue;
    const bool small = b.bytes == kPage;
    map({b.file, b.address}, b.bytes, b.writable != 0 ? PROT_READ | PROT_WRITE : PROT_READ,
        small || b.window == kNothing ? MAP_POPULATE : 0);
    if (b.window != kNothing) mapped_[b.window] = true;
  }
}

void WorkerMemory::unmap_large_buffers(const WireEntry& entry) {
  const auto* buffers = message<WireBuffer>(entry.buffers_at);
  for (std::uint32_t i = 0; i < entry.buffers; ++i)
    if (buffers[i].window == kNothing)
      map_at(base_ + buffers[i].address, buffers[i].bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void WorkerMemory::protect_buffers(const WireEntry& entry, bool given) {
  for (const WireBuffer& b : buffers_of(entry)) {
    const int all = b.writable != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    protect(window(b), given ? all : PROT_NONE);
  }
}

void WorkerMemory::protect(std::span<std::byte> memory, int protection) {
  if (trusted_call(SYS_mprotect, reinterpret_cast<long>(memory.data()), static_cast<long>(memory.size()),
                   protection) != 0)
    stop_worker("a worker cannot change the protection of its memory");
}

void WorkerMemory::map(Place place, std::size_t bytes, int protection, int flags) {
  if (map_at(base_ + place.address, bytes, protection, MAP_SHARED | flags, arena_file_, place.file)) return;
  if (control_ != nullptr) control_->crash.what.store(Crash::no_memory);
  stop_worker("a worker process cannot map its memory");
}

}  // namespace assay
