#include "shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "../generate/check_case.h"
#include "reports/file.h"

namespace assay {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

void read_one(const std::string& file, std::vector<BenchCase>& all) {
  std::istringstream lines(read_file(file));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::size_t hash = line.find('#');
    const std::string case_text = trimmed(std::string_view(line).substr(0, hash));
    if (case_text.empty()) continue;
    const auto fail = [&](const std::string& what) {
      throw FileError(fmt::format("{}:{}: {}", file, number, what));
    };
    const std::string reason =
        hash == std::string::npos ? "" : trimmed(std::string_view(line).substr(hash + 1));
    if (reason.empty())
      fail(fmt::format("{} has no reason; write `CASE  # where this shape comes from`", case_text));
    try {
      all.push_back({parse_case(case_text), reason, fmt::format("{}:{}", file, number)});
    } catch (const CaseError& error) {
      fail(error.what());
    }
    if (const Checked checked = check_case(all.back().c); !checked.ok())
      fail(case_text + ": " + checked.error);
  }
}

}  // namespace

std::vector<BenchCase> read_shapes(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".txt") files.push_back(entry.path().string());
    std::ranges::sort(files);
    if (files.empty()) throw FileError(fmt::format("{}: there is no *.txt file in this folder", path));
  } else {
    files.push_back(path);
  }
  std::vector<BenchCase> all;
  for (const std::string& file : files) read_one(file, all);
  if (all.empty()) throw FileError(fmt::format("{}: there is no case in it", path));
  return all;
}

std::string default_shapes() { return ASSAY_SHAPES; }

}  // namespace assay
