#include "own_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace assay {

bool is_code_of_ours(const std::string& file, const std::string& program) {
  const std::string name = std::filesystem::path(file).filename().string();
  return file == program || name.starts_with("libc.so") || name.starts_with("libc-") ||
         name.starts_with("ld-linux") || name.starts_with("ld-");
}

OwnCode::OwnCode(pid_t process) : process_(process), before_(mappings(process)) {}

std::vector<OwnCode::Mapping> OwnCode::mappings(pid_t process) {
  std::vector<Mapping> all;
  std::error_code error;
  const std::string program =
      std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), error).string();
  std::ifstream file(fmt::format("/proc/{}/smaps", process));
  bool taken = false;
  for (std::string line; std::getline(file, line);) {
    // "55d0-55e0 r-xp 00001000 fe:00 1234   /usr/bin/assay", and then lines of "Anonymous:  0 kB".
    std::istringstream words(line);
    std::string range, access, offset, device, inode, path;
    if (line.find('-') < line.find(' ')) {
      words >> range >> access >> offset >> device >> inode;
      std::getline(words >> std::ws, path);
      taken = access.find('x') != std::string::npos && is_code_of_ours(path, program);
      if (taken) all.push_back({fmt::format("{} {} {}", range, access, offset), path});
    } else if (taken && line.starts_with("Anonymous:")) {
      all.back().written_kb = std::strtol(line.c_str() + std::string_view("Anonymous:").size(), nullptr, 10);
    }
  }
  return all;
}

std::string OwnCode::changed() const {
  const std::vector<Mapping> now = mappings(process_);
  if (now.empty()) return {};  // it has ended
  const auto written = std::ranges::find_if(now, [](const Mapping& m) { return m.written_kb > 0; });
  if (written != now.end()) return written->file;
  for (const Mapping& m : before_)
    if (std::ranges::find(now, m) == now.end()) return m.file;
  return {};
}

}  // namespace assay
