// Coverage of kernels' own code: its parts, and from end to end with an instrumented plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/coverage/blocks.h"
#include "harness/coverage/calls_in_code.h"
#include "harness/coverage/ran_code.h"
#include "harness/guided/code_map.h"
#include "harness/guided/guide.h"
#include "harness/guided/places.h"
#include "harness/guided/symbols.h"
#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CoverageBlocks, AreReadAsTheyAreWritten) {
  const std::vector<CoveredModule> modules{{"/a.so", false, {{16, true}, {32, false}}},
                                           {"/b.so", true, {{48, false}}}};
  const std::vector<CoveredModule> read = parse_blocks(description(modules));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].path, "/a.so");
  EXPECT_TRUE(read[0].blocks.at(0).entry);
  EXPECT_FALSE(read[0].blocks.at(1).entry);
  EXPECT_EQ(read[0].blocks.at(1).address, 32u);
  EXPECT_TRUE(read[1].by_calls);
  EXPECT_THROW(parse_blocks("{}"), std::runtime_error);
  EXPECT_THROW(
      parse_blocks(R"({"format": "assay.blocks/1", "modules": [{"path": "/a", "by_calls": true, "blocks": [],
                                "entries": [1]}]})"),
      std::runtime_error);
}

TEST(CoverageSymbols, TakeTheLineThatUsesWhatTheSystemsHeadersInline) {
  const std::vector<SourcePlace> places = parse_symbols(
      "0x10\nstd::max<int>(int const&, int const&)\n/usr/include/c++/12/bits/stl_algo.h:95:3\n"
      "void (anonymous namespace)::run<float>(int)\n/src/k/../mm.cpp:12:7\n\n"
      "0x20\nrun_all\n/src/mm.cpp:40 (discriminator 2)\n0x30\n??\n??:0\n",
      4);
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places[0].file, "/src/mm.cpp");
  EXPECT_EQ(places[0].line, 12u);
  EXPECT_EQ(short_function(places[0].function), "run");
  EXPECT_EQ(places[1].line, 40u);
  EXPECT_EQ(places[1].compiled_in, "run_all");
  EXPECT_EQ(places[2].file, "");
  EXPECT_EQ(places[3].line, 0u);
}

TEST(CoverageLines, AreRangesWithoutAnyThatRanBetween) {
  const std::vector<CountedSourceLine> lines{{3, 1, 0}, {5, 2, 0},  {6, 0, 1},
                                             {9, 1, 0}, {11, 1, 4}, {12, 1, 0}};
  EXPECT_EQ(line_ranges(lines), "3-5, 9, 11 (in part), 12");
}

TEST(CoverageMap, CountsWhatJudgedCasesRan) {
  const auto at = [](const char* function, std::uint32_t line) {
    return SourcePlace{function, "/src/mm.cpp", line, function};
  };
  const CodeMap map({{"/lib/mm.so", false, {{0, true}, {8, false}, {16, false}, {32, true}}}},
                    {at("run", 1), at("run", 4), at("run", 7), at("slow", 20)}, "");
  const std::vector<Ran> ran{Ran::judged, Ran::unjudged, Ran::not_run, Ran::not_run};
  const CodeCoverage row = map.of_row(ran);
  EXPECT_EQ(row.blocks, 3u);  // of run alone
  EXPECT_EQ(row.ran, 1u);
  EXPECT_EQ(row.unjudged, 1u);
  EXPECT_EQ(row.file, "/src/mm.cpp");
  EXPECT_THAT(row.gaps, ElementsAre(CodeGap{"run", "/src/mm.cpp", "4-7", 2, false}));
  EXPECT_EQ(words(row),
            "1 of 3 blocks (33%) of /src/mm.cpp ran in judged cases, 1 in refused or failed calls alone");
  const LibraryCoverage library = map.of_library(ran);
  EXPECT_EQ(library.blocks, 4u);
  EXPECT_THAT(library.never_entered, ElementsAre(CodeGap{"slow", "/src/mm.cpp", "20", 1, false}));
  ASSERT_EQ(library.files.size(), 1u);
  EXPECT_THAT(library.files[0].lines_not_run, ElementsAre(4u, 7u, 20u));
}

