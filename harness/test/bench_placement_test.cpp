// Where a benchmark runs, and what is said where the system forbids to choose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/bench/placement.h"

namespace assay {
namespace {

// This process's system calls of that number fail from now on, as in a container that forbids them.
void forbid(std::initializer_list<int> numbers) {
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const int number : numbers) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    std::_Exit(70);
}

// Whether this sandbox lets a process forbid anything, and choose processors.
bool may_forbid() {
  const pid_t child = fork();
  if (child == 0) {
    forbid({SYS_sched_setaffinity});
    std::_Exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}
bool may_pin() {
  cpu_set_t own;
  return sched_getaffinity(0, sizeof own, &own) == 0 && sched_setaffinity(0, sizeof own, &own) == 0;
}
std::string a_processor() {
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &own)) return std::to_string(cpu);
  return "0";
}

// What `say` writes to standard error where this is forbidden.
[[noreturn]] void under(std::initializer_list<int> numbers, const std::function<void()>& say) {
  forbid(numbers);
  say();
  std::_Exit(0);
}

void print(const Placement& p) {
  std::fprintf(stderr, "cpus '%s' node '%s'", p.cpus.c_str(), p.node.c_str());
  for (const std::string& note : p.notes) std::fprintf(stderr, "; %s", note.c_str());
}

TEST(Placement, PinsToTheLastProcessors) {
  if (!may_pin()) GTEST_SKIP() << "this system does not let a process choose its processors";
  const Placement p = choose_placement("", "", 1);
  EXPECT_NE(p.cpus, "");
  EXPECT_EQ(p.cpus.find(','), std::string::npos);
}

TEST(PlacementDeathTest, GoesOnUnpinnedWhereTheSystemForbidsToChooseProcessors) {
  if (!may_forbid()) GTEST_SKIP() << "this system does not let a process forbid itself system calls";
  EXPECT_EXIT(under({SYS_sched_setaffinity}, [] { print(choose_placement("", "", 1)); }),
              testing::ExitedWithCode(0),
              testing::AllOf(testing::HasSubstr("cpus ''"), testing::HasSubstr("threads are not pinned")));
  EXPECT_EXIT(under({SYS_sched_setaffinity},
                    [] {
                      try {
                        choose_placement(a_processor(), "", 1);
                      } catch (const std::invalid_argument& e) {
                        std::fprintf(stderr, "%s", e.what());
                      }
                    }),
              testing::ExitedWithCode(0),
              testing::HasSubstr("this system does not let a process choose its processors"));
}

TEST(PlacementDeathTest, SaysThatMemoryCannotBeBound) {
  if (!may_forbid()) GTEST_SKIP() << "this system does not let a process forbid itself system calls";
  EXPECT_EXIT(under({SYS_get_mempolicy, SYS_set_mempolicy}, [] { print(choose_placement("", "", 1)); }),
              testing::ExitedWithCode(0),
              testing::AllOf(testing::HasSubstr("node ''"),
                             testing::HasSubstr("does not let a process bind its memory")));
  EXPECT_EXIT(under({SYS_set_mempolicy}, [] { print(choose_placement("", "", 1)); }),
              testing::ExitedWithCode(0), testing::HasSubstr("does not let a process bind its memory"));
}

}  // namespace
}  // namespace assay
