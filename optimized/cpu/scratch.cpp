#include "scratch.h"

#include <new>

namespace assay::cpu {
namespace {

constexpr std::align_val_t kLine{64};
#ifdef ASSAY_SANITIZE_ADDRESS
constexpr std::int64_t kKept = 0;  // so that the sanitizer sees the end of every allocation
#else
constexpr std::int64_t kKept = std::int64_t{8} << 20;
#endif

struct Cache {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  bool taken = false;
  ~Cache() { ::operator delete(data, kLine); }
};
thread_local Cache cache;

std::byte* allocate(std::int64_t bytes) {
  return static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kLine));
}

}  // namespace

Scratch::Scratch(std::int64_t bytes) : kept_(bytes <= kKept && !cache.taken) {
  if (kept_ && cache.bytes < bytes) {
    std::byte* const larger = allocate(bytes);
    ::operator delete(cache.data, kLine);
    cache.data = larger;
    cache.bytes = bytes;
  }
  if (kept_) cache.taken = true;
  next_ = data_ = kept_ ? cache.data : allocate(bytes);
}

Scratch::~Scratch() {
  if (kept_)
    cache.taken = false;
  else
    ::operator delete(data_, kLine);
}

}  // namespace assay::cpu
