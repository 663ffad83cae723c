#include "fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "../files/sha256.h"
#include "onnx_tests.h"
#include "opinfo.h"
#include "recorded_call.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifest = "SHA256SUMS";
constexpr std::string_view kExtension = ".h5";

ExpectedOutputs expected_outputs(const RecordedCall& recorded, const Call& call) {
  std::set<std::string> left;
  for (const auto& [name, output] : recorded.outputs)
    if (output.actual) left.insert(name);
  if (left.empty()) throw FileError("it has no dataset below actual: what the producer gave is not recorded");
  ExpectedOutputs expected = recorded_results(recorded, call);
  for (std::size_t o = 0; o < call.outputs.size(); ++o) left.erase(output_name(*call.op, o));
  if (!left.empty())
    throw FileError(fmt::format("dataset actual/{} is there, but {} has no such result", *left.begin(),
                                call.op->schema.name));
  return expected;
}

// name -> checksum, as sha256sum writes them.
std::map<std::string, std::string> read_manifest(const fs::path& path) {
  std::map<std::string, std::string> sums;
  std::istringstream lines(read_file(path.string()));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    const bool is_sum = space == 64 && line.find_first_not_of("0123456789abcdef") == space;
    if (!is_sum || line.size() < 67 || (line[65] != ' ' && line[65] != '*'))
      throw FileError(fmt::format("{}: \"{}\" is not a line that sha256sum writes", path.string(), line));
    sums[line.substr(66)] = line.substr(0, 64);
  }
  return sums;
}

void check_sum(const std::map<std::string, std::string>& sums, const fs::path& file, std::string_view bytes) {
  const auto listed = sums.find(file.filename().string());
  if (listed == sums.end())
    throw FileError(fmt::format("{} is not listed in {} beside it", file.string(), kManifest));
  const std::string sum = sha256(bytes);
  if (sum != listed->second)
    throw FileError(fmt::format("{} is not the file that {} lists: its SHA-256 is {}, not {}", file.string(),
                                kManifest, sum, listed->second));
}

void add_file(Fixtures& all, const fs::path& file, const std::map<std::string, std::string>* sums) {
  const std::string bytes = read_file(file.string());
  if (sums != nullptr) check_sum(*sums, file, bytes);
  const CaseFile read = decode_case_file(std::as_bytes(std::span(bytes)), file.string());
  for (std::size_t n = 0; n < read.calls.size(); ++n) {
    Fixture f = fixture_of(read.calls[n], fmt::format("{}, call {}", file.string(), n));
    if (const auto library = read.libraries.find(f.producer); library != read.libraries.end())
      f.version = library->second;
    all.fixtures.push_back(std::move(f));
    ++all.found;
  }
}

}  // namespace

Fixture fixture_of(const RecordedCall& recorded, const std::string& origin) try {
  if (find_operator(recorded.op) == nullptr)
    throw FileError(
        fmt::format("there is no operator \"{}\"{}", recorded.op, nearest_operator_hint(recorded.op)));
  Replayable r = replayable(recorded);
  Fixture f;
  f.parsed = std::move(r.parsed);
  f.call = std::move(r.call);
  if (!f.call.error.empty()) throw FileError(fmt::format("wrong arguments: {}", f.call.error));
  if (recorded.impl.empty()) throw FileError("attribute impl is empty: it names the producer");
  f.producer = recorded.impl;
  if (f.producer.starts_with(kFixturePrefix)) f.producer.erase(0, kFixturePrefix.size());
  f.contract = recorded.contract;
  parse_contract(f.contract, f.call.outputs[0].computed_in);
  f.origin = origin;
  f.expected = expected_outputs(recorded, f.call);
  return f;
} catch (const std::exception& e) {  // of the case text, of the contract, or from above
  throw FileError(fmt::format("{}: {}", origin, e.what()));
}

Fixtures read_case_fixtures(const std::string& path) {
  Fixtures all;
  all.source = path;
  const bool is_folder = fs::is_directory(path);
  const fs::path folder = is_folder ? fs::path(path) : fs::absolute(path).parent_path();
  const bool listed = fs::exists(folder / kManifest);
  std::map<std::string, std::string> sums;
  if (listed) sums = read_manifest(folder / kManifest);
  if (!is_folder) {
    add_file(all, path, listed ? &sums : nullptr);
    return all;
  }
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == kExtension) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) add_file(all, file, listed ? &sums : nullptr);
  for (const auto& [name, sum] : sums)
    if (!fs::exists(folder / name))
      throw FileError(
          fmt::format("{} is listed in {} and is not there", (folder / name).string(), kManifest));
  if (all.fixtures.empty())
    throw FileError(fmt::format("{}: there are no recorded calls in this folder (*{})", path, kExtension));
  return all;
}

Fixtures read_fixtures(const std::string& path_or_name) {
  if (path_or_name == "onnx") {
    if (!fs::exists(onnx::kTests))
      throw MissingFixtures(fmt::format(
          "--fixtures onnx: there is no {}; sudo apt-get install libonnx-testdata", onnx::kTests));
    Fixtures all = onnx::read_tests(onnx::kTests);
    all.source = path_or_name;
    return all;
  }
  if (path_or_name == "opinfo") return read_opinfo();
  if (!fs::exists(path_or_name))
    throw FileError(fmt::format(
        "--fixtures {}: there is no such file or folder, and the names are onnx and opinfo", path_or_name));
  return onnx::is_tests(path_or_name) ? onnx::read_tests(path_or_name) : read_case_fixtures(path_or_name);
}

Judgement judge_fixture(const Fixture& fixture) {
  Expectation expectation(fixture.call);
  return judge_outputs(parse_contract(fixture.contract, fixture.call.outputs[0].computed_in), expectation,
                       fixture.expected);
}

}  // namespace assay