TEST(CoverageLog, IsReadWithinItsBounds) {
  const auto log = std::make_unique<CoverageLog>();
  std::shared_ptr<RanCode> ran;
  add_ran_code(*log, 0, ran);
  EXPECT_EQ(ran, nullptr);  // nobody has written there
  log->records = CoverageLog::kRecords;
  log->blocks = 3;
  log->block[0] = 7;
  log->block[1] = 5;
  log->block[2] = 5;
  log->blocks_of[0] = {0, 1};
  log->blocks_of[1] = {1, CoverageLog::kOpen};  // it ended within
  log->blocks_of[2] = {~0u, ~1u};               // what a kernel wrote
  add_ran_code(*log, 0, ran);
  EXPECT_THAT(ran->blocks, ElementsAre(7u));
  add_ran_code(*log, 1, ran);
  EXPECT_THAT(ran->blocks, ElementsAre(5u, 7u));
  EXPECT_FALSE(ran->cut);
  add_ran_code(*log, 2, ran);
  EXPECT_TRUE(ran->cut);
}

TEST(CoveragePlaces, AreSizesAttributesAndStrides) {
  const Case c = parse_case("mm:f32:self=[4x6]@strides(9,1),mat2=6x5:seed=3");
  const auto has = [&](CasePlace::Kind kind, std::int64_t value) {
    return std::ranges::any_of(places_of(c),
                               [&](const CasePlace& p) { return p.kind == kind && p.value == value; });
  };
  EXPECT_TRUE(has(CasePlace::Kind::size, 4));
  EXPECT_TRUE(has(CasePlace::Kind::size, 6));
  EXPECT_TRUE(has(CasePlace::Kind::stride, 9));
  for (const CasePlace& p : places_of(c)) {
    if (p.kind == CasePlace::Kind::size && p.value == 6) {
      EXPECT_EQ(text(with_value(c, Dtype::f32, p, 1341).value()),
                "mm:f32:self=4x1341,mat2=1341x5:data=normal:seed=3");
    }
    if (p.kind == CasePlace::Kind::stride && p.value == 9) {
      EXPECT_EQ(text(with_value(c, Dtype::f32, p, 77).value()),
                "mm:f32:self=[4x6]@strides(77,1),mat2=6x5:data=normal:seed=3");
      EXPECT_FALSE(with_value(c, Dtype::f32, p, 1 << 20).has_value());  // too far apart
    }
  }
}

// What a kernel with `if (K >= 1337 && K % 8 == 5)` tells of a call.
RanCode told(std::int64_t k) {
  RanCode ran{{0}, {{1, 1337, k, 1, 0}, {2, 5, k % 8, 1, 0}}, false};
  if (k >= 1337 && k % 8 == 5) ran.blocks.push_back(1);
  return ran;
}

TEST(CoverageGuide, ReachesConditionsThatMustComeTogether) {
  Guide guide(*find_operator("mm"), Dtype::f32, 0);
  const auto k_of = [](const Case& c) { return std::get<TensorSpec>(c.arguments[0]).shape[1]; };
  for (const char* c : {"mm:f32:self=2x3,mat2=3x4", "mm:f32:self=1x5,mat2=5x2", "mm:f32:self=7x16,mat2=16x9"})
    guide.saw(parse_case(c), told(k_of(parse_case(c))), true);
  bool reached = false;
  int drawn = 0;
  for (; drawn < 60 && !reached; ++drawn) {
    const std::optional<Case> c = guide.next();
    ASSERT_TRUE(c.has_value());
    reached = guide.saw(*c, told(k_of(*c)), true);
  }
  EXPECT_TRUE(reached) << "after " << drawn;
}

TEST(CoverageGuide, ComparesTwoSizes) {
  Guide guide(*find_operator("mm"), Dtype::f32, 0);
  const auto run = [](const Case& c) {
    const Shape &a = std::get<TensorSpec>(c.arguments[0]).shape,
                &b = std::get<TensorSpec>(c.arguments[1]).shape;
    RanCode ran{{0}, {{1, 3 * a[0] + 1, b[1], 0, 0}}, false};
    if (b[1] == 3 * a[0] + 1) ran.blocks.push_back(1);
    return ran;
  };
  for (const char* c : {"mm:f32:self=12x3,mat2=3x4", "mm:f32:self=9x5,mat2=5x2"})
    guide.saw(parse_case(c), run(parse_case(c)), true);
  bool reached = false;
  for (int i = 0; i < 20 && !reached; ++i)
    if (const std::optional<Case> c = guide.next()) reached = guide.saw(*c, run(*c), true);
  EXPECT_TRUE(reached);
}

