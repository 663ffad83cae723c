#include "left_at_work.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace assay {
namespace {

constexpr std::chrono::milliseconds kGoingToSleep{300};
constexpr std::chrono::microseconds kBetweenLooks{500};
constexpr int kLooks = 8;

// Of a process or a thread: R where it computes or would if it had a processor, S where it waits. 0 if there is none.
char state_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');  // its name may have blanks
  return name_end == std::string::npos || text.size() < name_end + 3 ? '\0' : text[name_end + 2];
}

std::size_t computing_now() {
  std::error_code error;
  const std::string self = std::to_string(gettid());
  std::size_t n = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error))
    if (task.path().filename() != self && state_of(task.path()) == 'R') ++n;
  return n;
}

}  // namespace

std::size_t threads_at_work() {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    // One that wakes up now and then is seen asleep as well.
    std::size_t least = computing_now();
    for (int look = 1; look < kLooks && least > 0; ++look) {
      std::this_thread::sleep_for(kBetweenLooks);
      least = std::min(least, computing_now());
    }
    if (least == 0 || std::chrono::steady_clock::now() - begin >= kGoingToSleep) return least;
  }
}

std::vector<pid_t> processes_started() {
  std::vector<pid_t> all;
  bool ended = true;
  // One that ends after it is listed may leave a child that is ours from then on.
  for (int look = 0; look < 2 && ended; ++look) {
    all.clear();
    ended = false;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
      std::ifstream children(task.path() / "children");
      for (pid_t child; children >> child;) {
        const char state = state_of(fmt::format("/proc/{}", child));
        const bool is_over = state == '\0' || state == 'Z';
        ended = ended || is_over;
        if (!is_over) all.push_back(child);
      }
    }
  }
  return all;
}

}  // namespace assay
