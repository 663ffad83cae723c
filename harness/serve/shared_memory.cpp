#include "shared_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "request.h"

namespace assay::serve {
namespace {

constexpr std::uint64_t kAligned = 64;

}  // namespace

SharedMemory::SharedMemory(Descriptor file) : file_(std::move(file)) {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw RequestError(kProtocol, "the descriptor that came with the request is no file in memory (memfd)");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void SharedMemory::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t n = pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw RequestError(kTensor,
                         fmt::format("the memory of the request ended at byte {} while it was read{}", offset,
                                     n < 0 ? fmt::format(": {}", std::strerror(errno)) : ""));
    offset += static_cast<std::uint64_t>(n);
    into = into.subspan(static_cast<std::size_t>(n));
  }
}

std::uint64_t AnswerMemory::add(std::span<const std::byte> array) {
  if (array.empty()) return 0;
  if (!file_) file_ = Descriptor(memfd_create("assay answer", MFD_CLOEXEC));
  const std::uint64_t begin = (size_ + kAligned - 1) / kAligned * kAligned;
  size_ = begin;
  while (!array.empty()) {
    const ssize_t n = file_ ? pwrite(file_.get(), array.data(), array.size(), static_cast<off_t>(size_)) : -1;
    if (n < 0 && file_ && errno == EINTR) continue;
    if (n < 0) throw RequestError(kMemory, fmt::format("no memory for the answer: {}", std::strerror(errno)));
    size_ += static_cast<std::uint64_t>(n);
    array = array.subspan(static_cast<std::size_t>(n));
  }
  return begin;
}

}  // namespace assay::serve
