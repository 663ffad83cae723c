// Reading and writing whole files, with errors that name the file, the reason and what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace assay {

// A file that cannot be read or written, or does not hold what it should. The message names the file.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// All bytes of the file; "-" is standard input. A pipe that nothing comes from for two seconds is waited for with a note on
// standard error. Throws FileError, also for devices that are no terminal.
std::string read_file(const std::string& path);

// Creates missing folders, writes under a temporary name in the same folder, and renames once the bytes are
// on the disk: readers see the old file or the new one, never half of one. "-" is standard output; devices
// and pipes are written to directly; a symbolic link keeps pointing at what it points to. A name that ends in ".gz" gets the content
// compressed by gzip. Throws FileError, and then the file is as it was.
void write_file(const std::string& path, std::string_view content);

}  // namespace assay
