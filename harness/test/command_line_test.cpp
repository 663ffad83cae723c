// The program as a user runs it.
#include <filesystem>
#include <set>

#include "command_line_fixture.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// `verify --impl cpu.baseline relu` asks for one operator, not for kernels named relu.
TEST_F(CommandLine, ListsEndWithTheirWord) {
  const Finished f =
      verify({"--impl", "cpu.baseline", "--dtype", "f32", "relu", "--cases", "20", "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  const json rows = results(f);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0]["op"], "relu");
  EXPECT_EQ(rows[0]["dtype"], "f32");
}

// Kernels that are left out by --impl; those that remain have not been asked for.
TEST_F(CommandLine, LeavesKernelsOut) {
  const Finished f = verify({"add.Tensor", "--impl", "!cuda.*,!torch,!cpu.[!b]*", "--dtype", "f32", "--cases",
                             "20", "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  std::set<std::string> impls;
  for (const json& row : results(f)) {
    impls.insert(row["impl"]);
    EXPECT_FALSE(row["named"].get<bool>());
  }
  EXPECT_EQ(impls.count("cpu.baseline"), 1u);
  for (const std::string& impl : impls)
    EXPECT_TRUE(impl == "cpu.baseline" || (impl.find("cuda") != 0 && impl.find("cpu") != 0)) << impl;
  const Finished both =
      verify({"add.Tensor", "--impl", "cpu.*,!cpu.[!b]*", "--dtype", "f32", "--cases", "20", "--json", "-"});
  ASSERT_EQ(results(both).size(), 1u);
  EXPECT_EQ(results(both)[0]["impl"], "cpu.baseline");
  EXPECT_TRUE(results(both)[0]["named"].get<bool>());
}

TEST_F(CommandLine, SaysWhatItIs) {
  const Finished help = assay({});
  EXPECT_EQ(help.status, 0);
  for (const char* command : {"verify", "replay", "explain", "bounds", "ops", "merge", "selftest"})
    EXPECT_THAT(help.out, HasSubstr(command));
  const Finished version = assay({"--version"});
  EXPECT_EQ(version.status, 0);
  for (const char* part : {"assay 0.", "compiler", "isa", "HDF5", "oneDNN", "CUDA", "PyTorch"})
    EXPECT_THAT(version.out, HasSubstr(part));
  EXPECT_EQ(version.out.find("oneDNN    missing") == std::string::npos,
            assay({"ops", "mm", "--json", "-"}).out.find("onednn.") != std::string::npos);
}

TEST_F(CommandLine, WrongUsageIsTwoAndSaysWhatIsWrong) {
  expect_usage_error(verify({"prelo"}), "there is no operator \"prelo\"; did you mean \"prelu\"?");
  expect_usage_error(verify({"--case", "prelu:f32:self=2x,weight=1"}), "self is \"2x\"");
  expect_usage_error(verify({"--case", "nothing:f32:self=2"}), "there is no operator \"nothing\"");
  expect_usage_error(verify({"relu", "--impl", "gpu.*"}),
                     "no kernel matches --impl \"gpu.*\"; there are: cpu.");
  expect_usage_error(verify({"relu", "--impl", "gpu"}), ", torch");
  expect_usage_error(verify({"relu", "--impl", "!gpu"}), "no kernel matches --impl \"!gpu\"; there are: ");
  expect_usage_error(verify({"!prelo"}), "there is no operator \"prelo\"; did you mean");
  expect_usage_error(verify({"relu", "!re*"}), "\"relu\" \"!re*\" leaves no operator");
  expect_usage_error(verify({"relu", "--impl", "!*"}), "--impl \"!*\" leaves no kernel; there are: cpu.");
  expect_usage_error(verify({"relu", "--dtype", "f31"}), "--dtype f31");
  expect_usage_error(verify({"relu", "--dtype", "fp32"}), "--dtype fp32: not a dtype; did you mean f32?");
  const Finished nothing = verify({"leaky_relu", "--dtype", "i8"});
  EXPECT_EQ(nothing.status, 3) << nothing.out;
  EXPECT_THAT(nothing.err, HasSubstr("leaky_relu has no i8, but f64, f32, f16, bf16"));
  expect_usage_error(verify({"relu", "--contract", "expp=2ulp"}),
                     "contract clause \"expp=2ulp\": there is no field");
  expect_usage_error(verify({"relu", "--time", "soon"}), "--time is \"soon\"");
  expect_usage_error(verify({"relu", "--shard", "3/2"}), "there is no shard 3 of 2");
  expect_usage_error(verify({"relu", "--shard", "1"}), "write I/N");
  expect_usage_error(verify({"relu", "--cases", "0"}), "--cases is 0");
  expect_usage_error(verify({"relu", "--cases", "-3"}), "--cases: -3 is no whole number from 0");
  expect_usage_error(verify({"relu", "--cases", "18446744073709551617"}),
                     "is too large: the most is 100000000");
  expect_usage_error(verify({"relu", "--seed", "18446744073709551616"}),
                     "is too large: the most is 18446744073709551615");
  expect_usage_error(verify({"--case", ""}), "--case: is empty");
  expect_usage_error(verify({"relu", "--time", ""}), "--time: is empty");
  expect_usage_error(verify({"relu", "--seed", "1e3"}), "--seed: 1e3 is no whole number from 0");
  expect_usage_error(verify({"relu", "--timeout", "0"}), "--timeout: 0 is no number above 0");
  expect_usage_error(verify({"relu:f32:self=3"}), "to run a case, write --case \"relu:f32:self=3\"");
  expect_usage_error(verify({"relu", "--json", "/proc/nowhere/r.json"}), "--json /proc/nowhere");
  expect_usage_error(verify({"relu", "--junit", "/proc"}), "--junit /proc: is a folder");
  expect_usage_error(verify({"--case", "relu:f32:self=99999x99999"}), "GiB");
  expect_usage_error(verify({"relu", "--case", "relu:f32:self=2"}), "exclude each other");
  expect_usage_error(assay({"verify", "--out", "/proc/nowhere"}), "--out /proc/nowhere");
  expect_usage_error(verify({"--plugin", file("none.so")}), "none.so");
  EXPECT_EQ(assay({"conquer"}).status, 2);
  EXPECT_EQ(assay({"verify", "--colour", "red"}).status, 2);
  expect_usage_error(assay({"merge", file("none.json"), "-o", file("all.json")}), "none.json");
}

TEST_F(CommandLine, VerifyGivesTheSameResultsForAnyJobsAndAnyRepetition) {
  const std::vector<std::string> common{"relu",   "mm", "--impl", "cpu.*", "--cases", effort("48", "16"),
                                        "--json", "-"};
  const auto with_jobs = [&](const char* jobs) {
    auto arguments = common;
    arguments.insert(arguments.end(), {"--jobs", jobs});
    const Finished f = verify(arguments);
    EXPECT_EQ(f.status, 0) << f.err << f.out;
    return results(f);
  };
  const json one = with_jobs("1");
  ASSERT_FALSE(one.empty());
  for (const json& row : one) EXPECT_GE(row["cases"].get<int>() + (row["verdict"] == "not_run"), 1);
  EXPECT_EQ(one, with_jobs("3"));
  EXPECT_EQ(one, with_jobs("1"));
}

TEST_F(CommandLine, ShardsJoinToTheWholeRun) {
  const auto shard = [&](const std::string& which, const std::string& to) {
    std::vector<std::string> arguments{"relu",   "--impl", "cpu.baseline", "--cases", effort("64", "16"),
                                       "--json", file(to)};
    if (!which.empty()) arguments.insert(arguments.end(), {"--shard", which});
    EXPECT_EQ(verify(arguments).status, 0);
  };
  shard("", "whole.json");
  shard("1/2", "a.json");
  shard("2/2", "b.json");
  const Finished merged = assay({"merge", file("b.json"), file("a.json"), "-o", file("all.json")});
  EXPECT_EQ(merged.status, 0) << merged.err;
  const auto read = [&](const std::string& name) {
    std::ifstream in(file(name));
    return json::parse(in);
  };
  const json whole = read("whole.json")["results"];
  const json joined = read("all.json")["results"];
  ASSERT_EQ(whole.size(), joined.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i]["cases"], joined[i]["cases"]);
    EXPECT_EQ(whole[i]["counts"], joined[i]["counts"]);
    EXPECT_EQ(whole[i]["worst"], joined[i]["worst"]);
  }
}

// What belongs to other runs, or not to all of one, is not a run that passed.
TEST_F(CommandLine, MergeTakesAllPartsOfOneRunAlone) {
  const auto shard = [&](const std::string& op, const std::string& which, const std::string& to) {
    EXPECT_EQ(verify({op, "--impl", "cpu.baseline", "--dtype", "f32", "--cases", "48", "--shard", which,
                      "--json", file(to)})
                  .status,
              0);
  };
  shard("relu", "1/3", "a.json");
  shard("relu", "3/3", "c.json");
  shard("tanh", "2/3", "other.json");
  expect_usage_error(assay({"merge", file("a.json"), file("other.json"), "-o", file("all.json")}),
                     "they are not of one run");
  const Finished hole = assay({"merge", file("a.json"), file("c.json"), "-o", file("all.json")});
  expect_usage_error(hole, "shard 2/3 is missing");
  EXPECT_THAT(hole.out, HasSubstr("INCOMPLETE: shard 2/3 is missing"));
  EXPECT_THAT(hole.out, Not(HasSubstr("PASSED")));
}

TEST_F(CommandLine, NoCaseFileOfAnotherRunIsLost) {
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(file("out")))
      if (entry.path().extension() == ".h5") names.insert(entry.path().filename());
    return names;
  };
  const auto run = [&](const std::string& seed) {
    const Finished f = verify({"relu", "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--impl", "plugin:wrong",
                               "--dtype", "f32", "--cases", "30", "--seed", seed, "--shrink", "0"});
    EXPECT_EQ(f.status, 1) << f.err;
    return files().size();
  };
  const std::size_t first = run("1");
  EXPECT_GT(first, 0u);
  EXPECT_EQ(run("1"), first) << "the same files again are those that are there";
  EXPECT_EQ(run("2"), 2 * first);
}

