// The memory of the device, for who looks at each access by itself: tensors of a call, and scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::cuda::emulation {

class Regions {
 public:
  void add(const void* data, std::size_t bytes, bool writable) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    all_.push_back({begin, begin + bytes, writable});
  }
  void forget(const void* data) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    for (auto r = all_.rbegin(); r != all_.rend(); ++r)
      if (r->begin == begin) {
        all_.erase(std::next(r).base());
        return;
      }
  }
  // The region of an access and whether it may be written; empty where there is none. What lies in it needs no more looking.
  struct Region {
    std::uintptr_t begin = 0, end = 0;
    bool writable = false;
    bool has(std::uintptr_t address, std::size_t bytes, bool write) const {
      return address >= begin && address <= end && bytes <= end - address && (writable || !write);
    }
  };
  Region find(std::uintptr_t address, std::size_t bytes, bool write) const {
    for (const Region& r : all_)
      if (r.has(address, bytes, write)) return r;
    return {};
  }
  // What is wrong with an access, or null. A call in place has one region twice, once writable.
  const char* objection(std::uintptr_t address, std::size_t bytes, bool write) const {
    if (find(address, bytes, write).end != 0) return nullptr;
    return write && find(address, bytes, false).end != 0
               ? "an input is written"
               : "out of bounds: an address of no tensor and no scratch memory";
  }

 private:
  std::vector<Region> all_;
};
// Of this thread's calls.
Regions& regions();

}  // namespace assay::cuda::emulation
