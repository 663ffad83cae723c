#include "threads.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace assay {

std::uint32_t thread_count() {
  struct stat all {};
  return stat("/proc/self/task", &all) == 0 ? static_cast<std::uint32_t>(all.st_nlink) - 2 : 1;
}

bool others_wait(pid_t process) {
  constexpr std::string_view kFutex = "202 ", kForEver = "0x0";
  std::error_code error;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
    if (thread.path().filename() == std::to_string(process)) continue;
    std::ifstream call(thread.path() / "syscall");
    std::string number, address, operation, value, timeout;
    call >> number >> address >> operation >> value >> timeout;
    if (number + " " != kFutex || timeout != kForEver) return false;
  }
  return !error;
}

}  // namespace assay
