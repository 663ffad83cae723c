#include "shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "../generate/check_case.h"
#include "../registry/installed.h"
#include "reports/file.h"

namespace assay {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

}  // namespace

std::vector<BenchCase> shapes_from(std::string_view text, const std::string& file) {
  std::vector<BenchCase> all;
  std::istringstream lines{std::string(text)};
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
  return all;
}

std::vector<BenchCase> read_shapes(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
      if (at->path().extension() == ".txt") files.push_back(at->path().string());
    if (error) throw FileError(fmt::format("cannot read the folder {}: {}", path, error.message()));
    std::ranges::sort(files);
    if (files.empty()) throw FileError(fmt::format("{}: there is no *.txt file in this folder", path));
  } else {
    files.push_back(path);
  }
  std::vector<BenchCase> all;
  for (const std::string& file : files) {
    std::vector<BenchCase> more = shapes_from(read_file(file), file);
    std::ranges::move(more, std::back_inserter(all));
  }
  if (all.empty()) throw FileError(fmt::format("{}: there is no case in it", path));
  return all;
}

std::string default_shapes() { return data_file("cases/shapes"); }

}  // namespace assay
