// The bytes of a file, without a copy of them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace assay {

struct FileBytes {
  std::string name;  // of the file, in messages
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps them where they are; nullptr if the caller does

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  std::string stem() const;  // "x" of "dir/x.npy"
};

// Maps the file, read-only; what is no regular file, and "-" for standard input, is read instead. Throws FileError.
FileBytes map_file(const std::string& path);

}  // namespace assay
