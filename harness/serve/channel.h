// Messages over a connected socket of the family AF_UNIX: eight bytes that say how long the text is, little-endian, the text, and beside
// its first byte at most one descriptor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../run/descriptor.h"

namespace assay::serve {

inline constexpr std::uint64_t kMostText = std::uint64_t{4}
                                           << 20;  // of a request: its tensors are not part of it

struct Message {
  std::string text;
  Descriptor memory;      // or none
  bool too_many = false;  // more descriptors came; they were closed
  std::uint64_t too_long =
      0;  // how long it says that it is, if that is more than kMostText: nothing after it can be read
};

// The next message; nothing where the other side has closed the socket, or ended in the middle of one. Throws std::system_error for what is
// no such socket.
std::optional<Message> receive(int socket);

// False if nobody is there to read it. `memory`: a descriptor, or -1.
bool send(int socket, std::string_view text, int memory);

// Whether the other side has closed the socket.
bool is_closed(int socket);

}  // namespace assay::serve
