// Memory that travels with a request or an answer: a file without a name (memfd), whose descriptor goes over the socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "../run/descriptor.h"

namespace assay::serve {

// Fills the span with what lies there. Precondition: parse_request() has seen that it does. Throws RequestError.
using ReadMemory = std::function<void(std::uint64_t offset, std::span<std::byte> into)>;

// What came with a request. It is read by copying, never mapped: whoever sent it may still write it, or cut it short, and then gets an
// error, or the judgement of what was there.
class SharedMemory {
 public:
  SharedMemory() = default;
  // Throws RequestError for what is no file in memory.
  explicit SharedMemory(Descriptor file);
  std::uint64_t size() const { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  Descriptor file_;
  std::uint64_t size_ = 0;
};

// What goes with an answer: arrays one after the other, each at a multiple of 64 bytes.
class AnswerMemory {
 public:
  // Where the array lies; an empty one lies nowhere. Throws RequestError if there is no memory for it.
  std::uint64_t add(std::span<const std::byte> array);
  int descriptor() const { return file_.get(); }  // -1: nothing was added, or only what is empty

 private:
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace assay::serve
