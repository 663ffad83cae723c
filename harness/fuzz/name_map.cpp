// Files of --map: read_name_map() throws FileError that names the file, or gives pairs of names that are written and read the same.
#include <sys/mman.h>
#include <unistd.h>

#include "../diff/match.h"
#include "reports/file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {"conv.weight\tfeatures.0.weight\nbn.bias  features.1.bias  # the second\n\n# nothing\n",
          "layers.0/act:out1 n12\r\n", "\xC3\xA9 \"a\" # x", "act/prelu#2 \"#1 of \\\"b\\\"\" #"};
}

std::string in_quotes(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// A file in memory, which has a path: the reader takes nothing else.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("map", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(fd_)) {
    if (fd_ < 0) broken("there is no file in memory");
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& with(std::string_view text) const {
    if (::ftruncate(fd_, 0) != 0 ||
        ::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      broken("the file in memory cannot be written");
    return path_;
  }
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

bool run(std::string_view input) {
  static const MemoryFile file;
  diff::NameMap map;
  try {
    map = diff::read_name_map(file.with(input));
  } catch (const FileError& e) {
    if (std::string_view(e.what()).find(file.path()) == std::string_view::npos)
      broken("an error that does not name the file");
    return false;
  }
  std::string written;
  for (const auto& [a, b] : map) {
    if (a.empty() || b.empty()) broken("a name is empty");
    written += in_quotes(a) + " " + in_quotes(b) + "\n";
  }
  if (diff::read_name_map(file.with(written)) != map)
    broken("written and read again, the map is another one");
  return true;
}

}  // namespace

const Target kNameMap{"name_map", seeds, run};

}  // namespace assay::fuzz
