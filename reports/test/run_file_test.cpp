#include "reports/run_file.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

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
