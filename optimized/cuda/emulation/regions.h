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
  // What is wrong with an access, or null. A call in place has one region twice, once writable.
  const char* objection(std::uintptr_t address, std::size_t bytes, bool write) const {
    bool there = false;
    for (const Region& r : all_) {
      if (address < r.begin || address + bytes > r.end) continue;
      if (!write || r.writable) return nullptr;
      there = true;
    }
    return there ? "an input is written" : "out of bounds: an address of no tensor and no scratch memory";
  }

 private:
  struct Region {
    std::uintptr_t begin, end;
    bool writable;
  };
  std::vector<Region> all_;
};
// Of this thread's calls.
Regions& regions();

}  // namespace assay::cuda::emulation
