#include "report_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "../files/case_file.h"
#include "../verify/recorded_picture.h"
#include "reports/file.h"
#include "reports/file_kind.h"
#include "reports/journal.h"
#include "reports/run_file.h"
#include "terminal.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPictures = 200;
constexpr std::uintmax_t kLargestCaseFile = 64u << 20;  // of shrunk cases; others take too long for a picture

// A pipe or a device that a run file names is not read.
std::optional<std::string> case_file_at(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargestCaseFile || error)
    return std::nullopt;
  return path.string();
}

std::optional<std::string> find_case_file(const std::string& replay, const std::string& beside) {
  if (const auto found = case_file_at(replay)) return found;
  const fs::path folder = fs::path(beside).parent_path(), name = fs::path(replay).filename();
  for (const fs::path& path : {folder / name, folder / replay})
    if (const auto found = case_file_at(path)) return found;
  return std::nullopt;
}

}  // namespace

void read_into(Report& report, const std::string& path) {
  const std::string text = read_document(path);
  const std::string format = format_of(text, path);
  if (format.starts_with("assay.run/"))
    report.runs.push_back({path, run_from_json(text, path), {}});
  else if (format.starts_with("assay.selftest/"))
    report.selftests.push_back(selftest_from_json(text, path));
  else if (format.starts_with("assay.bench/"))
    report.benches.push_back(bench_from_json(text, path));
  else
    throw FileError(fmt::format(
        "cannot read {}: {}; a report is made of what `assay verify --json`, `assay selftest --json` and benchmarks of Assay write",
        path,
        format.empty() ? "it has no \"format\" of Assay" : fmt::format("its format is \"{}\"", format)));
}

void add_pictures(ReportedRun& run, const std::string& beside) {
  for (const Row& row : run.run.rows)
    for (const Failure& f : row.failures) {
      if (f.kind != Verdict::diverged || f.replay.empty() || run.pictures.contains(f.replay)) continue;
      if (run.pictures.size() >= kMostPictures) return;
      const std::optional<std::string> path = find_case_file(f.replay, beside);
      if (!path) continue;
      try {
        for (const RecordedCall& call : read_case_file(*path).calls)
          if (std::optional<TensorPicture> picture = recorded_picture(call)) {
            run.pictures.emplace(f.replay, *std::move(picture));
            break;
          }
      } catch (const FileError& e) {
        complain(fmt::format("warning: no picture: {}", e.what()));
      }
    }
}

}  // namespace assay