// It takes one case in eight: others stand in the place of those that it refused.
TEST_F(CommandLine, AKernelThatRefusesMostIsJudgedOnAsManyCases) {
  const std::vector<std::string> narrow{"relu",   "--plugin",      ASSAY_COMMAND_TEST_PLUGIN,
                                        "--impl", "plugin:narrow", "--dtype",
                                        "f32",    "--cases",       "120"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), narrow.begin(), narrow.end());
    return verify(more);
  };
  const Finished f = run({"--json", file("run.json"), "--classes", "--junit", file("run.xml")});
  EXPECT_EQ(f.status, 0) << f.out << f.err;
  std::ifstream in(file("run.json"));
  const json row = json::parse(in)["results"][0];
  EXPECT_EQ(row["judged"], 120);
  EXPECT_EQ(row["asked"], 120);
  EXPECT_EQ(row["counts"]["refused"], row["instead"]);
  EXPECT_GT(row["instead"], 60);
  EXPECT_EQ(row["undeclared"], json::object());
  ASSERT_FALSE(row["gaps"].empty());
  EXPECT_THAT(f.out, HasSubstr("shape of 4 dimensions  only refused: only one dimension"));
  EXPECT_THAT(f.out, HasSubstr("1 row has gaps in what was judged"));
  std::ifstream xml(file("run.xml"));
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(xml), {}),
              HasSubstr("gap: every call of the class"));

  const Finished strict = run({"--strict-coverage"});
  EXPECT_EQ(strict.status, 1) << strict.out;
  EXPECT_THAT(strict.out, HasSubstr("FAILED: 1 of 1 row at fault (1 with gaps)"));
  EXPECT_EQ(run({"--strict-coverage", "--may-refuse", "only *"}).status, 0);
  EXPECT_EQ(run({"--strict-coverage", "--may-refuse", "only one dim"}).status, 1)
      << "a glob is of the whole reason";
}

