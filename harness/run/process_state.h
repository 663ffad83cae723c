// What a process has beside memory and descriptors, and all that run in it rely on: timers, limits, priority, folder, standard output and
// error, the environment, room for another descriptor, the processor's clock. A kernel may change it while it runs, and must put it back.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

inline constexpr std::string_view kLeftTimer = "a timer running";
// Whether one of setitimer()'s, or of alarm()'s, was running. Stops it.
bool stop_timers();

class ProcessState {
 public:
  // As it is now. A worker's: timers, standard input, output and error, too, and whether there is room for another descriptor. Not of a
  // process that has a timer of its own, as bench's has for calls that do not return.
  explicit ProcessState(bool of_a_worker);

  // What the calls since have left otherwise, for after "left ": "a timer running". Empty: nothing. Puts it right again, as far as the system lets it.
  std::string changed() const;

 private:
  struct File {
    dev_t device = 0;
    ino_t inode = 0;
    bool open = false;
    friend bool operator==(const File&, const File&) = default;
  };
  struct Limit {
    rlim_t soft = 0, hard = 0;
  };
  static File file_of(int descriptor);
  static File folder_of(const char* path);
  bool lost_environment() const;

  std::array<Limit, RLIM_NLIMITS> limits_{};
  int policy_ = 0, nice_ = 0, clock_ = 0, death_ = 0;
  mode_t mask_ = 0;
  File folder_, root_;
  std::array<File, 3> standard_{};
  std::array<int, 3> copies_{};  // of standard descriptors
  int here_ = -1, top_ = -1;     // the folders, opened
  bool of_a_worker_ = false;
  std::vector<std::string> environment_;
  std::vector<char*> pointers_;  // of the environment, as they lay
};

}  // namespace assay
