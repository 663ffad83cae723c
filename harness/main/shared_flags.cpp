#include "shared_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "commands.h"
#include "number_checks.h"
#include "vocabulary/contract.h"

namespace assay {
namespace {

constexpr std::uint64_t kMostCases = 100'000'000;  // of an operator and dtype; each has a place in memory
constexpr std::uint64_t kMostLanes = 4096;

}  // namespace

void add_choice(CLI::App& command, std::vector<std::string>& patterns, std::vector<std::string>& dtypes) {
  command
      .add_option("PATTERN", patterns, "shell globs on operator names ('!conv*': all but these); all without")
      ->type_name("");
  command.add_option("--dtype", dtypes, "only results of these dtypes")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("D,..");
}

WorkFlags add_work(CLI::App& command, std::uint64_t& cases, std::uint64_t& seed, int& jobs) {
  WorkFlags flags{};
  flags.cases = command.add_option("--cases", cases, "cases for each operator and dtype");
  flags.seed = command.add_option("--seed", seed, "another seed, other cases");
  CLI::Option* lanes = command.add_option("--jobs", jobs, "lanes of work; 0: one for each core");
  flags.cases->check(whole_number(kMostCases));
  flags.seed->check(whole_number());
  lanes->check(whole_number(kMostLanes));
  for (CLI::Option* option : {flags.cases, flags.seed, lanes}) option->capture_default_str()->type_name("N");
  return flags;
}

void check_folder(std::string_view flag, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw UsageError(
        fmt::format("{} {}: cannot create the folder: {}", flag, folder.string(), error.message()));
  if (access(folder.c_str(), W_OK) != 0)
    throw UsageError(
        fmt::format("{} {}: no permission to write there; name another folder", flag, folder.string()));
}

// A file appears by renaming, so its folder decides; a device or pipe is written to as it is.
void check_file(std::string_view flag, const std::string& file) {
  if (file.empty() || file == "-") return;
  if (std::filesystem::is_directory(file))
    throw UsageError(fmt::format("{} {}: is a folder; name a file", flag, file));
  const bool special = std::filesystem::exists(file) && !std::filesystem::is_regular_file(file);
  if (!special) check_folder(flag, std::filesystem::absolute(file).parent_path());
}

void check_files(std::initializer_list<std::pair<std::string_view, std::string>> files,
                 const std::vector<std::string>& inputs) {
  for (auto file = files.begin(); file != files.end(); ++file) {
    check_file(file->first, file->second);
    for (const std::string& input : inputs) {
      std::error_code absent;  // then it is no file that could be lost
      if (std::filesystem::is_regular_file(input, absent) &&
          std::filesystem::equivalent(file->second, input, absent))
        throw UsageError(fmt::format("{} {}: is read, too, and would be lost", file->first, file->second));
    }
    for (auto other = files.begin(); other != file; ++other)
      if (!file->second.empty() && same_place(file->second, other->second))
        throw UsageError(fmt::format("{} and {} are both {}: one would be lost in the other", other->first,
                                     file->first,
                                     file->second == "-" ? "- (standard output)" : file->second));
  }
}

bool same_place(const std::string& a, const std::string& b) {
  if (a == b || a == "-" || b == "-" || a.empty() || b.empty()) return a == b;
  std::error_code of_a, of_b;  // such as that of links in a circle; then they are not the same
  const auto place_of_a = std::filesystem::weakly_canonical(a, of_a);
  const auto place_of_b = std::filesystem::weakly_canonical(b, of_b);
  return !of_a && !of_b && place_of_a == place_of_b;
}

std::vector<std::string> files_at(const std::string& path, std::initializer_list<std::string_view> extensions,
                                  int depth) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> all;
  const auto skip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(path, skip, error), end; !error && at != end;
       at.increment(error)) {
    if (at.depth() >= depth) at.disable_recursion_pending();
    if (std::ranges::find(extensions, at->path().extension().string()) != extensions.end())
      all.push_back(at->path().string());
  }
  return all;
}

std::vector<std::string> files_of_tensors(const std::string& place) {
  std::vector<std::string> names{place};
  if (const std::size_t at = place.find('='); at != std::string::npos) names.push_back(place.substr(at + 1));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];
    if (const std::size_t at = name.find('@'); at != std::string::npos) names.push_back(name.substr(at + 1));
    if (const std::size_t colon = name.rfind(':'); colon != std::string::npos && colon > 0)
      names.push_back(name.substr(0, colon));
  }
  std::vector<std::string> all;
  for (const std::string& name : names) std::ranges::move(files_at(name, {".npy"}), std::back_inserter(all));
  return all;
}

CaseFile read_calls(const std::string& file) {
  const std::string copy = file + ".kept.h5";  // see recorded_copies.py
  if (!std::filesystem::exists(file) && std::filesystem::is_regular_file(copy))
    throw UsageError(fmt::format("{} is not there: what a recording had that was killed is in {}", file, copy));
  CaseFile calls = read_case_file(file);
  if (calls.calls.empty())
    throw UsageError(fmt::format("{} has no calls: nothing can be said of them", file));
  return calls;
}

std::string contract_of_flag(const std::string& text) {
  if (text.empty()) return text;
  const std::string sourced = overridden("", text);
  try {
    parse_contract(sourced, Dtype::f32);
  } catch (const std::invalid_argument& e) {
    throw UsageError(fmt::format("--contract {}: {}", text, e.what()));
  }
  return sourced;
}

}  // namespace assay
