#include "forked.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace assay {

bool is_forked(const Environment& environment) { return environment.program.starts_with('@'); }

ForkedProcess fork_process(const Environment& environment, std::string_view first) {
  const auto fail = [&](const char* what) {
    return std::runtime_error(fmt::format("the Python program at socket {} {}: {}", environment.program, what,
                                          std::strerror(errno)));
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string_view name = std::string_view(environment.program).substr(1);
  if (name.size() + 1 > sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    throw fail("cannot be reached");
  }
  std::ranges::copy(name, address.sun_path + 1);
  ForkedProcess forked{Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)), -1};
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (forked.socket.get() < 0 ||
      connect(forked.socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    throw fail("cannot be reached");
  std::string words(first);
  for (const std::string& word : environment.arguments) words += '\0' + word;
  if (send(forked.socket.get(), words.data(), words.size(), MSG_NOSIGNAL) < 0) throw fail("cannot be asked");
  std::int32_t process = -1;
  ssize_t got = -1;
  do got = recv(forked.socket.get(), &process, sizeof process, 0);
  while (got < 0 && errno == EINTR);
  if (got != sizeof process || process <= 0) {
    if (got >= 0) errno = ECONNRESET;
    throw fail("did not fork");
  }
  forked.process = process;
  return forked;
}

}  // namespace assay
