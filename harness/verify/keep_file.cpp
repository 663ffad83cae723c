#include "keep_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>

#include "../generate/random.h"
#include "reports/file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// File systems allow 255 bytes, of which "-17.h5" and a temporary name want some.
constexpr std::size_t kLongest = 180;
constexpr std::size_t kKeptBehind = 48;

// A file that is there keeps its name, also against another process that looks for one now.
bool is_new(const fs::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file >= 0) {
    ::close(file);
    return true;
  }
  if (errno == EEXIST) return false;
  throw FileError(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

}  // namespace

std::string safe_file_name(std::string_view text) {
  std::string name(text);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::strchr("._+-", c) == nullptr) c = '_';
  if (name.size() <= kLongest) return name;
  const std::string number = fmt::format("-{:016x}-", hash(text));
  return name.substr(0, kLongest - kKeptBehind - number.size()) + number +
         name.substr(name.size() - kKeptBehind);
}

fs::path keep_case_file(const fs::path& folder, const std::string& name, const CaseFile& file) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw FileError(fmt::format("cannot create the folder {}: {}", folder.string(), error.message()));
  for (int number = 1;; ++number) {
    const fs::path path = folder / (number == 1 ? name + ".h5" : fmt::format("{}-{}.h5", name, number));
    const std::string bytes = encode_case_file(file, path.string());
    if (is_new(path)) {
      try {
        write_file(path.string(), bytes);
      } catch (...) {
        ::unlink(path.c_str());
        throw;
      }
      return path;
    }
    if (fs::is_regular_file(path, error) && read_file(path.string()) == bytes) return path;
  }
}

}  // namespace assay
