#include "kept_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace assay {
namespace {

constexpr int kFirstCopy = 900;  // below the 1024 that processes may commonly have

struct Kept {
  int file;
  int copy;
  int flags;
  dev_t device;
  ino_t inode;
};
std::vector<Kept> kept;

bool is_still(int file, const Kept& k) {
  struct stat now {};
  return fstat(file, &now) == 0 && now.st_dev == k.device && now.st_ino == k.inode;
}

std::vector<int> all_open() {
  std::vector<int> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error))
    all.push_back(std::atoi(entry.path().filename().c_str()));
  return all;
}

}  // namespace

void keep_files() {
  for (const int file : all_open()) {
    struct stat now {};
    const int flags = fcntl(file, F_GETFD);
    if (flags < 0 || fstat(file, &now) != 0) continue;  // that of the listing
    kept.push_back({file, fcntl(file, F_DUPFD_CLOEXEC, kFirstCopy), flags, now.st_dev, now.st_ino});
  }
}

std::string files_changed() {
  std::string changed;
  for (const Kept& k : kept) {
    if (is_still(k.file, k)) continue;
    if (changed.empty())
      changed =
          fmt::format("{} file descriptor {}, which it had not opened",
                      fcntl(k.file, F_GETFD) < 0 ? "closed" : "put another file in the place of", k.file);
    if (!is_still(k.copy, k)) _exit(1);
    dup3(k.copy, k.file, (k.flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
  }
  return changed;
}

std::size_t files_open() { return all_open().size(); }

}  // namespace assay