// A name that no file system takes, and two that differ at the end.
TEST_F(CommandLine, KernelsMayHaveLongNames) {
  const Finished f = verify({"relu", "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--impl", "plugin:long*",
                             "--dtype", "f32", "--cases", "30", "--shrink", "0", "--json", file("run.json")});
  EXPECT_EQ(f.status, 1) << f.err;
  std::ifstream in(file("run.json"));
  std::set<std::string> replays;
  const json run = json::parse(in);
  ASSERT_EQ(run["results"].size(), 2u);
  std::size_t failures = 0;
  for (const json& row : run["results"])
    for (const json& failure : row["failures"]) {
      ++failures;
      const std::string path = failure["replay"];
      EXPECT_TRUE(std::filesystem::exists(path)) << path;
      EXPECT_TRUE(replays.insert(path).second);
    }
  EXPECT_GE(failures, 2u);
  EXPECT_EQ(assay({"replay", *replays.begin(), "--impl", "cpu.baseline"}).status, 0);
}

TEST_F(CommandLine, ACutRunLeavesAValidReport) {
  const Finished timed = verify({"relu", "mm", "--impl", "cpu.*", "--cases", "1000000", "--time",
                                 kSanitized ? "8s" : "2s", "--json", "-"});
  EXPECT_EQ(timed.status, 0) << timed.err;
  json run = json::parse(timed.out);
  EXPECT_EQ(run["complete"], false);
  EXPECT_GT(run["cases_not_run"].get<std::uint64_t>(), 0u);

  const Finished stopped =
      run_program("/usr/bin/timeout",
                  {"--preserve-status", "-s", "INT", "3", ASSAY_PROGRAM, "verify", "relu", "mm", "--impl",
                   "cpu.*", "--cases", "1000000", "--out", file("out"), "--json", file("run.json")});
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("interrupted"));
  std::ifstream in(file("run.json"));
  run = json::parse(in);
  EXPECT_EQ(run["complete"], false);
}

