// Run files that others wrote, or that are damaged: reports/run_file.h.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/file.h"
#include "reports/json_reader.h"
#include "reports/run_file.h"
#include "sample.h"

namespace assay {
namespace {

using nlohmann::json;

TEST(RunFile, ReadsFilesOfOthersThatHaveTheFixedKeysOnly) {
  const RunResult run =
      run_from_json(R"({"format":"assay.run/1","command":[],"machine":{},"seed":7,"results":[
    {"op":"relu","impl":"cpu","peer":false,"dtype":"f32","verdict":"pass","cases":3,"counts":{"pass":3},"refused":{},
     "undecidable":0,"worst":1,"reason":"","failures":[{"case":"c","kind":"diverged","detail":"","replay":"","diagnosis":""}]}],
    "summary":{},"new key":{"anything":1}})",
                    "run.json");
  EXPECT_EQ(run.seed, 7u);
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.rows.at(0).counts[0], 3u);
}

// The message for a run file in which the value at `pointer` was replaced (or removed, if `value` is
// discarded).
std::string error_with(const char* pointer, const json& value) {
  json document = json::parse(to_json(sample_run()));
  const json::json_pointer at(pointer);
  if (value.is_discarded())
    document.at(at.parent_pointer()).erase(at.back());
  else
    document[at] = value;
  try {
    run_from_json(document.dump(), "run.json");
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RunFile, NamesTheFileAndTheKeyThatIsWrong) {
  const json missing(json::value_t::discarded);
  EXPECT_EQ(error_with("/format", missing), "cannot read run.json: the key format is missing");
  EXPECT_EQ(
      error_with("/format", "assay.run/2"),
      "cannot read run.json: format: it is assay.run/2, and this program reads assay.run/1: use a newer Assay");
  EXPECT_EQ(error_with("/format", "x"),
            "cannot read run.json: format: it is \"x\", so this is no run file (assay.run/1)");
  EXPECT_EQ(error_with("/seed", -1),
            "cannot read run.json: seed: expected a whole number, at least 0, got -1");
  EXPECT_EQ(error_with("/seed", 1.5),
            "cannot read run.json: seed: expected a whole number, at least 0, got 1.5");
  EXPECT_EQ(error_with("/command", "x"), "cannot read run.json: command: expected an array, got \"x\"");
  EXPECT_EQ(error_with("/command/1", 5), "cannot read run.json: command[1]: expected a text, got 5");
  EXPECT_EQ(error_with("/machine", json::array()),
            "cannot read run.json: machine: expected an object, got an array");
  EXPECT_EQ(error_with("/machine/cores", 1e10),
            "cannot read run.json: machine.cores: expected a whole number, at least 0, got 10000000000.0");
  EXPECT_EQ(error_with("/machine/cores", 10'000'000'000),
            "cannot read run.json: machine.cores: too many cores");
  EXPECT_EQ(error_with("/results/3/cases", missing),
            "cannot read run.json: results[3]: the key cases is missing");
  EXPECT_EQ(error_with("/results/1/peer", 0),
            "cannot read run.json: results[1].peer: expected true or false, got 0");
  EXPECT_EQ(
      error_with("/results/1/worst", "large"),
      "cannot read run.json: results[1].worst: expected a number, \"inf\", \"-inf\" or \"nan\", got \"large\"");
  EXPECT_EQ(error_with("/results/1/undecidable", 1.5),
            "cannot read run.json: results[1].undecidable: expected a share from 0 to 1");
  EXPECT_EQ(error_with("/results/2/elements", std::uint64_t{1} << 60),
            "cannot read run.json: results[2].elements: more than a run can have");
  EXPECT_EQ(error_with("/results/2/elements", missing),
            "cannot read run.json: results[2].undecidable: above 0, but the key elements is missing");
  EXPECT_EQ(
      error_with("/results/1/refused/no f32 in AMX", "x"),
      "cannot read run.json: results[1].refused.no f32 in AMX: expected a whole number, at least 0, got \"x\"");
  EXPECT_EQ(error_with("/results/0/failures/1/detail", nullptr),
            "cannot read run.json: results[0].failures[1].detail: expected a text, got null");
  const std::string known =
      "; the verdicts are pass, refused, vacuous, not_run, suspicious, wrongly_accepted, "
      "wrongly_rejected, unstable, diverged, memory, timeout, crashed";
  EXPECT_EQ(error_with("/results/0/verdict", "bad"),
            "cannot read run.json: results[0].verdict: unknown verdict \"bad\"" + known);
  EXPECT_EQ(error_with("/results/0/counts/bad", 1),
            "cannot read run.json: results[0].counts.bad: unknown verdict \"bad\"" + known);
  EXPECT_EQ(error_with("/command/1", std::string(100, 'x')), "no error");
}

TEST(RunFile, TakesNoFaultForAPass) {
  EXPECT_EQ(error_with("/results/0/verdict", "pass"),
            "cannot read run.json: results[0].verdict: it is pass, but counts has 2 diverged");
  EXPECT_EQ(error_with("/results/2/counts/crashed", 1),
            "cannot read run.json: results[2].verdict: it is pass, but counts has 1 crashed");
  EXPECT_EQ(error_with("/results/0/verdict", "crashed"), "no error");
  EXPECT_EQ(error_with("/results/2/verdict", "vacuous"), "no error");
}

TEST(RunFile, LeavesOutNoMoreFixturesThanWereFound) {
  const auto error = [](std::uint64_t found, std::map<std::string, std::uint64_t> left_out) -> std::string {
    RunResult run = sample_run();
    run.fixtures = FixtureCount{"onnx", found, std::move(left_out)};
    try {
      run_from_json(to_json(run), "run.json");
    } catch (const FileError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error(12, {{"a", 5}, {"b", 7}}), "no error");
  EXPECT_EQ(error(12, {{"a", 5}, {"b", 8}}),
            "cannot read run.json: fixtures.left_out: more cases than the 12 that were found");
  EXPECT_NE(error(12, {{"a", 5}, {"b", std::numeric_limits<std::uint64_t>::max()}}), "no error");
}

// Of two values the parser keeps the last: a fault would be gone.
TEST(RunFile, TakesNoKeyTwice) {
  const auto error = [](std::string text) -> std::string {
    try {
      run_from_json(text, "run.json");
    } catch (const FileError& e) {
      return e.what();
    }
    return "no error";
  };
  std::string text = to_json(sample_run());
  const std::size_t at = text.find("\"verdict\": \"diverged\"");
  EXPECT_EQ(error(text), "no error");
  EXPECT_EQ(error(text.insert(at, "\"verdict\": \"pass\", ")),
            "cannot read run.json: an object has the key \"verdict\" twice");
  // With another spelling, and in objects within each other.
  EXPECT_EQ(error(R"({"a": [{"b": 1}, {"b": {"a": 1, "\u0061": 2}}]})"),
            "cannot read run.json: an object has the key \"a\" twice");
  EXPECT_EQ(error(R"({"a": {"a": [{"a": 1}, {"a": 1}]}})"),
            "cannot read run.json: the key format is missing");
}

TEST(RunFile, IsNotNestedWithoutEnd) {
  const auto error = [](std::size_t deep) -> std::string {
    try {
      run_from_json(R"({"a": )" + std::string(deep - 1, '[') + std::string(deep - 1, ']') + "}", "run.json");
    } catch (const FileError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error(kMostJsonDepth), "cannot read run.json: the key format is missing");
  EXPECT_EQ(error(kMostJsonDepth + 1), "cannot read run.json: it is nested more than 64 deep");
  EXPECT_EQ(error(10'000'000), "cannot read run.json: it is nested more than 64 deep");
}

TEST(RunFile, SaysWhereTextIsNoJson) {
  const auto error_of = [](std::string_view text) -> std::string {
    try {
      run_from_json(text, "run.json");
    } catch (const FileError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(
      error_of("{\n\"a\": }").find("cannot read run.json: it is no JSON: parse error at line 2, column 6:"),
      0u)
      << error_of("{\n\"a\": }");
  EXPECT_EQ(error_of("[1e999]").find("cannot read run.json: it is no JSON: number overflow"), 0u)
      << error_of("[1e999]");
  EXPECT_EQ(error_of("[]"), "cannot read run.json: expected an object, got an array");
  EXPECT_NE(error_of(""), "no error");
}

TEST(RunFile, NeverCrashesOnHalfAFile) {
  const std::string text = to_json(sample_run());
  for (std::size_t n = 0; n + 1 < text.size(); n += 7) {
    try {
      run_from_json(text.substr(0, n), "half.json");
      ADD_FAILURE() << "accepted " << n << " bytes";
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("half.json"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace assay
