#include "copies.h"

#include <cstdint>
#include <cstring>

#include "block.h"
#include "checker.h"
#include "mma.h"

namespace assay::cuda::emulation {

void Copies::add(unsigned thread, void* to, const void* from, int bytes) {
  used_ = true;
  queues_[thread].copies.push_back({to, from, bytes});
}

void Copies::end_group(unsigned thread) {
  if (!used_) return;
  Queue& q = queues_[thread];
  q.ends.push_back(q.copies.size());
}

void Copies::arrive(unsigned thread, std::size_t groups) {
  if (!used_) return;
  Queue& q = queues_[thread];
  for (; q.ends.size() - q.first > groups; ++q.first)
    for (; q.begin < q.ends[q.first]; ++q.begin) {
      const Copy& c = q.copies[q.begin];
      const auto bytes = static_cast<std::size_t>(c.bytes);
      std::memcpy(c.to, c.from, bytes);
      std::memset(static_cast<char*>(c.to) + bytes, 0, 16 - bytes);
    }
  if (q.first == q.ends.size() && q.begin == q.copies.size()) q.clear();
}

void copy_async(void* shared, const void* global, int bytes, const void* caller) {
  if (bytes < 0 || bytes > 16) fail(("cp.async of " + std::to_string(bytes) + " bytes").c_str());
  if (reinterpret_cast<std::uintptr_t>(shared) % 16 != 0 ||
      reinterpret_cast<std::uintptr_t>(global) % 16 != 0)
    fail("cp.async from or to no multiple of 16");
  if (bytes != 0) checker_access(global, static_cast<std::size_t>(bytes), false, false, caller);
  checker_access(shared, 16, true, false, caller);
  std::memset(shared, 0xff, 16);
  Scheduler& s = *Scheduler::running();
  s.copies().add(s.thread(), shared, global, bytes);
}
void end_copies() {
  Scheduler& s = *Scheduler::running();
  s.copies().end_group(s.thread());
}
void wait_for_copies(int groups) {
  Scheduler& s = *Scheduler::running();
  s.copies().arrive(s.thread(), static_cast<std::size_t>(groups));
}

}  // namespace assay::cuda::emulation
