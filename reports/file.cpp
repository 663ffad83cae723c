#include "file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "gzip.h"
#include "text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) {
  std::string text = std::generic_category().message(error);
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return text + ": free some space, or choose another place";
    case EFBIG:
      return text + ": raise the file size limit (ulimit -f)";
    case EACCES:
    case EPERM:
    case EROFS:
      return text + ": change the permissions, or choose another place";
    default:
      return text;
  }
}

[[noreturn]] void cannot(const char* action, const std::string& path, int error) {
  throw FileError(
      fmt::format("cannot {} {}: {}", action, path == "-" ? "standard output" : path, reason(error)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // Some file systems report a full disk only here.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

void write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE && path == "-") return;  // who reads has seen enough
      cannot("write", path, errno);
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Removes the temporary file unless it has become the real one.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  const fs::path& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  fs::path path_;
};

void write_directly(const std::string& path, std::string_view content) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (fd.get() < 0) cannot("write", path, errno);
  write_all(fd.get(), content, path);
  if (!fd.close()) cannot("write", path, errno);
}

// Where a symbolic link leads, so that the rename replaces the file and not the link.
fs::path target_of(const std::string& path) {
  constexpr int kMostLinks = 40;
  fs::path target = path;
  std::error_code error;
  for (int i = 0; fs::is_symlink(target, error); ++i) {
    if (i == kMostLinks) cannot("write", path, ELOOP);
    target = target.parent_path() / fs::read_symlink(target, error);
    if (error) cannot("write", path, error.value());
  }
  return target;
}

void write_and_rename(const std::string& path, std::string_view content) {
  static std::atomic<unsigned> counter{0};
  const fs::path target = target_of(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw FileError(fmt::format("cannot create the folder {}: {}", folder.string(), reason(error.value())));

  Temporary temporary(folder / fmt::format(".assay-{}-{}.tmp", ::getpid(), counter++));
  const char* name = temporary.path().c_str();
  Descriptor fd(::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) cannot("write", path, errno);
  write_all(fd.get(), content, path);
  if (::fsync(fd.get()) != 0 && errno != EINVAL) cannot("write", path, errno);
  if (!fd.close()) cannot("write", path, errno);
  if (::rename(name, target.c_str()) != 0) cannot("write", path, errno);
  temporary.keep();
  // The name is safe once its folder is; where folders cannot be synced, that is all one can do.
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

// One that nobody ever writes to would be waited for without a word.
int open_pipe(const std::string& path) {
  constexpr int kPatienceMs = 2000;
  // Opening it otherwise waits, too, until somebody else opens it to write.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fd;
  pollfd written{fd, POLLIN, 0};
  if (::poll(&written, 1, kPatienceMs) == 0) {
    const std::string note =
        fmt::format("assay: waiting for {}, a pipe that nothing has been written to yet\n", printable(path));
    std::fputs(note.c_str(), stderr);
  }
  while (written.revents == 0 && (::poll(&written, 1, -1) >= 0 || errno == EINTR)) {
  }
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

int open_to_read(const std::string& path) {
  struct stat status {};
  const bool is_pipe = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  return is_pipe ? open_pipe(path) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

std::string read_all(int fd, const std::string& name, std::size_t expected) {
  std::string content;
  content.reserve(expected);
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got == 0) return content;
    if (got > 0) {
      content.append(buffer, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      cannot("read", name, errno);
    }
  }
}

}  // namespace

std::string read_file(const std::string& path) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  const Descriptor fd(standard ? ::dup(STDIN_FILENO) : open_to_read(path));
  if (fd.get() < 0) cannot("read", name, errno);
  struct stat status {};
  const bool known = ::fstat(fd.get(), &status) == 0;
  // Some have no end.
  if (known && !standard && S_ISCHR(status.st_mode) && ::isatty(fd.get()) == 0)
    throw FileError(fmt::format("cannot read {}: it is a device, and no file", name));
  const auto expected = static_cast<std::size_t>(known && S_ISREG(status.st_mode) ? status.st_size : 0);
  try {
    return read_all(fd.get(), name, expected);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw FileError(
      expected > 0
          ? fmt::format("cannot read {}: it has {} bytes, and there is no memory for them", name, expected)
          : fmt::format("cannot read {}: it has more bytes than there is memory for", name));
}

void write_file(const std::string& path, std::string_view content) {
  if (path == "-") {
    std::fflush(stdout);
    write_all(STDOUT_FILENO, content, path);
    return;
  }
  if (path.empty()) throw FileError("cannot write a file: its name is empty");
  std::string compressed;
  if (fs::path(path).extension() == ".gz") content = compressed = gzipped(content);
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) cannot("write", path, EISDIR);
    if (!S_ISREG(status.st_mode)) return write_directly(path, content);
    // A rename would replace even a write-protected file.
    if (::access(path.c_str(), W_OK) != 0) cannot("write", path, errno);
  }
  write_and_rename(path, content);
}

}  // namespace assay
