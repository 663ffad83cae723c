#include "pages.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

#include "../run/page.h"

namespace assay {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kHugeFrom = std::size_t{1} << 20;  // below, a huge page would be mostly empty

}  // namespace

Pages::Pages(std::size_t bytes) {
  const bool huge = bytes >= kHugeFrom;
  mapped_bytes_ = huge ? round_up(bytes, kHugePage) + kHugePage : round_up(bytes + 1, kPage);
  void* const mapped =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mapped_ = mapped;
  data_ = static_cast<std::byte*>(mapped);
  if (huge) {
    madvise(mapped, mapped_bytes_, MADV_HUGEPAGE);  // where the system has none, small ones do
    data_ +=
        round_up(reinterpret_cast<std::size_t>(mapped), kHugePage) - reinterpret_cast<std::size_t>(mapped);
  }
  std::memset(data_, 0, bytes);
}

Pages::~Pages() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

Pages::Pages(Pages&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      data_(other.data_) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  return *this;
}

}  // namespace assay
