#include "process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace assay {

namespace {

std::string_view variable_name(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

// The environment's own variables, our defaults where it has none, and what is inherited of the rest.
std::vector<std::string> variables_of(const Environment& environment) {
  std::vector<std::string> variables = environment.variables;
  const auto add = [&](std::string_view assignment) {
    for (const std::string& v : variables)
      if (variable_name(v) == variable_name(assignment)) return;
    variables.emplace_back(assignment);
  };
  // Workers use all cores already. Threads that spin while they wait for work would take them from each other.
  add("OMP_NUM_THREADS=1");
  add("OMP_WAIT_POLICY=passive");
  for (char** v = environ; *v != nullptr; ++v) add(*v);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> p;
  for (std::string& t : texts) p.push_back(t.data());
  p.push_back(nullptr);
  return p;
}

}  // namespace

pid_t start_process(const Environment& environment, std::span<const std::string> first,
                    const ChildFiles& files) {
  std::vector<std::string> arguments{environment.program};
  arguments.insert(arguments.end(), environment.before.begin(), environment.before.end());
  arguments.emplace_back("worker");
  arguments.insert(arguments.end(), first.begin(), first.end());
  arguments.insert(arguments.end(), environment.arguments.begin(), environment.arguments.end());
  std::vector<std::string> variables = variables_of(environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  // `extra` first: the others are below it and cannot be overwritten by it.
  if (files.extra >= 0) posix_spawn_file_actions_adddup2(&actions, files.extra, 3);
  posix_spawn_file_actions_adddup2(&actions, files.out, 1);
  posix_spawn_file_actions_adddup2(&actions, files.err, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, files.extra >= 0 ? 4 : 3);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t process = -1;
  const int error = posix_spawn(&process, environment.program.c_str(), &actions, &attributes,
                                pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw std::runtime_error(
        fmt::format("cannot start the worker program {}: {}", environment.program, std::strerror(error)));
  return process;
}

int end_process(pid_t process, int patience_ms) {
  int status = 0;
  if (patience_ms >= 0) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
    while (true) {
      const pid_t ended = waitpid(process, &status, WNOHANG);
      if (ended == process) return status;
      if (ended < 0 && errno != EINTR) return 0;
      if (std::chrono::steady_clock::now() >= limit) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    kill(-process, SIGKILL);
    kill(process, SIGKILL);
  }
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return 0;
  return status;
}

std::chrono::nanoseconds queued(pid_t process) {
  std::ifstream stat(fmt::format("/proc/{}/schedstat", process));
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  if (!(stat >> running >> waiting)) return std::chrono::nanoseconds(0);
  return std::chrono::nanoseconds(waiting);
}

std::string ending(int status) {
  if (WIFEXITED(status)) return fmt::format("ended with exit status {}", WEXITSTATUS(status));
  if (WIFSIGNALED(status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with wait status {:#x}", status);
}

}  // namespace assay
