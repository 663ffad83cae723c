// A folder for the time of one task.
#pragma once

#include <filesystem>
#include <string>

namespace assay {

// A new, empty folder of this process alone; it goes, with all that is in it, when this object does.
class TemporaryFolder {
 public:
  // Throws FileError when the system's folder for temporary files (TMPDIR, else /tmp) takes none.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace assay
