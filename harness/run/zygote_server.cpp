#include "zygote_server.h"

#include <dlfcn.h>
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
#include <utility>
#include <vector>

#include "forbidden.h"
#include "futex.h"
#include "protocol.h"
#include "strays.h"
#include "worker_loop.h"

namespace assay {

namespace {

class ZygoteServer {
 public:
  // `before` are the signals that were blocked when the process began.
  ZygoteServer(int socket, WorkerTable table, const sigset_t& before)
      : socket_(socket), table_(std::move(table)), before_(before) {
    sigset_t child = one_signal(SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, nullptr);  // a library may have changed that
    std::signal(SIGCHLD, SIG_DFL);            // and that
    deaths_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  int serve() {
    for (;;) {
      std::vector<pollfd> waiting{{socket_, POLLIN, 0}, {deaths_, POLLIN, 0}};
      for (const Child& child : children_)
        waiting.push_back({child.listener >= 0 ? child.listener : child.watch, POLLIN, 0});
      // Threads of a library may wait for signals, too, and get the one that was for us.
      constexpr int kOften = 200;  // milliseconds
      const int happened = poll(waiting.data(), waiting.size(), children_.empty() ? -1 : kOften);
      if (happened < 0 && errno != EINTR) return kWorkerFailed;
      for (std::size_t i = 2; i < waiting.size(); ++i)
        if (waiting[i].revents != 0) look_at(children_[i - 2]);
      if (waiting[1].revents != 0) {
        signalfd_siginfo info;
        while (read(deaths_, &info, sizeof(info)) > 0) {
        }
      }
      if (waiting[1].revents != 0 || happened == 0) reap();
      if (waiting[0].revents != 0 && !answer()) {
        // The harness is gone. The workers would end with this process (PR_SET_PDEATHSIG); what they started would not.
        for (const Child& child : children_) {
          ::kill(-child.process, SIGKILL);
          ::kill(child.process, SIGKILL);  // which may have left its group
        }
        for (const Child& child : children_) waitpid(child.process, nullptr, 0);
        children_.clear();
        end_children();  // those of libraries, too
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
    int watch = -1;     // from which its first words come
    int listener = -1;  // from which its forbidden calls are read
    bool began = false;
    Reservation reservation{};
    StoppedCall stopped{};
  };

  void close_watch(Child& child) {
    for (int* file : {&child.watch, &child.listener})
      if (*file >= 0) close(std::exchange(*file, -1));
  }

  // What a worker says, or what it or a program of its does that may be forbidden.
  void look_at(Child& child) {
    if (child.listener < 0) {
      Watched watched;
      iovec part{&watched, sizeof watched};
      alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))];
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = room;
      message.msg_controllen = sizeof room;
      child.began = recvmsg(child.watch, &message, MSG_CMSG_CLOEXEC) == sizeof watched;
      const cmsghdr* const header = child.began ? CMSG_FIRSTHDR(&message) : nullptr;
      close_watch(child);
      if (header == nullptr || header->cmsg_len != CMSG_LEN(sizeof(int))) return;
      child.reservation = watched.reservation;
      std::memcpy(&child.listener, CMSG_DATA(header), sizeof child.listener);
      return;
    }
    const StoppedCall stopped = next_stopped_call(child.listener, child.process, child.reservation,
                                                  [this](pid_t process) { return is_of_kernels(process); });
    if (stopped.what == Misdeed::none || child.stopped.what != Misdeed::none) return;
    child.stopped = stopped;
    ::kill(child.process, SIGKILL);
  }

  // Whether a process was started by a kernel, in whichever worker.
  bool is_of_kernels(pid_t process) const {
    const auto is_worker = [&](pid_t p) {
      return std::any_of(children_.begin(), children_.end(), [p](const Child& c) { return c.process == p; });
    };
    if (is_worker(process) ||
        std::find(of_libraries_.begin(), of_libraries_.end(), process) != of_libraries_.end())
      return false;
    for (pid_t p = parent_of(process); p > 1; p = parent_of(p))
      if (p == getpid() || is_worker(p)) return true;
    return false;
  }

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
      std::exit(kWorkerFailed);
    }
    Child child{number, -1, static_cast<Control*>(control), static_cast<Bell*>(bell)};
    int watch[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, watch) != 0) {
      std::snprintf(child.control->start_error, sizeof(child.control->start_error),
                    "cannot make a socket: %s", std::strerror(errno));
      announce(child, 0, Control::kNeverStarted);
      return;
    }
    child.watch = watch[0];
    const pid_t zygote = getpid();
    child.process = fork();
    if (child.process == 0) become_worker(zygote, files, watch);
    close(watch[1]);
    if (child.process < 0) {
      close_watch(child);
      std::snprintf(child.control->start_error, sizeof(child.control->start_error), "cannot fork: %s",
                    std::strerror(errno));
      announce(child, 0, Control::kNeverStarted);
      return;
    }
    children_.push_back(child);
  }

  [[noreturn]] void become_worker(pid_t zygote, const int (&files)[kRequestFiles], const int (&watch)[2]) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != zygote) _exit(0);
    setpgid(0, 0);  // so that processes which a kernel starts can be ended with it
    close(socket_);
    close(deaths_);
    dup2(files[2], STDOUT_FILENO);
    dup2(files[2], STDERR_FILENO);
    close(files[2]);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    close(watch[0]);
    for (Child& other : children_) {
      munmap(other.control, kControlBytes);
      munmap(other.bell, kPage);
      close_watch(other);
    }
    serve_batches(table_, {files[0], files[1], watch[1]});
  }

  void reap() {
    int status = 0;
    for (pid_t process = waitpid(-1, &status, WNOHANG); process > 0;
         process = waitpid(-1, &status, WNOHANG)) {
      ::kill(-process, SIGKILL);
      const auto at = std::find_if(children_.begin(), children_.end(),
                                   [process](const Child& c) { return c.process == process; });
      if (at == children_.end()) continue;
      Child child = *at;
      children_.erase(at);
      if (child.listener < 0 && child.watch >= 0) look_at(child);  // whether it was ready, perhaps unread
      close_watch(child);
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
    control.began = child.began ? 1 : 0;
    control.worker = child.process;
    if (const StoppedCall& s = child.stopped; s.what != Misdeed::none) {
      control.crash.number = static_cast<std::int32_t>(s.what);
      control.crash.code = s.signal;
      control.crash.address = s.address;
      control.crash.write = s.in_call ? 1 : 0;
      control.crash.what.store(Crash::forbidden);
    }
    if (control.crash.what.load() == Crash::signal) name_place(control.crash.instruction, control.where);
    control.wait_status = status;
    control.dead.store(how);
    child.bell->rings.fetch_add(1);
    futex_wake(child.bell->rings);  // whatever a kernel has written there of who listens
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
  sigset_t before_;
  std::vector<Child> children_;
  const std::vector<pid_t> of_libraries_ = children();  // started while they were loaded
};

}  // namespace

sigset_t one_signal(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

int serve_requests(int socket, WorkerTable table, const sigset_t& before) {
  return ZygoteServer(socket, std::move(table), before).serve();
}

}  // namespace assay
