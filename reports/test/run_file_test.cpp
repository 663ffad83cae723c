#include "reports/run_file.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/file.h"
#include "reports/json_reader.h"
#include "sample.h"

namespace assay {
namespace {

using nlohmann::json;

TEST(RunFile, KeepsEverything) {
  RunResult run = sample_run();
  run.shard = "2/4";
  run.complete = false;
  run.incomplete = "out of time";
  run.cases_not_run = 17;
  run.rows[0].undeclared = {{"x", 2}};
  run.rows[4].named = true;
  const std::string text = to_json(run);
  const RunResult back = run_from_json(text, "run.json");
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.command, run.command);
  EXPECT_EQ(back.machine.libraries, run.machine.libraries);
  EXPECT_EQ(back.machine.cores, 8);
  EXPECT_EQ(back.shard, "2/4");
  EXPECT_FALSE(back.complete);
  EXPECT_EQ(back.cases_not_run, 17u);
  ASSERT_EQ(back.rows.size(), 5u);
  EXPECT_EQ(back.rows[0].counts, run.rows[0].counts);
  EXPECT_EQ(back.rows[0].undeclared, run.rows[0].undeclared);
  EXPECT_EQ(back.rows[0].failures[1].diagnosis, "slope is 0");
  EXPECT_EQ(back.rows[0].failures[1].index, 7u);
  EXPECT_EQ(back.rows[1].refused, run.rows[1].refused);
  EXPECT_EQ(back.rows[2].undecidable_elements, 8u);
  EXPECT_TRUE(back.rows[4].peer);
  EXPECT_TRUE(back.rows[4].named);
  EXPECT_FALSE(back.rows[0].named);
}

TEST(RunFile, KeepsWhatFixturesWereFound) {
  RunResult run = sample_run();
  EXPECT_FALSE(json::parse(to_json(run)).contains("fixtures"));
  run.fixtures = FixtureCount{"onnx", 12, {{"there is no operator Abs", 5}}};
  const RunResult back = run_from_json(to_json(run), "run.json");
  ASSERT_TRUE(back.fixtures);
  EXPECT_EQ(back.fixtures->source, "onnx");
  EXPECT_EQ(back.fixtures->found, 12u);
  EXPECT_EQ(back.fixtures->left_out, run.fixtures->left_out);
}

TEST(RunFile, KeepsWhatWarpsTouched) {
  RunResult run = sample_run();
  EXPECT_FALSE(json::parse(to_json(run)).contains("accesses"));
  run.accesses = {{"optimized/cuda/a.h:1", "a_kernel", "global read, 4 B", 10, 80, 40}};
  const RunResult back = run_from_json(to_json(run), "run.json");
  ASSERT_EQ(back.accesses.size(), 1u);
  EXPECT_EQ(back.accesses[0].place, "optimized/cuda/a.h:1");
  EXPECT_EQ(back.accesses[0].kernel, "a_kernel");
  EXPECT_EQ(back.accesses[0].access, "global read, 4 B");
  EXPECT_EQ(back.accesses[0].requests, 10u);
  EXPECT_EQ(back.accesses[0].units, 80u);
  EXPECT_EQ(back.accesses[0].least, 40u);
  EXPECT_EQ(back.accesses[0].wasted(), 40u);
}

TEST(RunFile, HasTheKeysThatOthersRely) {
  const json document = json::parse(to_json(sample_run()));
  for (const char* key : {"format", "command", "machine", "seed", "results", "summary"})
    EXPECT_TRUE(document.contains(key)) << key;
  EXPECT_EQ(document["format"], "assay.run/1");
  const json& row = document["results"][0];
  for (const char* key : {"op", "impl", "peer", "dtype", "verdict", "cases", "counts", "refused",
                          "undecidable", "worst", "reason", "failures"})
    EXPECT_TRUE(row.contains(key)) << key;
  EXPECT_EQ(row["counts"]["diverged"], 2);
  EXPECT_EQ(row["counts"]["pass"], 8);
  for (const char* key : {"case", "kind", "detail", "replay", "diagnosis"})
    EXPECT_TRUE(row["failures"][0].contains(key)) << key;
  EXPECT_EQ(document["summary"]["pass"], 1);
  EXPECT_EQ(document["summary"]["diverged"], 1);
  EXPECT_EQ(document["summary"]["not_run"], 1);
  EXPECT_EQ(document["results"][2]["undecidable"], 0.002);
}

TEST(RunFile, HasThisText) {
  RunResult run = sample_run();
  run.rows = {run.rows[0]};
  run.rows[0].failures.pop_back();
  EXPECT_EQ(to_json(run), R"({
  "format": "assay.run/1",
  "command": [
    "assay",
    "verify",
    "prelu",
    "--seed",
    "42"
  ],
  "machine": {
    "cpu": "Xeon <test>",
    "cores": 8,
    "isa": [
      "avx2",
      "avx512"
    ],
    "libraries": {
      "dnnl": "2.7.5",
      "torch": "missing: apt install python3-torch"
    },
    "compiler": "g++ 12.2",
    "version": "0.1.0"
  },
  "seed": 42,
  "seconds": 1.5,
  "complete": true,
  "incomplete": "",
  "cases_not_run": 0,
  "shard": null,
  "results": [
    {
      "op": "prelu",
      "impl": "cpu.avx2",
      "peer": false,
      "named": false,
      "dtype": "f32",
      "verdict": "diverged",
      "cases": 10,
      "counts": {
        "pass": 8,
        "refused": 0,
        "vacuous": 0,
        "not_run": 0,
        "suspicious": 0,
        "wrongly_accepted": 0,
        "wrongly_rejected": 0,
        "unstable": 0,
        "diverged": 2,
        "memory": 0,
        "timeout": 0,
        "crashed": 0
      },
      "refused": {},
      "undeclared": {},
      "elements": 4000,
      "undecidable": 0.0,
      "undecidable_cases": 0,
      "worst": 12345.0,
      "worst_case": "",
      "reason": "",
      "information": "",
      "failures": [
        {
          "case": "prelu:f32:self=2x3,weight=3",
          "index": 3,
          "kind": "diverged",
          "detail": "out[0,1] is 2, allowed is 1 to 1",
          "replay": "out/a.h5",
          "diagnosis": ""
        }
      ]
    }
  ],
  "summary": {
    "pass": 0,
    "refused": 0,
    "vacuous": 0,
    "not_run": 0,
    "suspicious": 0,
    "wrongly_accepted": 0,
    "wrongly_rejected": 0,
    "unstable": 0,
    "diverged": 1,
    "memory": 0,
    "timeout": 0,
    "crashed": 0
  }
}
)");
}

