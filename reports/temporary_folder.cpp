#include "temporary_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "file.h"

namespace assay {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) throw FileError(fmt::format("there is no folder for temporary files: {}", error.message()));
  std::string name = (parent / "assay-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw FileError(fmt::format("cannot create a folder in {}: {}", parent.string(), std::strerror(errno)));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace assay
