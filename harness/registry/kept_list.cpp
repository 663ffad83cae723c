#include "kept_list.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "../generate/random.h"
#include "reports/file.h"
#include "subprocess.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kMost{10};  // that looking for torch may take
constexpr std::size_t kMostFiles = 16;     // of other builds and environments; the oldest go
constexpr std::array kVariables{"ASSAY_TORCH", "ATEN_",  "CUDA_",  "DNNL_",      "GOMP_",
                                "KMP_",        "LD_",    "MKL_",   "OMP_",       "ONEDNN_",
                                "OPENBLAS_",   "PYTHON", "TORCH_", "VIRTUAL_ENV"};

std::string stamp(const std::string& file) {
  struct stat s {};
  if (stat(file.c_str(), &s) != 0) return fmt::format("{} is not there\n", file);
  return fmt::format("{} {} {}.{:09} {}\n", file, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ino);
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, all;
  while (std::getline(info, line) && !line.empty())
    if (line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features"))
      all += line + "\n";
  return all;
}

std::string variables() {
  std::vector<std::string> all;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string variable = *at;
    if (std::ranges::any_of(kVariables, [&](const char* name) { return variable.starts_with(name); }))
      all.push_back(variable + "\n");
  }
  std::ranges::sort(all);
  std::string text;
  for (const std::string& variable : all) text += variable;
  return text;
}

fs::path folder() {
  const auto of = [](const char* name) {
    return fs::path(std::getenv(name) != nullptr ? std::getenv(name) : "");
  };
  if (const fs::path cache = of("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "assay";
  if (const fs::path home = of("HOME"); home.is_absolute()) return home / ".cache" / "assay";
  return {};
}

// Of NVIDIA's driver, or Windows' in a Linux that runs there.
bool has_gpu(const fs::path& devices) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(devices, error))
    if (const std::string name = entry.path().filename().string(); name.starts_with("nvidia") || name == "dxg")
      return true;
  return false;
}

void remove_oldest(const fs::path& of) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(of, error)) {
    if (!entry.path().filename().string().starts_with("torch-")) continue;
    const fs::file_time_type time = entry.last_write_time(error);
    if (!error) files.emplace_back(time, entry.path());
  }
  std::ranges::sort(files);
  for (std::size_t i = 0; i + kMostFiles < files.size(); ++i) fs::remove(files[i].second, error);
}

}  // namespace

KeptList::KeptList(const std::string& program, const fs::path& devices) {
  const fs::path in = folder();
  if (in.empty() || has_gpu(devices)) return;
  const Finished found = run_program(program, {"found"}, {}, kMost);
  if (!found.started || found.late || found.status != 0 || found.out.empty()) return;
  std::string stamps = stamp(program), file;
  for (std::istringstream files(found.out); std::getline(files, file);) stamps += stamp(file);
  key_ = fmt::format("assay torch list 1\n{}{}{}\n", stamps, processor(), variables());
  file_ = (in / fmt::format("torch-{:016x}", hash(key_))).string();
}

// After the key, which must be the same to the last byte, comes what was said, and its hash: a file that is cut off says nothing.
std::optional<std::string> KeptList::read() const {
  if (key_.empty()) return std::nullopt;
  std::ifstream file(file_, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = key_.size() + fmt::formatted_size("{:016x}\n", 0);
  if (all.size() <= begin || !all.starts_with(key_)) return std::nullopt;
  std::string description = all.substr(begin);
  if (all.substr(key_.size(), begin - key_.size()) != fmt::format("{:016x}\n", hash(description)))
    return std::nullopt;
  return description;
}

void KeptList::write(std::string_view description) const {
  if (key_.empty()) return;
  try {
    write_file(file_, fmt::format("{}{:016x}\n{}", key_, hash(description), description));
  } catch (const FileError&) {
    return;
  }
  remove_oldest(fs::path(file_).parent_path());
}

}  // namespace assay
