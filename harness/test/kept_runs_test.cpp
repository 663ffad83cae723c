// Nothing of a run is lost: journals, --resume, several runs in one folder, kernels that hang.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "command_line_fixture.h"
#include "harness/run/hangs.h"
#include "harness/run/printed.h"
#include "harness/verify/tally.h"
#include "harness/verify/verify.h"
#include "recorded_example.h"
#include "reports/file.h"
#include "reports/journal.h"
#include "reports/run_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

RunIdentity an_identity() { return {"verify", {"verify", "relu"}, "build 1", {{"k.so", "12"}}, {}}; }

class KeptRuns : public CommandLine {
 protected:
  Finished here(const std::string& command) const {
    return run_program("/bin/bash", {"-c", "cd \"$1\"; unset ASSAY_OUT; " + command, ASSAY_PROGRAM,
                                     folder_.path().string()});
  }
  // A run of the plugin's slow kernel that is killed when its journal has some lines.
  Finished killed(const std::string& words) const {
    return here("\"$0\" " + words +
                " > /dev/null 2>&1 & for i in {1..600}; do sleep 0.05; "
                "[ $(cat assay-out/*.journal 2> /dev/null | wc -l) -ge 5 ] && break; done; kill -9 $!; wait");
  }
  static std::string verify_slow(const std::string& more = "") {
    return "verify relu --plugin " KEPT_TEST_PLUGIN
           " --impl plugin:slow,plugin:wrong --dtype f32 --cases 500 --shrink 0 " +
           more;
  }
  json run_file(const std::string& name) const { return json::parse(read_document(file(name))); }
};

TEST(Journal, IsReadBackAndATornLineIsNone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.journal");
  {
    Journal journal(path, an_identity());
    EXPECT_FALSE(journal.has_begun());
    journal.begin({{"format", "assay.other/1"}, {"items", json::array()}});
    journal.add("a", 1.5, {{"items", {1, 2}}}, "more");
    journal.add("b", 2.5, {{"items", {3}}});
  }
  const std::string whole = read_file(path);
  for (const std::size_t lost : {std::size_t{1}, std::size_t{7}, std::size_t{20}}) {
    write_file(path, whole.substr(0, whole.size() - lost));
    const json document = json::parse(read_document(path));
    EXPECT_EQ(document["items"], json::parse("[1, 2]"));
    EXPECT_EQ(document["complete"], false);
    Journal again(path);
    ASSERT_NE(again.find("a"), nullptr);
    EXPECT_EQ(again.find("a")->more, "more");
    EXPECT_EQ(again.find("b"), nullptr);
    EXPECT_EQ(again.before(), 1.5);
    again.add("b", 3, {{"items", {4}}});
    EXPECT_EQ(json::parse(read_document(path))["items"], json::parse("[1, 2, 4]"));
    EXPECT_THROW(Journal{path}, FileError) << "while it is written";
  }
}

TEST(Journal, SaysWhatDiffers) {
  const RunIdentity begun = an_identity();
  EXPECT_EQ(difference(begun, begun), "");
  RunIdentity now = begun;
  now.asked.push_back("--seed=2");
  EXPECT_THAT(difference(begun, now), HasSubstr("asked \"verify relu\", and this is \"verify relu --seed=2\""));
  now = begun;
  now.program = "build 2";
  EXPECT_THAT(difference(begun, now), HasSubstr("another build of Assay"));
  now = begun;
  now.inputs["k.so"] = "13";
  EXPECT_THAT(difference(begun, now), HasSubstr("k.so is not what it was then"));
  now = begun;
  now.environment["ATEN_CPU_CAPABILITY"] = "avx2";
  EXPECT_THAT(difference(begun, now), HasSubstr("ATEN_CPU_CAPABILITY"));
}

