// Whether a process still runs the code that it was started with: a kernel in it can write over functions of the program, the clock
// that times it among them, and over those of the C library.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace assay {

// Whether a file is the program, the C library or the loader: whose code it is that times and judges.
bool is_code_of_ours(const std::string& file, const std::string& program);

// The pages of a process that hold code of its program, of the C library and of the loader.
class OwnCode {
 public:
  // As they are now. Where the system does not show them, nothing is ever said to have changed.
  explicit OwnCode(pid_t process);

  // The file whose code is not what it was, or "".
  std::string changed() const;

 private:
  struct Mapping {
    std::string range;  // "55d0-55e0 r-xp 0001000"
    std::string file;
    long written_kb = 0;  // of it, which a file's code never is
    friend bool operator==(const Mapping&, const Mapping&) = default;
  };
  static std::vector<Mapping> mappings(pid_t process);

  pid_t process_;
  std::vector<Mapping> before_;
};

}  // namespace assay
