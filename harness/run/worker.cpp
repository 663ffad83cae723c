// worker_main: the process between the harness and its workers. It loads the kernels once, stays single-threaded, and
// forks a worker whenever a lane asks for one (zygote_server.h); so a worker costs 0.1 ms, and the harness itself is never forked.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../coverage/blocks.h"
#include "../coverage/runtime.h"
#include "describe.h"
#include "lane.h"
#include "loading.h"
#include "protocol.h"
#include "strays.h"
#include "zygote_server.h"

namespace assay {

namespace {

constexpr int kUsage = 2;

bool greet(int socket, bool ok, std::string_view text) {
  const Greeting greeting{ok ? 1u : 0u, static_cast<std::uint32_t>(text.size())};
  if (send(socket, &greeting, sizeof(greeting), MSG_NOSIGNAL) < 0) return false;
  for (std::size_t at = 0; at < text.size(); at += kGreetingPacket)
    if (send(socket, text.data() + at, std::min(kGreetingPacket, text.size() - at), MSG_NOSIGNAL) < 0)
      return false;
  return true;
}

using Load = std::function<WorkerTable(std::span<const std::string>)>;

int serve(int socket, const Load& load, std::span<const std::string> arguments) {
  // Ctrl-C is for the harness, which ends this process by closing the socket.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  // Until the table is loaded nobody reads the socket: a signal tells when the harness is gone.
  fcntl(socket, F_SETOWN, getpid());
  const int flags = fcntl(socket, F_GETFL);
  fcntl(socket, F_SETFL, flags | O_ASYNC);
  pollfd gone{socket, 0, 0};
  if (poll(&gone, 1, 0) > 0) return 0;

  // Before a library starts threads: those that do not block it would be told of the workers' ends.
  sigset_t before;
  const sigset_t child = one_signal(SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, &before);
  adopt_orphans();
  std::optional<WorkerTable> table;
  try {
    const LoadingGuard guard(
        arguments, [](int to, std::string_view text) { greet(to, false, text); }, socket);
    begin_coverage();
    table = load(arguments);
    find_covered_modules();
  } catch (const std::exception& error) {
    greet(socket, false, error.what());
    end_children();
    return kWorkerFailed;
  }
  fcntl(socket, F_SETFL, flags);
  std::string names;
  for (const assay_kernel& k : table->kernels)
    names.append(k.name != nullptr ? k.name : "").append(1, '\0').append(k.schema).append(1, '\0');
  if (!greet(socket, true, names)) return 0;
  return serve_requests(socket, std::move(*table), before);
}

// All of it, to a file or pipe; false if that is impossible.
bool write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(to, text.data(), text.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void say(int to, std::string_view sentence) {
  write_all(to, sentence);
  write_all(to, "\n");
}

int list(const Load& load, std::span<const std::string> arguments, bool blocks) {
  // What libraries print while they load must not get between the JSON.
  const int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  std::string text;
  adopt_orphans();
  try {
    const LoadingGuard guard(arguments, say, STDERR_FILENO);
    begin_coverage();
    const WorkerTable table = load(arguments);
    find_covered_modules();
    text = blocks ? description(covered_modules()) : description(table);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    end_children();
    return kWorkerFailed;
  }
  end_children();  // which the library started when it was loaded
  text += '\n';
  if (!write_all(out, text)) {
    std::perror("cannot write the list of kernels");
    return kWorkerFailed;
  }
  return 0;
}

}  // namespace

int worker_main(int argc, char** argv, const Load& kernels) {
  const std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
  const auto usage = [] {
    std::fputs(
        "usage: worker --list|--blocks [--plugin LIB.so]\n       worker --zygote FD [--plugin LIB.so]\n",
        stderr);
    return kUsage;
  };
  if (arguments.empty()) return usage();
  int status = kUsage;
  if (arguments[0] == "--list" || arguments[0] == "--blocks") {
    status = list(kernels, std::span(arguments).subspan(1), arguments[0] == "--blocks");
  } else if (arguments[0] == "--zygote" && arguments.size() >= 2) {
    char* end = nullptr;
    const long socket = std::strtol(arguments[1].c_str(), &end, 10);
    if (*end != 0) return usage();
    status = serve(static_cast<int>(socket), kernels, std::span(arguments).subspan(2));
  } else {
    return usage();
  }
  // Destructors of loaded libraries have nothing to add, and some crash.
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace assay
