// Data that change while a kernel is timed, so that no result of an earlier call is that of a later one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "../model/call.h"
#include "operands.h"

namespace assay {

// One element of an input tensor, and what it is before and after.
struct Change {
  std::size_t tensor = 0;  // of Operands::inputs()
  std::size_t byte = 0;    // of that tensor's memory
  std::size_t size = 0;
  std::array<std::byte, 16> before{};
  std::array<std::byte, 16> after{};
};

// The same call, some elements of which are others.
struct ChangedCall {
  Call call;
  std::vector<Change> changes;
};

// At most so many elements, each of which becomes what another of its tensor is: of tensors of floats, if there are any, else of all. Nothing
// if the operator does not allow that, or if all elements of each tensor are the same.
std::optional<ChangedCall> with_few_changes(const Call& call, std::size_t most, std::mt19937_64& random);

// Every tensor's elements in their order, but begun elsewhere; halved, if that changes nothing. Nothing if the operator does not allow it.
std::optional<Call> with_all_changed(const Call& call, std::mt19937_64& random);

// Elements whose results differ most between the two calls, by the reference and in relation to their size: at most so many of each
// output, and none whose result is the same.
std::vector<std::vector<std::size_t>> elements_that_differ(const Call& one, const Call& other,
                                                           std::size_t most);

// Makes the changes in an operands' memory, and takes them back, in an order that does not repeat itself.
class Stores {
 public:
  Stores(std::span<const Change> changes, const Operands& operands, std::uint64_t seed);

  // So many of them, at random; what they make has not been there before, but by an accident.
  void next(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      Store& s = stores_[(random_ >> 32) * stores_.size() >> 32];
      put(s, s.is_made ? s.before : s.after);
      s.is_made = !s.is_made;
    }
  }
  // All that are not made.
  void all() {
    for (Store& s : stores_) {
      put(s, s.after);
      s.is_made = true;
    }
  }

 private:
  struct Store {
    std::byte* to;
    const std::byte* before;
    const std::byte* after;
    std::size_t size;
    bool is_made = false;
  };
  static void put(const Store& s, const std::byte* from) {
    switch (s.size) {
      case 1:
        *s.to = *from;
        return;
      case 2:
        std::memcpy(s.to, from, 2);
        return;
      case 4:
        std::memcpy(s.to, from, 4);
        return;
      default:
        std::memcpy(s.to, from, s.size);
    }
  }
  std::vector<Store> stores_;
  std::uint64_t random_;  // not 0
};

}  // namespace assay
