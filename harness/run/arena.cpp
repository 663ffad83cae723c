#include "arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <system_error>

namespace assay {

namespace {

constexpr std::size_t kLargeKept = std::size_t{32} << 20;  // kept between batches: first touches are dear

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

Descriptor memory_file(const char* name, std::size_t bytes) {
  Descriptor file(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) fail("cannot create a memory file for worker processes (memfd_create)");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) fail("cannot size a memory file (ftruncate)");
  // A kernel that shrank it would end us, who touch what is not there any more.
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    fail("cannot seal a memory file (F_ADD_SEALS)");
  return file;
}

std::byte* map(const Descriptor& file, std::size_t at, std::size_t bytes) {
  void* here = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), static_cast<off_t>(at));
  if (here == MAP_FAILED) fail("cannot map the memory shared with worker processes (mmap)");
  return static_cast<std::byte*>(here);
}

// Bytes that can be had without swapping, or nothing where the system does not say.
std::optional<std::size_t> available_memory() {
  std::ifstream info("/proc/meminfo");
  std::string word;
  while (info >> word)
    if (word == "MemAvailable:") {
      std::size_t kib = 0;
      if (info >> kib) return kib * 1024;
    }
  return std::nullopt;
}

double mib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

Arena::Arena() : file_(memory_file("assay-arena", kLargePlace.file)) {
  fixed_ = map(file_, 0, kLargePlace.file);
  new (fixed_) Control{};
  for (std::uint32_t i = 0; i < kEntries; ++i) new (&result(i)) EntryResult{};
}

Arena::~Arena() {
  munmap(fixed_, kLargePlace.file);
  if (large_ != nullptr) munmap(large_, large_bytes_);
}

std::optional<ArenaWindow> Arena::take(std::size_t bytes, bool writable, bool anyhow) {
  const std::size_t role = writable ? 1 : 0;
  std::uint32_t first = 0;
  for (std::size_t c = 0; c < kWindowClasses.size(); ++c) {
    const WindowClass& size = kWindowClasses[c];
    if (bytes <= size.bytes) {
      std::uint32_t& used = used_.windows[c][role];
      if (used < size.count[role]) {
        const std::uint32_t number = first + (writable ? size.count[0] : 0) + used++;
        return ArenaWindow{window_place(number), size.bytes, number};
      }
      if (!anyhow) return std::nullopt;
    }
    first += size.count[0] + size.count[1];
  }
  const std::size_t rounded = round_up(bytes, kPage);
  const std::size_t address = used_.large_address + rounded + kGuard;
  if (bytes > kLargeAddressBytes || address > kLargeAddressBytes)
    throw NoMemory(fmt::format("the buffers of this call exceed {} GiB", kLargeAddressBytes >> 30));
  const ArenaWindow window{
      {kLargePlace.file + used_.large_file, kLargePlace.address + used_.large_address}, rounded, kNothing};
  grow(used_.large_file + rounded);
  used_.large_file += rounded;
  used_.large_address = address;
  return window;
}

void Arena::grow(std::size_t bytes) {
  if (bytes <= large_bytes_) return;
  const std::size_t more = bytes - large_bytes_;
  // Memory that is not there would end this process at its first touch: ask before.
  if (const auto available = available_memory(); available && more > *available - *available / 8)
    throw NoMemory(
        fmt::format("the buffers of this call need {:.0f} MiB more memory, and {:.0f} MiB are available; "
                    "run fewer jobs or smaller cases",
                    mib(more), mib(*available)));
  int error = 0;
  do {
    error = posix_fallocate(file_.get(), static_cast<off_t>(kLargePlace.file + large_bytes_),
                            static_cast<off_t>(more));
  } while (error == EINTR);
  if (error != 0) {
    shrink_file(large_bytes_);
    throw NoMemory(fmt::format("the buffers of this call need {:.0f} MiB more memory: {}", mib(more),
                               std::generic_category().message(error)));
  }
  void* here = large_ == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(),
                                        static_cast<off_t>(kLargePlace.file))
                                 : mremap(large_, large_bytes_, bytes, MREMAP_MAYMOVE);
  if (here == MAP_FAILED)
    throw NoMemory(fmt::format("the buffers of this call need {:.0f} MiB of address space: {}", mib(bytes),
                               std::generic_category().message(errno)));
  large_ = static_cast<std::byte*>(here);
  large_bytes_ = bytes;
}

void Arena::shrink(std::size_t bytes) {
  if (large_bytes_ <= bytes) return;
  munmap(large_ + bytes, large_bytes_ - bytes);
  large_bytes_ = bytes;
  if (bytes == 0) large_ = nullptr;
  shrink_file(bytes);
}

// What lies after is given back, though the file stays as long: it is sealed against shrinking.
void Arena::shrink_file(std::size_t large_bytes) {
  const auto from = static_cast<off_t>(kLargePlace.file + large_bytes);
  struct stat now {};
  if (fstat(file_.get(), &now) != 0 ||
      (now.st_size > from &&
       fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, now.st_size - from) != 0))
    fail("cannot give back memory shared with worker processes (fallocate)");
}

void Arena::clear() {
  used_ = {};
  shrink(kLargeKept);
}

BellPage::BellPage() : file_(memory_file("assay-bell", kPage)) { bell_ = new (map(file_, 0, kPage)) Bell{}; }

BellPage::~BellPage() { munmap(bell_, kPage); }

}  // namespace assay
