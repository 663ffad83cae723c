#include "strays.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

namespace assay {

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  // A child belongs to the thread that made it.
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child = 0; list >> child;) found.push_back(child);
  }
  return found;
}

namespace {

struct Adopting {
  std::mutex mutex;
  int lives = 0;
  std::vector<pid_t> before;  // children of this process
} adopting;

// Those that come meanwhile, too.
void end_children_but(const std::vector<pid_t>& spared) {
  for (;;) {
    std::vector<pid_t> all = children();
    std::erase_if(all, [&](pid_t child) { return std::ranges::find(spared, child) != spared.end(); });
    if (all.empty()) return;
    for (const pid_t child : all) kill(child, SIGKILL);
    for (const pid_t child : all)
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
  }
}

}  // namespace

void end_children() { end_children_but({}); }

Adoption::Adoption() {
  const std::lock_guard lock(adopting.mutex);
  if (adopting.lives++ > 0) return;
  adopt_orphans();
  adopting.before = children();
}

Adoption::~Adoption() {
  const std::lock_guard lock(adopting.mutex);
  if (--adopting.lives == 0) end_children_but(adopting.before);
}

}  // namespace assay