TEST(Journal, ATallyIsReadBackToTheSameRow) {
  const Operator& op = *select_operators({"relu"})[0];
  Kernel kernel;
  kernel.op = &op;
  kernel.name = "plugin:x";
  Tally all(kernel, Dtype::f32), sum(kernel, Dtype::f32);
  for (std::uint64_t lot = 0; lot < 4; ++lot) {
    Tally part(kernel, Dtype::f32);
    for (std::uint64_t i = 0; i < 40; ++i) {
      Finding f;
      f.kernel = &kernel;
      f.information = "code, of two";
      f.judgement.elements = 7 + i;
      f.judgement.undecidable = i % 3;
      f.judgement.worst = 1.0 / static_cast<double>(1 + (i * 7 + lot) % 11);
      if (i % 5 == 0) f.judgement = {Verdict::diverged, "out[0] is wrong", 3, 0, 4.5};
      if (i % 9 == 0) f.judgement = {Verdict::refused, "not \"this\"", 0, 0, 0, true};
      const std::string classes[] = {"layout contiguous"};
      for (Tally* t : {&all, &part}) {
        t->add(f, "relu:f32:self=" + std::to_string(i), 40 * lot + i);
        t->covered(f, classes);
      }
    }
    sum.add(Tally::of(part.result(), part.more()));
  }
  EXPECT_EQ(row_json(sum.row()), row_json(all.row()));
  EXPECT_EQ(sum.further().size(), all.further().size());
}

TEST(Hangs, GivesUpAfterFiveInARow) {
  Kernel kernel;
  kernel.name = "k";
  Hangs hangs;
  for (int i = 0; i < 4; ++i) hangs.note(kernel, 1, true);
  hangs.note(kernel, 1, false);
  for (int i = 0; i < 4; ++i) hangs.note(kernel, 1, true);
  EXPECT_FALSE(hangs.given_up(kernel, 1));
  hangs.note(kernel, 1, true);
  EXPECT_TRUE(hangs.given_up(kernel, 1));
  EXPECT_FALSE(hangs.given_up(kernel, 2)) << "another row";
  hangs.note(kernel, 1, false);  // what another lane hears late
  EXPECT_TRUE(hangs.given_up(kernel, 1));
}

