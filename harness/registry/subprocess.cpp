#include "subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "vocabulary/stop.h"

extern char** environ;

namespace assay {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> p;
  for (std::string& s : strings) p.push_back(s.data());
  p.push_back(nullptr);
  return p;
}

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    const std::string_view name = entry.substr(0, entry.find('=') + 1);
    if (std::ranges::none_of(variables, [&](const std::string& v) { return v.starts_with(name); }))
      all.emplace_back(entry);
  }
  return all;
}

using Clock = std::chrono::steady_clock;

// Reads both pipes until they are closed, or the process has ended and they are empty: what it started may hold them for ever.
// False if that takes too long, or a StopScope ends it.
bool drain(int out, int err, int process, Finished& finished, std::optional<Clock::time_point> limit) {
  std::array<pollfd, 3> fds{{{out, POLLIN, 0}, {err, POLLIN, 0}, {process, POLLIN, 0}}};
  std::array<std::string*, 2> texts{&finished.out, &finished.err};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    int patience = -1;
    if (limit) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*limit - Clock::now()).count();
      if (left <= 0) return false;
      patience = static_cast<int>(left);
    }
    if (StopScope::any()) {
      constexpr int kOften = 100;  // milliseconds
      if (StopScope::over()) return false;
      patience = patience < 0 ? kOften : std::min(patience, kOften);
    }
    if (poll(fds.data(), fds.size(), patience) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (fds[2].revents != 0 && (fds[0].revents | fds[1].revents) == 0) break;
    for (std::size_t i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
      if (n > 0)
        texts[i]->append(buffer, static_cast<std::size_t>(n));
      else if (n == 0 || errno != EINTR)
        fds[i].fd = -1;
    }
  }
  return true;
}

}  // namespace

Finished run_program(const std::string& program, const std::vector<std::string>& arguments,
                     const std::vector<std::string>& variables, std::optional<std::chrono::seconds> limit) {
  Finished finished;
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
    return {127, false, false, "", std::string("pipe: ") + std::strerror(errno)};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  std::vector<std::string> argv{program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::vector<std::string> env = environment_with(variables);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, program.c_str(), &actions, nullptr, pointers(argv).data(), pointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  if (error != 0) {
    finished = {127, false, false, "", std::string(std::strerror(error))};
  } else {
    const auto end = limit ? std::optional(Clock::now() + *limit) : std::nullopt;
    const int handle =
        static_cast<int>(syscall(SYS_pidfd_open, pid, 0));  // -1, which poll leaves out: an older system
    finished.late = !drain(out[0], err[0], handle, finished, end);
    if (handle >= 0) close(handle);
    if (finished.late) kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(out[0]);
  close(err[0]);
  if (finished.late) stop_now();
  return finished;
}

}  // namespace assay
