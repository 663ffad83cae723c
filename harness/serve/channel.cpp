#include "channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>

namespace assay::serve {
namespace {

constexpr std::size_t kHeader = 8;
constexpr std::size_t kMostDescriptors =
    16;  // that one part of a message may bring; they are all closed but one

// Fills `into`, and keeps the first descriptor that comes with it. False at the end of the stream.
bool fill(int socket, std::span<char> into, Message& message) {
  while (!into.empty()) {
    iovec part{into.data(), into.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors)> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ECONNRESET) return false;
    if (n < 0) throw std::system_error(errno, std::generic_category(), "cannot read from the socket");
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
        int number = -1;
        std::memcpy(&number, reinterpret_cast<const char*>(c) + at, sizeof number);
        Descriptor one(number);
        if (message.memory)
          message.too_many = true;
        else
          message.memory = std::move(one);
      }
    }
    if ((header.msg_flags & MSG_CTRUNC) != 0) message.too_many = true;
    if (n == 0) return false;
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

std::optional<Message> receive(int socket) {
  Message message;
  std::array<char, kHeader> header{};
  if (!fill(socket, header, message)) return std::nullopt;
  std::uint64_t size = 0;
  for (std::size_t i = kHeader; i-- > 0;) size = size << 8 | static_cast<unsigned char>(header[i]);
  if (size > kMostText) {
    message.too_long = size;
    return message;
  }
  message.text.resize(size);
  if (!fill(socket, message.text, message)) return std::nullopt;
  return message;
}

bool send(int socket, std::string_view text, int memory) {
  std::string all(kHeader, '\0');
  for (std::size_t i = 0; i < kHeader; ++i) all[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  all += text;
  std::string_view left = all;
  while (!left.empty()) {
    iovec part{const_cast<char*>(left.data()), left.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (memory >= 0 && left.size() == all.size()) {
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      cmsghdr* c = CMSG_FIRSTHDR(&header);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(c), &memory, sizeof memory);
    }
    const ssize_t n = sendmsg(socket, &header, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool is_closed(int socket) {
  pollfd p{socket, POLLRDHUP, 0};
  return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace assay::serve
