#include "installed.h"

#include <filesystem>

#include "configured.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

fs::path prefix_of(const std::string& program) { return fs::path(program).parent_path().parent_path(); }

fs::path installed_data(const std::string& program) { return prefix_of(program) / "share/assay"; }

}  // namespace

bool is_installed(const std::string& program) {
  std::error_code none;
  return fs::is_directory(installed_data(program), none);
}

std::string library_file(const std::string& program, std::string_view name) {
  return (prefix_of(program) / (is_installed(program) ? "lib/assay" : "optimized") / name).string();
}

std::string data_file(const std::string& program, std::string_view path) {
  return ((is_installed(program) ? installed_data(program) : fs::path(configured::source)) / path).string();
}

std::string data_file(std::string_view path) {
  std::error_code none;
  return data_file(fs::read_symlink("/proc/self/exe", none).string(), path);
}

}  // namespace assay
