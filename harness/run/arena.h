// The lane's side of the memory that it shares with one worker; see protocol.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>

#include "descriptor.h"
#include "protocol.h"

namespace assay {

// There is not enough memory for a call; the message says how much it would take.
struct NoMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A part of the arena that one buffer has to itself for one batch.
struct ArenaWindow {
  Place place;
  std::size_t bytes = 0;
  std::uint32_t number = kNothing;  // kNothing: in the large region
};

class Arena {
 public:
  Arena();  // throws std::system_error
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int file() const { return file_.get(); }
  Control& control() { return *reinterpret_cast<Control*>(fixed_); }
  EntryResult& result(std::uint32_t entry) {
    return reinterpret_cast<EntryResult*>(fixed_ + kResultPlace.file)[entry];
  }
  const CoverageLog& coverage() const {
    return *reinterpret_cast<const CoverageLog*>(fixed_ + kCoveragePlace.file);
  }
  std::span<std::byte> messages() { return {fixed_ + kMessagePlace.file, kMessageBytes}; }

  // What is in use, so that a call that does not fit can be taken back.
  struct Used {
    std::array<std::array<std::uint32_t, 2>, kWindowClasses.size()> windows{};
    std::size_t large_file = 0;
    std::size_t large_address = 0;
  };
  const Used& used() const { return used_; }
  void restore(const Used& used) { used_ = used; }

  // A window of at least this many bytes; the smallest that fits. Nothing if all of that class are taken, unless
  // `anyhow`: then a place is made in the large region, as for buffers larger than any window. Throws NoMemory.
  std::optional<ArenaWindow> take(std::size_t bytes, bool writable, bool anyhow);

  // Where this window begins here. Valid until the next take().
  std::byte* at(const ArenaWindow& window) {
    return window.number == kNothing ? large_ + (window.place.file - kLargePlace.file)
                                     : fixed_ + window.place.file;
  }

  // Every window is free again; memory of very large buffers goes back to the system.
  void clear();

 private:
  void grow(std::size_t bytes);
  void shrink(std::size_t bytes);
  void shrink_file(std::size_t large_bytes);

  Descriptor file_;
  std::byte* fixed_ = nullptr;
  std::byte* large_ = nullptr;
  std::size_t large_bytes_ = 0;  // mapped and allocated
  Used used_;
};

// The page on which all workers of a lane ring.
class BellPage {
 public:
  BellPage();
  ~BellPage();
  BellPage(const BellPage&) = delete;
  BellPage& operator=(const BellPage&) = delete;
  int file() const { return file_.get(); }
  Bell& bell() { return *bell_; }

 private:
  Descriptor file_;
  Bell* bell_ = nullptr;
};

}  // namespace assay
