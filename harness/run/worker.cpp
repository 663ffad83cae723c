// worker_main: the process between the harness and its workers. It loads the kernels once, stays single-threaded, and
// forks a worker whenever a lane asks for one; so a worker costs 0.1 ms, and the harness itself is never forked.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
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
#include <vector>

#include "../coverage/blocks.h"
#include "../coverage/runtime.h"
#include "describe.h"
#include "futex.h"
#include "lane.h"
#include "loading.h"
#include "protocol.h"
#include "strays.h"
#include "worker_loop.h"

namespace assay {

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

class ZygoteServer {
 public:
  ZygoteServer(int socket, WorkerTable table) : socket_(socket), table_(std::move(table)) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before_);
    deaths_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    adopt_orphans();
  }

  int serve() {
    for (;;) {
      pollfd waiting[] = {{socket_, POLLIN, 0}, {deaths_, POLLIN, 0}};
      if (poll(waiting, 2, -1) < 0 && errno != EINTR) return kFailed;
      if (waiting[1].revents != 0) {
        signalfd_siginfo info;
        while (read(deaths_, &info, sizeof(info)) > 0) {
        }
        reap();
      }
      if (waiting[0].revents != 0 && !answer()) {
        // The harness is gone. The workers would end with this process (PR_SET_PDEATHSIG); what they started would not.
        for (const Child& child : children_) {
          ::kill(-child.process, SIGKILL);
          ::kill(child.process, SIGKILL);  // which may have left its group
        }
        for (const Child& child : children_) waitpid(child.process, nullptr, 0);
        children_.clear();
        while (kill_strays()) waitpid(-1, nullptr, 0);
        return 0;
      }
    }
  }

 private:
  struct Child {
    std::uint32_t number;
    pid_t process;
    Control* control;
    Bell* bell;
  };

  bool answer() {
    Request request{};
    iovec part{&request, sizeof(request)};
    alignas(cmsghdr) char room[CMSG_SPACE(kRequestFiles * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof(room);
    const ssize_t got = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) return true;
    if (got != sizeof(request)) return false;
    if (request.kind == Request::kill) {
      for (const Child& child : children_)
        if (child.number == request.worker) ::kill(child.process, SIGKILL);
      return true;
    }
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_len != CMSG_LEN(kRequestFiles * sizeof(int))) return false;
    int files[kRequestFiles];
    std::memcpy(files, CMSG_DATA(header), sizeof(files));
    start(request.worker, files);
    for (const int file : files) close(file);
    return true;
  }

  void start(std::uint32_t number, const int (&files)[kRequestFiles]) {
    void* control = mmap(nullptr, kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
    void* bell = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, files[1], 0);
    if (control == MAP_FAILED || bell == MAP_FAILED) {
      // Without them nobody can be told. The lane learns it from the closed socket.
      std::perror("assay: cannot map the memory of a worker");
      std::exit(kFailed);
    }
    Child child{number, -1, static_cast<Control*>(control), static_cast<Bell*>(bell)};
    const pid_t zygote = getpid();
    child.process = fork();
    if (child.process == 0) become_worker(zygote, files);
    if (child.process < 0) {
      std::snprintf(child.control->start_error, sizeof(child.control->start_error), "cannot fork: %s",
                    std::strerror(errno));
      announce(child, 0, Control::kNeverStarted);
      return;
    }
    children_.push_back(child);
  }

  [[noreturn]] void become_worker(pid_t zygote, const int (&files)[kRequestFiles]) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != zygote) _exit(0);
    setpgid(0, 0);  // so that processes which a kernel starts can be ended with it
    close(socket_);
    close(deaths_);
    dup2(files[2], STDOUT_FILENO);
    dup2(files[2], STDERR_FILENO);
    close(files[2]);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    for (const Child& other : children_) {
      munmap(other.control, kControlBytes);
      munmap(other.bell, kPage);
    }
    serve_batches(table_, {files[0], files[1]});
  }

  void reap() {
    int status = 0;
    for (pid_t process = waitpid(-1, &status, WNOHANG); process > 0;
         process = waitpid(-1, &status, WNOHANG)) {
      ::kill(-process, SIGKILL);
      const auto at = std::find_if(children_.begin(), children_.end(),
                                   [process](const Child& c) { return c.process == process; });
      if (at == children_.end()) continue;
      const Child child = *at;
      children_.erase(at);
      announce(child, status, Control::kEnded);
    }
    if (children_.empty()) kill_strays();
  }

  // What dead workers have left, when none is alive: whose a process is that has lost its parent, nobody knows. Its children
  // come here when it dies, and are next. True if there were some.
  bool kill_strays() {
    bool some = false;
    for (const pid_t process : children()) {
      const auto is_it = [process](const Child& c) { return c.process == process; };
      if (std::any_of(children_.begin(), children_.end(), is_it) ||
          std::find(of_libraries_.begin(), of_libraries_.end(), process) != of_libraries_.end())
        continue;
      ::kill(process, SIGKILL);
      some = true;
    }
    return some;
  }

  void announce(const Child& child, int status, std::uint32_t how) {
    Control& control = *child.control;
    control.where[0] = 0;
    if (control.crash.what.load() == Crash::signal) name_place(control.crash.instruction, control.where);
    control.wait_status = status;
    control.dead.store(how);
    child.bell->rings.fetch_add(1);
    if (child.bell->listening.load() != 0) futex_wake(child.bell->rings);
    munmap(child.control, kControlBytes);
    munmap(child.bell, kPage);
  }

  // The worker was a copy of this process, so its addresses mean the same here.
  static void name_place(std::uint64_t instruction, char (&where)[sizeof(Control::where)]) {
    Dl_info found{};
    if (dladdr(reinterpret_cast<void*>(instruction), &found) == 0 || found.dli_fname == nullptr) return;
    const char* slash = std::strrchr(found.dli_fname, '/');
    const char* file = slash != nullptr ? slash + 1 : found.dli_fname;
    const auto offset =
        static_cast<unsigned long>(instruction - reinterpret_cast<std::uint64_t>(found.dli_fbase));
    if (found.dli_sname != nullptr)
      std::snprintf(where, sizeof(where), "%s+0x%lx (%s)", file, offset, found.dli_sname);
    else
      std::snprintf(where, sizeof(where), "%s+0x%lx", file, offset);
  }

  int socket_;
  int deaths_ = -1;
  WorkerTable table_;
  sigset_t before_{};
  std::vector<Child> children_;
  const std::vector<pid_t> of_libraries_ = children();  // started while they were loaded
};

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

  std::optional<WorkerTable> table;
  try {
    const LoadingGuard guard(
        arguments, [](int to, std::string_view text) { greet(to, false, text); }, socket);
    begin_coverage();
    table = load(arguments);
    find_covered_modules();
  } catch (const std::exception& error) {
    greet(socket, false, error.what());
    return kFailed;
  }
  fcntl(socket, F_SETFL, flags);
  std::string names;
  for (const assay_kernel& k : table->kernels)
    names.append(k.name != nullptr ? k.name : "").append("\n").append(k.schema).append("\n");
  if (!greet(socket, true, names)) return 0;
  return ZygoteServer(socket, std::move(*table)).serve();
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
  try {
    const LoadingGuard guard(arguments, say, STDERR_FILENO);
    begin_coverage();
    const WorkerTable table = load(arguments);
    find_covered_modules();
    text = blocks ? description(covered_modules()) : description(table);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kFailed;
  }
  text += '\n';
  if (!write_all(out, text)) {
    std::perror("cannot write the list of kernels");
    return kFailed;
  }
  return 0;
}

}  // namespace

int worker_main(int argc, char** argv, const Load& kernels) {
  const std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
  const auto usage = [] {
    std::fputs("usage: worker --list|--blocks [--plugin LIB.so]\n       worker --zygote FD [--plugin LIB.so]\n",
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
