// Kernels of run_test_worker.cpp that do something to processes: end, hold up or copy their own, stop another, or leave some at work.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "run_test_kernels.h"

namespace assay::test {

inline int exit_now(const assay_call*) { std::exit(0); }
inline int quick_exit_now(const assay_call*) { _exit(5); }
inline int hang(const assay_call*) {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

inline int killed_by_itself(const assay_call*) {
  kill(getpid(), SIGKILL);
  return ASSAY_OK;
}
inline int killed_once(const assay_call* call) {
  // The first process that gets here leaves a mark.
  const std::string mark = std::getenv("RUN_TEST_MARK");
  if (access(mark.c_str(), F_OK) != 0) {
    std::fclose(std::fopen(mark.c_str(), "w"));
    kill(getpid(), SIGKILL);
  }
  return twice(call);
}

inline int forks(const assay_call* call) {
  if (fork() == 0) {
    sleep(30);
    _exit(0);
  }
  return twice(call);
}
// As daemon(3) does: neither its group nor its parent leads to it.
inline int starts_a_daemon(const assay_call* call) {
  if (const pid_t child = fork(); child == 0) {
    setsid();
    if (fork() == 0) sleep(30);
    _exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
  return twice(call);
}
inline int starts_a_daemon_and_hangs(const assay_call* call) {
  setpgid(0, getpgid(getppid()));
  starts_a_daemon(call);
  return hang(call);
}
inline int stops_its_parent(const assay_call* call) {
  kill(getppid(), SIGSTOP);
  return twice(call);
}
inline int stops_its_parent_and_hangs(const assay_call* call) {
  kill(getppid(), SIGSTOP);
  return hang(call);
}
inline int forks_and_returns(const assay_call* call) {
  fork();
  return twice(call);
}
inline int forks_and_returns_late(const assay_call* call) {
  if (fork() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return twice(call);
}
inline int forks_and_exits(const assay_call* call) {
  if (fork() == 0) std::exit(4);
  return twice(call);
}

}  // namespace assay::test