TEST_F(CommandLine, OneCaseRunsOnEveryKernelNamed) {
  const Finished f =
      verify({"--case", "prelu:f32:self=2x6x5x7,weight=6:seed=1", "--impl", "cpu.*", "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  const json rows = results(f);
  ASSERT_GE(rows.size(), 3u);
  for (const json& row : rows)
    if (row["verdict"] != "not_run") {
      EXPECT_EQ(row["cases"], 1);
      EXPECT_EQ(row["verdict"], "pass");
      EXPECT_EQ(row["dtype"], "f32");
    }
}

TEST_F(CommandLine, ReplayRefusesWhatIsNoCaseFile) {
  expect_usage_error(assay({"replay", file("none.h5")}), "none.h5");
  std::ofstream(file("text.h5")) << "not HDF5";
  expect_usage_error(assay({"replay", file("text.h5")}), "text.h5");
}

TEST_F(CommandLine, ExplainShowsTheWayFromNameToCode) {
  const Finished f = assay({"explain", "prelu:f32:self=2x6x5x7,weight=6"});
  EXPECT_EQ(f.status, 0) << f.err;
  for (const char* part : {"torch.ops.aten.prelu", "weight[c] * self",
                           "reference/prelu.cpp:", "this one runs", "relative width"})
    EXPECT_THAT(f.out, HasSubstr(part));
  EXPECT_THAT(assay({"explain", "mm:f64:self=2x3,mat2=3x2"}).out,
              ::testing::AnyOf(HasSubstr("refuses: "), HasSubstr("cannot run here: ")));
  const Finished wrong = assay({"explain", "prelu:f32:self=2x6x5x7,weight=5"});
  EXPECT_THAT(wrong.out, HasSubstr("weight has shape [5]"));
}

TEST_F(CommandLine, OpsDescribesEveryOperator) {
  const Finished f = assay({"ops", "--json", "-"});
  ASSERT_EQ(f.status, 0) << f.err;
  const json operators = json::parse(f.out);
  ASSERT_GE(operators.size(), 6u);
  for (const json& op : operators) {
    EXPECT_FALSE(op["kernels"].empty());
    for (const json& k : op["kernels"])
      EXPECT_EQ(k["unavailable"].get<std::string>().empty(), k["dtypes"].size() + k["refused"].size() > 0);
    for (const json& k : op["kernels"])
      for (const auto& [dtype, fields] : k["contract"].items())
        for (const json& field : fields)
          EXPECT_FALSE(field["source"].get<std::string>().empty()) << k["impl"] << " " << dtype;
  }
  const Finished table = assay({"ops"});
  EXPECT_THAT(table.out, HasSubstr("cpu  "));
  EXPECT_THAT(table.out, HasSubstr("f64 f32 f16 bf16"));
  const Finished details = assay({"ops", "mm", "--contracts"});
  EXPECT_THAT(details.out, HasSubstr("f64 f32 f16 bf16 i64 i32 i16 i8 u8: chain=blocked(256)"));
  EXPECT_THAT(details.out, HasSubstr("optimized/cpu/gemm.cpp"));
  const Finished yaml = assay({"ops", "mm", "--yaml", "-"});
  EXPECT_EQ(yaml.status, 0);
  EXPECT_THAT(yaml.out, HasSubstr("op: mm"));
}

TEST_F(CommandLine, OpsTellsFailuresFromRefusals) {
  const Finished exp = assay({"ops", "exp", "--plugin", ASSAY_COMMAND_TEST_PLUGIN});
  EXPECT_THAT(exp.out, HasSubstr("fails on f32: segmentation fault"));
  EXPECT_THAT(exp.out, Not(HasSubstr("refuses f32: segmentation fault")));
  EXPECT_THAT(assay({"ops", "relu", "--plugin", ASSAY_COMMAND_TEST_PLUGIN}).out, HasSubstr("refuses f64: "));
  const Finished f = assay({"ops", "exp", "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--json", "-"});
  const json operators = json::parse(f.out);
  for (const json& k : operators[0]["kernels"]) {
    const bool crashes = k["impl"] == "plugin:crashes";
    EXPECT_EQ(k["failed"].contains("f32"), crashes) << k;
    EXPECT_TRUE(!crashes || k["refused"].empty()) << k;
  }
}

}  // namespace
}  // namespace assay