// A kernel that tells of no comparison leaves nothing but neighbours, and in the end nothing.
TEST(CoverageGuide, EndsWithoutIdeas) {
  Guide guide(*find_operator("mm"), Dtype::f32, 0);
  guide.saw(parse_case("mm:f32:self=2x3,mat2=3x4"), RanCode{{0}, {}, false}, true);
  int drawn = 0;
  while (drawn < 100 && guide.next()) ++drawn;
  EXPECT_LT(drawn, 20);
}

#ifdef ASSAY_COVERED_PLUGINS
std::string plugin(const std::string& name) {
  return std::string(ASSAY_COVERED_PLUGINS) + "/" + name + ".so";
}

nlohmann::json verified(const std::string& library, const std::string& cases,
                        std::vector<std::string> more = {}) {
  const TemporaryFolder out;
  std::vector<std::string> words{"verify",   "mm",      "--plugin", library, "--impl",
                                 "plugin:*", "--dtype", "f32",      "--out", out.path().string(),
                                 "--json",   "-",       "--cases",  cases,   "--shrink",
                                 "0"};
  words.insert(words.end(), more.begin(), more.end());
  const Finished f = run_program(ASSAY_PROGRAM, words);
  return nlohmann::json::parse(f.out);
}

class CoveredPlugin : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!can_record_coverage()) GTEST_SKIP() << "a build with sanitizers records nothing";
    if (!std::filesystem::exists(plugin(GetParam())))
      GTEST_SKIP() << "no compiler for " << GetParam() << " when this was configured";
  }
};

TEST_P(CoveredPlugin, NamesTheLinesThatNoJudgedCaseRan) {
  const nlohmann::json run = verified(plugin(GetParam()), "20", {"--coverage"});
  const nlohmann::json& code = run["results"][0]["coverage"];
  ASSERT_TRUE(code.contains("blocks")) << code;
  EXPECT_GT(code["ran"], 5);
  EXPECT_LT(code["ran"], code["blocks"]);
  EXPECT_THAT(code["not_run"].dump(), HasSubstr("15"));
  EXPECT_THAT(run["coverage"][0]["never_entered"].dump(), HasSubstr("nobody_calls_this"));
}

TEST_P(CoveredPlugin, FindsTheFaultThatSizesHide) {
  EXPECT_EQ(verified(plugin(GetParam()), "100")["results"][0]["verdict"], "pass");
  EXPECT_EQ(verified(plugin(GetParam()), "100", {"--coverage"})["results"][0]["verdict"], "diverged");
}

INSTANTIATE_TEST_SUITE_P(Compilers, CoveredPlugin, testing::Values("covered_by_clang", "covered_by_gcc"),
                         [](const auto& of) { return std::string(of.param); });

TEST(CoverageOfPlugins, SaysHowToBuildOneThatIsNotInstrumented) {
  const nlohmann::json run = verified(plugin("not_covered"), "4", {"--coverage"});
  EXPECT_THAT(run["results"][0]["coverage"]["reason"].get<std::string>(),
              HasSubstr(can_record_coverage() ? "-fsanitize-coverage=trace-pc-guard,pc-table,trace-cmp"
                                              : "sanitizers"));
  EXPECT_FALSE(verified(plugin("not_covered"), "4")["results"][0].contains("coverage"));
}

TEST(CoverageOfCode, IsEmptyWithoutCalls) {
  EXPECT_THAT(calls_in_code(plugin("not_covered"), {"__sanitizer_cov_trace_pc"}), IsEmpty());
  const TemporaryFolder folder;
  write_file(folder.file("text"), "no library");
  EXPECT_THROW(calls_in_code(folder.file("text"), {"puts"}), FileError);
}
#endif

}  // namespace
}  // namespace assay
