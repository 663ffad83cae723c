// assay serve
#include "../serve/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <thread>

#include "commands.h"
#include "memory.h"
#include "number_checks.h"

namespace assay {
namespace {

bool is_local_socket(int descriptor) {
  int family = 0, type = 0;
  socklen_t size = sizeof family;
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) return false;
  size = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && family == AF_UNIX &&
         type == SOCK_STREAM;
}

// Work that nobody waits for ends at its next look around; what does not look around ends so. The program may be gone although the socket
// is open, as children that it forked have it, too.
void end_with_the_program(int socket) {
  std::thread([socket, parent = getppid()] {
    constexpr int kLook = 500;  // milliseconds
    for (bool gone = false; !gone;) {
      pollfd p{socket, POLLRDHUP, 0};
      gone = poll(&p, 1, kLook) > 0 || getppid() != parent;
    }
    std::this_thread::sleep_for(std::chrono::seconds(2));
    _exit(kAllWell);  // there is nothing to write
  }).detach();
}

int serve_command(int socket) {
  if (!is_local_socket(socket))
    throw UsageError(fmt::format(
        "--socket {}: this descriptor is no stream socket of the family AF_UNIX; programs start `assay serve`, not people",
        socket));
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  keep_freed_memory();
  end_with_the_program(socket);
  serve::serve(socket);
  return kAllWell;
}

}  // namespace

void add_serve(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("serve", "For programs: judges tensors that come over a socket");
  command->footer(
      "The Python package starts it (`import assay`); people have no use for it. The descriptor is one end of a connected socket of\n"
      "the family AF_UNIX. Requests and answers are JSON, tensors lie in memory whose descriptor comes along;\n"
      "docs/internals/serve.md has the protocol, assay.serve/1. It ends when the other end is closed.\n\n"
      "Exit code 0: the other end was closed; 2: the descriptor is no such socket.");
  auto socket = std::make_shared<int>(-1);
  command->add_option("--socket", *socket, "the descriptor of the socket, which this process has inherited")
      ->required()
      ->type_name("FD")
      ->check(whole_number(std::numeric_limits<int>::max()));
  command->callback([socket, &chosen] { chosen = [socket] { return serve_command(*socket); }; });
}

}  // namespace assay
