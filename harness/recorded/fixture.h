// Fixtures: recorded calls with results that others made. They come as case files (files/case_file.h, `impl` names
// the producer, `contract` what it promises, `actual` what it gave), alone or in a folder whose SHA256SUMS lists them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../files/case_file.h"
#include "../judge/judge.h"
#include "../model/call.h"

namespace assay {

struct Fixture {
  Case parsed;
  Call call;                 // with the recorded data
  std::string producer;      // "torch"
  std::string version;       // of the producer, or empty
  std::string contract;      // clauses, see vocabulary/contract.h; empty is strict
  std::string origin;        // "cases/fixtures/sum.h5, call 3"
  ExpectedOutputs expected;  // what the producer gave
};

struct Fixtures {
  std::string source;  // what was asked for
  std::vector<Fixture> fixtures;
  bool peer =
      false;  // what was recorded is a peer's of this machine: rows are listed and do not decide the run
  std::uint64_t found = 0;                        // cases that the source has
  std::map<std::string, std::uint64_t> left_out;  // reason -> cases that are no fixtures
};

// How the producer of a fixture is called in rows and case files: "fixture:torch".
inline constexpr std::string_view kFixturePrefix = "fixture:";

// The call with its recorded data and results. Throws FileError that says "`origin`: " and what is wrong: an operator
// that this program does not know, wrong arguments, no recorded result, a result of another dtype or shape, a contract
// that does not parse.
Fixture fixture_of(const RecordedCall& recorded, const std::string& origin);

// Of a case file, or of every case file in a folder. Throws FileError that names the file: also for one whose checksum
// is not that of SHA256SUMS beside it, that this does not list, or that it lists and that is not there.
Fixtures read_case_fixtures(const std::string& path);

// The machine lacks the fixtures of a name; the message says what to install.
struct MissingFixtures : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What --fixtures names: "onnx", a case file, a folder of case files, or one of ONNX's tests (onnx/tests.h). Throws
// FileError for what is none of these, and MissingFixtures.
Fixtures read_fixtures(const std::string& path_or_name);

// Whether what the producer gave is what its contract and the reference allow.
Judgement judge_fixture(const Fixture& fixture);

}  // namespace assay
