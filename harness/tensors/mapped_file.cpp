#include "mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "reports/file.h"

namespace assay {
namespace {

FileBytes read_instead(const std::string& path) {
  const auto content = std::make_shared<const std::string>(read_file(path));
  return {path == "-" ? "standard input" : path, std::as_bytes(std::span(*content)), content};
}

[[noreturn]] void cannot_read(const std::string& path, int error) {
  throw FileError(fmt::format("cannot read {}: {}", path, std::generic_category().message(error)));
}

}  // namespace

std::string FileBytes::stem() const { return std::filesystem::path(name).stem().string(); }

FileBytes map_file(const std::string& path) {
  struct stat status {};
  // Who writes to a pipe would find it closed again.
  const bool is_pipe = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  if (path == "-" || is_pipe) return read_instead(path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) cannot_read(path, errno);
  const bool known = ::fstat(fd, &status) == 0;
  const auto size = static_cast<std::size_t>(known ? status.st_size : 0);
  void* memory = MAP_FAILED;
  if (known && S_ISREG(status.st_mode) && size > 0)
    memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) return read_instead(path);
  std::shared_ptr<const void> owner(memory, [size](const void* m) { ::munmap(const_cast<void*>(m), size); });
  return {path, {static_cast<const std::byte*>(memory), size}, std::move(owner)};
}

}  // namespace assay
