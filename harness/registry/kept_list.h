// What assay-torch says of its kernels, kept between runs: importing torch takes seconds, and every command wants to know them.
//
//   const KeptList kept("/usr/lib/assay/assay-torch");
//   const std::optional<std::string> known = kept.read();  // none: ask, and then kept.write(what it said)
//
// It is kept in a file of $XDG_CACHE_HOME/assay or ~/.cache/assay, and holds for one build of the program, one torch and interpreter with
// the sizes and times of their files, one processor, and the environment's variables that torch and its libraries read. Where there is a GPU,
// which may be busy or come back, and where no file can be read or written, nothing is kept, and nothing fails.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

class KeptList {
 public:
  // `devices`: the folder in which a GPU has its files.
  explicit KeptList(const std::string& program, const std::filesystem::path& devices = "/dev");
  std::optional<std::string> read() const;
  void write(std::string_view description) const;

 private:
  std::string key_;  // all that it depends on; "": it cannot be kept
  std::string file_;
};

}  // namespace assay