TEST(Printed, IsMarkedAndBounded) {
  std::size_t shown = 0;
  EXPECT_EQ(marked({"plugin:x"}, "assay: PASSED\n\033[2Jgone", shown),
            "[plugin:x] assay: PASSED\n[plugin:x]  [2Jgone\n");
  EXPECT_EQ(marked({"a", "b"}, "x", shown), "[one of a, b] x\n");
  const std::string much = marked({"plugin:x"}, std::string(10'000, 'y'), shown);
  EXPECT_LT(much.size(), 2100u);
  EXPECT_THAT(much, HasSubstr("[plugin:x] (it prints more, which is not shown)\n"));
  EXPECT_EQ(marked({"plugin:x"}, "z", shown), "");
}

TEST_F(KeptRuns, WhatWasFinishedIsReadAfterSigkillAndGoneOnWith) {
  killed(verify_slow("--json f.json"));
  ASSERT_TRUE(fs::exists(file("assay-out/run.journal")));
  const JournalText text = read_journal_text(read_file(file("assay-out/run.journal")), "journal");
  std::uint64_t cases = 0;
  for (const JournalEntry& e : text.entries)
    if (e.add.contains("results"))
      for (const json& row : e.add["results"]) cases += row["cases"].get<std::uint64_t>();
  ASSERT_GT(cases, 0u);
  for (const char* name : {"assay-out/run.journal", "assay-out/run.json"}) {
    std::uint64_t read = 0;
    for (const Row& row : read_run_file(file(name)).rows) read += row.cases;
    EXPECT_EQ(read, cases) << name;
    const Finished report = here(fmt::format("\"$0\" report {} --markdown -", name));
    EXPECT_EQ(report.status, 0) << report.err;
    EXPECT_THAT(report.out, HasSubstr("it was not written to its end"));
  }
  const Finished resumed = here("\"$0\" " + verify_slow("--resume --json f.json"));
  EXPECT_EQ(resumed.status, 1) << resumed.err;
  EXPECT_FALSE(fs::exists(file("assay-out/run.journal")));
  const Finished whole = here("\"$0\" " + verify_slow("--out other --json -"));
  json again = json::parse(read_file(file("f.json")))["results"];
  for (json& row : again)
    for (json& failure : row["failures"]) failure.erase("replay");
  EXPECT_EQ(again, results(whole));
}

TEST_F(KeptRuns, AnotherRunIsNotGoneOnWith) {
  expect_usage_error(here("\"$0\" " + verify_slow("--resume")),
                     "assay: --resume: assay-out has no journal of `assay verify` to go on with");
  killed(verify_slow());
  expect_usage_error(here("\"$0\" " + verify_slow("--seed 2 --resume")), "the flags must be the same");
  expect_usage_error(here("\"$0\" " + verify_slow("--seed 2") + " --resume assay-out/run.json"),
                     "the flags must be the same");
  expect_usage_error(here("cp " KEPT_TEST_PLUGIN " k.so; \"$0\" verify relu --plugin k.so --resume"),
                     "the flags must be the same");
  // A finished run has none.
  EXPECT_EQ(here("\"$0\" verify relu --impl cpu.baseline --dtype f32 --cases 4 --json done.json").status, 0);
  expect_usage_error(
      here("\"$0\" verify relu --impl cpu.baseline --dtype f32 --cases 4 --resume done.json"), "it has no journal");
}

TEST_F(KeptRuns, AnotherPluginIsNotGoneOnWith) {
  const std::string words = "verify relu --plugin ./k.so --impl plugin:slow --dtype f32 --cases 500";
  here("cp " KEPT_TEST_PLUGIN " k.so");
  killed(words);
  expect_usage_error(here("printf x >> k.so; \"$0\" " + words + " --resume"), "./k.so is not what it was then");
}

// What a kernel did to one of another operator is a case of its row, and of the journal's reader's.
TEST_F(KeptRuns, AFaultInPlaceOfACaseIsNoCaseMore) {
  const std::string heirs = std::string(ASSAY_RUN_TEST_PLUGINS) + "/heirs_test_plugin.so";
  const std::string words = "verify sqrt relu --plugin " + heirs +
                            " --plugin " KEPT_TEST_PLUGIN " --impl "
                            "plugin:right.roots,plugin:culprit.roots,plugin:heir.diverges,plugin:slow --dtype f32 --cases 400 "
                            "--shrink 0 --jobs 1";
  here("\"$0\" " + words +
       " > /dev/null 2>&1 & for i in {1..600}; do sleep 0.02; grep -qs 'damaged its process' assay-out/*.journal && break; done; "
       "kill -9 $!; wait");
  ASSERT_TRUE(fs::exists(file("assay-out/run.journal"))) << "it was faster than the signal";
  const auto cases = [](const json& run, const std::string& impl) {
    for (const json& row : run["results"])
      if (row["impl"] == impl) {
        std::uint64_t counted = 0;
        for (const auto& [verdict, n] : row["counts"].items()) counted += n.get<std::uint64_t>();
        EXPECT_EQ(row["cases"], counted);
        EXPECT_EQ(row["verdict"] == "pass", impl != "plugin:culprit.roots");
        return counted;
      }
    return std::uint64_t{0};
  };
  const json read = run_file("assay-out/run.journal");
  EXPECT_LT(cases(read, "plugin:right.roots"), 400u);
  EXPECT_EQ(cases(read, "plugin:culprit.roots"), cases(read, "plugin:right.roots"));
  EXPECT_EQ(here("\"$0\" " + words + " --resume --json f.json").status, 1);
  const json resumed = json::parse(read_file(file("f.json")));
  EXPECT_EQ(cases(resumed, "plugin:right.roots"), 400u);
  EXPECT_EQ(cases(resumed, "plugin:culprit.roots"), 400u);
}

TEST_F(KeptRuns, ALaterRunLeavesTheFilesOfTheEarlier) {
  const std::string words = "verify relu --impl cpu.baseline --dtype f32 --cases 4 --seed ";
  for (const char* seed : {"1", "2", "3"}) EXPECT_EQ(here("\"$0\" " + words + seed).status, 0);
  EXPECT_EQ(run_file("assay-out/run.json")["seed"], 3) << "the newest";
  EXPECT_EQ(run_file("assay-out/run-2.json")["seed"], 1);
  EXPECT_EQ(run_file("assay-out/run-3.json")["seed"], 2);
  // Two at a time.
  here("\"$0\" " + words + "4 --plugin " KEPT_TEST_PLUGIN " & \"$0\" " + words + "5; wait");
  std::set<int> seeds;
  for (const fs::directory_entry& e : fs::directory_iterator(file("assay-out"))) {
    EXPECT_EQ(e.path().extension(), ".json") << e.path();
    seeds.insert(json::parse(read_file(e.path().string()))["seed"].get<int>());
  }
  EXPECT_EQ(seeds, (std::set{1, 2, 3, 4, 5}));
  // A command line that is wrong moves nothing.
  expect_usage_error(here("\"$0\" verify relu --impl nosuch"), "nosuch");
  EXPECT_EQ(run_file("assay-out/run.json")["format"], "assay.run/1");
  // Nor is a folder left behind that nothing is in.
  expect_usage_error(here("mkdir empty; cd empty; \"$0\" selftest relu --variant nosuch"), "nosuch");
  EXPECT_TRUE(fs::is_empty(file("empty")));
}

TEST_F(KeptRuns, AKernelThatHangsIsGivenUp) {
  const auto begin = std::chrono::steady_clock::now();
  const Finished f = verify({"relu", "--plugin", KEPT_TEST_PLUGIN, "--impl", "plugin:hangs,cpu.baseline", "--dtype", "f32",
                             "--cases", "60", "--shrink", "0", "--timeout", "0.2", "--jobs", "1", "--json", file("f.json")});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_EQ(f.status, 1) << f.err;
  EXPECT_THAT(f.out, HasSubstr("given up: 5 calls in a row did not return within 0.2 s"));
  EXPECT_THAT(f.out, ContainsRegex("1[ \n]+row[ \n]+was[ \n]+given[ \n]+up"));
  for (const json& row : json::parse(read_file(file("f.json")))["results"]) {
    if (row["impl"] == "cpu.baseline") {
      EXPECT_EQ(row["verdict"], "pass");
      EXPECT_FALSE(row.contains("given_up"));
      continue;
    }
    EXPECT_EQ(row["verdict"], "timeout");
    EXPECT_GE(row["given_up"].get<int>(), 50);
    EXPECT_EQ(row["counts"]["pass"], 0);
    EXPECT_EQ(row["counts"]["not_run"], row["given_up"]);
    EXPECT_LE(row["counts"]["timeout"].get<int>(), 5);
  }
}

TEST_F(KeptRuns, WhatKernelsPrintIsTheirs) {
  const Finished f = verify({"relu", "--plugin", KEPT_TEST_PLUGIN, "--impl", "plugin:prints", "--dtype", "f32", "--cases", "40",
                             "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(json::parse(f.out)["format"], "assay.run/1");
  const Finished bench = assay({"bench", "--plugin", KEPT_TEST_PLUGIN, "--impl", "plugin:prints", "--case", "relu:f32:self=100",
                                "--time", "0.1", "--rounds", "3", "--json", "-"});
  EXPECT_TRUE(json::accept(bench.out)) << bench.out;
  const Finished ops = assay({"ops", "exp", "--plugin", KEPT_TEST_PLUGIN, "--json", "-"});
  EXPECT_TRUE(json::accept(ops.out));
  EXPECT_THAT(ops.err, HasSubstr("assay: loaded"));
  for (const Finished* said : {&f, &bench}) {
    EXPECT_THAT(said->err, AllOf(HasSubstr("[plugin:prints] assay: PASSED"), HasSubstr("prints more"), Not(HasSubstr("\033"))));
    EXPECT_LT(said->err.size(), 8000u);
  }
  for (const Finished* said : {&f, &bench, &ops}) EXPECT_THAT("\n" + said->err, Not(HasSubstr("\nassay: ")));
}

TEST_F(KeptRuns, UndeclaredRefusalsHaveAVerdictOfTheirOwn) {
  const Finished f = verify({"relu", "--plugin", KEPT_TEST_PLUGIN, "--impl", "plugin:shy", "--dtype", "f32", "--cases", "40",
                             "--json", file("f.json"), "--junit", file("f.xml"), "--html", file("f.html")});
  EXPECT_EQ(f.status, 1) << f.err;
  EXPECT_THAT(f.out, HasSubstr("UNDECLARED"));
  const json run = json::parse(read_file(file("f.json")));
  EXPECT_EQ(run["results"][0]["verdict"], "undeclared_refusal");
  EXPECT_EQ(run["summary"]["undeclared_refusal"], 1);
  EXPECT_EQ(run["summary"]["pass"], 0);
  EXPECT_THAT(read_file(file("f.xml")), HasSubstr("<failure type=\"undeclared_refusal\""));
  EXPECT_THAT(read_file(file("f.html")), HasSubstr("undeclared refusal"));
  const RunResult read = read_run_file(file("f.json"));
  EXPECT_EQ(read.rows[0].verdict, Verdict::pass);
  EXPECT_EQ(json::parse(to_json(read))["results"], run["results"]);
}

TEST_F(KeptRuns, AKernelThatWasNamedAndDidNotRunIsNoSuccess) {
  const auto run = [&](const std::string& impl) {
    return assay({"verify", "relu", "--impl", impl, "--dtype", "f32", "--cases", "8", "--out", file("out"), "--json",
                  file("f.json"), "--plugin", KEPT_TEST_PLUGIN, "--shrink", "0"});
  };
  const Finished named = run("plugin:absent,cpu.baseline");
  EXPECT_EQ(named.status, 3) << named.out;
  EXPECT_THAT(named.out, HasSubstr("plugin:absent, which --impl names, did not run"));
  EXPECT_EQ(run("plugin:abs*,cpu.baseline").status, 0) << "a glob asks for what there is";
  EXPECT_EQ(run("plugin:absent,cpu.baseline,plugin:wrong").status, 1) << "a fault is more";
  const Finished timed = assay({"bench", "--plugin", KEPT_TEST_PLUGIN, "--impl", "plugin:absent,cpu.baseline", "--case",
                                "relu:f32:self=100", "--time", "0.1", "--rounds", "3"});
  EXPECT_EQ(timed.status, 3) << timed.out;
  EXPECT_THAT(timed.err, HasSubstr("assay: plugin:absent, which --impl names, did not run"));
}

// The whole of it, with fewer moments than by hand; bisect and record are tried by hand.
TEST_F(KeptRuns, ResumedRunsComeToTheSameVerdicts) {
  if (kSanitized) GTEST_SKIP() << "it takes too long under a sanitizer";
  const Finished f = run_program("/usr/bin/python3", {KILLED_RUNS, ASSAY_PROGRAM, KEPT_TEST_PLUGIN, "1"});
  EXPECT_EQ(f.status, 0) << f.out << f.err;
}

class BisectKept : public RecordedExample {};

TEST_F(BisectKept, GoesOnWithTheSameWords) {
  run_engine({"slope_axis", "overwritten"});
  const std::string words = "bisect " + file("trace.h5") + " " + file("dump.npz") + " --time 1 ";
  const auto here = [&](const std::string& command) {
    return run_program("/bin/bash",
                       {"-c", "cd \"$1\"; unset ASSAY_OUT; " + command, ASSAY_PROGRAM, fs::path(file("x")).parent_path()});
  };
  const Finished whole = here("\"$0\" " + words + "--json whole.json");
  ASSERT_EQ(whole.status, 1) << whole.err;
  EXPECT_FALSE(fs::exists(file("assay-out")));
  here("\"$0\" " + words + "> /dev/null & for i in {1..2000}; do sleep 0.002; [ $(cat assay-out/*.journal 2> "
       "/dev/null | wc -l) -ge 4 ] && break; done; kill -9 $!; wait");
  if (!fs::exists(file("assay-out/bisect.journal"))) GTEST_SKIP() << "it was faster than the signal";
  const Finished resumed = here("\"$0\" " + words + "--resume --json resumed.json");
  EXPECT_EQ(resumed.status, 1) << resumed.err;
  EXPECT_EQ(resumed.out, whole.out);
  const auto without_times = [](const std::string& name) {
    json j = json::parse(read_file(name));
    for (json& call : j["calls"])
      if (call["diagnosis"].is_object()) call["diagnosis"].erase("seconds");
    return j;
  };
  EXPECT_EQ(without_times(file("resumed.json")), without_times(file("whole.json")));
}

}  // namespace
}  // namespace assay
