// The arena as a worker has it (protocol.h): mapped where the worker reserved address space, with guards between its parts.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

#include "forbidden.h"
#include "protocol.h"

namespace assay {

// Ends a worker that cannot go on, with what it could not do and why (errno) on standard error.
[[noreturn]] void stop_worker(const char* what);

class WorkerMemory {
 public:
  // Reserves address space, and maps all but the buffers; ends the worker if that is impossible.
  explicit WorkerMemory(int arena_file);

  Control& control() const { return *control_; }
  EntryResult* results() const { return results_; }
  std::byte* at(std::uint64_t address) const { return base_ + address; }  // relative to the reservation
  template <class T>
  const T* message(std::uint64_t offset) const {
    return reinterpret_cast<const T*>(messages_ + offset);
  }
  Reservation reservation() const;

  // Windows stay mapped once they are; the few of very large buffers are mapped for one entry.
  void map_buffers(const WireEntry& entry);
  void unmap_large_buffers(const WireEntry& entry);

  std::span<std::byte> window(const WireBuffer& b) const { return {base_ + b.address, b.bytes}; }
  std::span<const WireBuffer> buffers_of(const WireEntry& entry) const {
    return {message<WireBuffer>(entry.buffers_at), entry.buffers};
  }

  // Between the two, whoever touches an element of a tensor of this entry crashes. Its buffers are mapped.
  void withhold_buffers(const WireEntry& entry) { protect_buffers(entry, false); }
  void give_buffers(const WireEntry& entry) { protect_buffers(entry, true); }

  // By a call of the worker's own, which is not forbidden. Ends the worker if that is impossible.
  static void protect(std::span<std::byte> memory, int protection);

 private:
  void map(Place place, std::size_t bytes, int protection, int flags = 0);
  void protect_buffers(const WireEntry& entry, bool given);

  int arena_file_;
  std::byte* base_ = nullptr;
  Control* control_ = nullptr;
  EntryResult* results_ = nullptr;
  const std::byte* messages_ = nullptr;
  std::bitset<window_count()> mapped_;
};

}  // namespace assay