TEST(RunFile, WritesNumbersThatJsonLacksAsTexts) {
  RunResult run = sample_run();
  run.seed = std::numeric_limits<std::uint64_t>::max();
  run.rows[0].worst = std::numeric_limits<double>::infinity();
  run.rows[1].worst = std::numeric_limits<double>::quiet_NaN();
  run.rows[2].worst = -std::numeric_limits<double>::infinity();
  run.rows[3].worst = 1e-310;
  const std::string text = to_json(run);
  EXPECT_EQ(json::parse(text)["results"][0]["worst"], "inf");
  EXPECT_EQ(json::parse(text)["results"][1]["worst"], "nan");
  const RunResult back = run_from_json(text, "run.json");
  EXPECT_EQ(back.seed, run.seed);
  EXPECT_EQ(back.rows[0].worst, run.rows[0].worst);
  EXPECT_TRUE(std::isnan(back.rows[1].worst));
  EXPECT_EQ(back.rows[2].worst, run.rows[2].worst);
  EXPECT_EQ(back.rows[3].worst, 1e-310);
}

TEST(RunFile, IsJsonWhateverAKernelSays) {
  RunResult run = sample_run();
  run.rows[0].failures[0].detail = "\xFF\x01\"\\ \xE2\x82";
  EXPECT_EQ(json::parse(to_json(run))["results"][0]["failures"][0]["detail"], "\uFFFD\x01\"\\ \uFFFD");
}

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

TEST(RunFile, RoundTripsAnyRow) {
  const bool ok = rc::check([] {
    RunResult run;
    run.seed = *rc::gen::arbitrary<std::uint64_t>();
    run.rows.resize(*rc::gen::inRange<std::size_t>(0, 4));
    for (Row& row : run.rows) {
      row.op = *rc::gen::string<std::string>();
      for (char& c : row.op) c = static_cast<char>(c & 0x7F);
      for (std::uint64_t& n : row.counts) n = *rc::gen::arbitrary<std::uint64_t>();
      const int least = is_fault(row_verdict(row)) ? static_cast<int>(Verdict::wrongly_accepted) : 0;
      row.verdict = static_cast<Verdict>(*rc::gen::inRange(least, kVerdicts));
      row.elements = *rc::gen::inRange<std::uint64_t>(1, 1ull << 50);
      row.undecidable_elements = *rc::gen::inRange<std::uint64_t>(0, row.elements);
      row.undecidable_cases = *rc::gen::inRange<std::uint64_t>(0, 1000);
      row.worst = *rc::gen::arbitrary<double>();
    }
    const RunResult back = run_from_json(to_json(run), "run.json");
    RC_ASSERT(back.seed == run.seed);
    RC_ASSERT(back.rows.size() == run.rows.size());
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      RC_ASSERT(back.rows[i].op == run.rows[i].op);
      RC_ASSERT(back.rows[i].verdict == run.rows[i].verdict);
      RC_ASSERT(back.rows[i].counts == run.rows[i].counts);
      RC_ASSERT(back.rows[i].undecidable_elements == run.rows[i].undecidable_elements);
      RC_ASSERT(back.rows[i].undecidable_cases == run.rows[i].undecidable_cases);
      RC_ASSERT(back.rows[i].worst == run.rows[i].worst);
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace assay
