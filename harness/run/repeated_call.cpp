#include "repeated_call.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace assay {

void RepeatedCall::remember(const WorkerMemory& memory) {
  for (const WireBuffer& b : memory.buffers_of(*data)) {
    const std::span<std::byte> w = memory.window(b);
    before.emplace_back(w.begin(), w.end());
  }
}

void RepeatedCall::restore(const WorkerMemory& memory, bool inputs) const {
  const std::span<const WireBuffer> buffers = memory.buffers_of(*place);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::span<std::byte> w = memory.window(buffers[i]);
    if (buffers[i].writable != 0) {
      std::memcpy(w.data(), before[i].data(), w.size());
    } else if (inputs) {
      WorkerMemory::protect(w, PROT_READ | PROT_WRITE);
      std::memcpy(w.data(), before[i].data(), w.size());
      WorkerMemory::protect(w, PROT_READ);
    }
  }
}

bool RepeatedCall::left_the_same(const WorkerMemory& memory) {
  const bool first = after.empty();
  std::size_t i = 0;
  for (const WireBuffer& b : memory.buffers_of(*place)) {
    if (b.writable == 0) continue;
    const std::span<std::byte> w = memory.window(b);
    if (first)
      after.emplace_back(w.begin(), w.end());
    else if (std::memcmp(w.data(), after[i++].data(), w.size()) != 0)
      return false;
  }
  return true;
}

void RepeatedCall::show(const WorkerMemory& memory) const {
  const std::span<const WireBuffer> from = memory.buffers_of(*place);
  const std::span<const WireBuffer> to = memory.buffers_of(*data);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (to[i].writable != 0)
      std::memcpy(memory.window(to[i]).data(), memory.window(from[i]).data(), to[i].bytes);
}

}  // namespace assay
