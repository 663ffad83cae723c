// Lists of cases: what braces stand for, what is wrong in a file, and what a run of one says.
#include "harness/verify/case_list.h"

#include <algorithm>

#include "command_line_fixture.h"
#include "harness/generate/braces.h"
#include "reports/file.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> texts(const std::string& text) {
  const Braces braces(text);
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < braces.count(); ++i) all.push_back(braces.text(i));
  return all;
}

TEST(Braces, StandForTheirAlternatives) {
  EXPECT_THAT(texts("no braces, 1"), ElementsAre("no braces, 1"));
  EXPECT_THAT(texts("a{b,c}d"), ElementsAre("abd", "acd"));
  EXPECT_THAT(texts("{a,b}{1,2}"), ElementsAre("a1", "a2", "b1", "b2")) << "the last changes first";
  EXPECT_THAT(texts("x{,@step2}"), ElementsAre("x", "x@step2"));
  EXPECT_THAT(texts("{a,b{1,2},}"), ElementsAre("a", "b1", "b2", ""));
}

TEST(Braces, CommasWithinBracketsPartNothing) {
  EXPECT_THAT(texts("{@step2,@permuted(1,0)}"), ElementsAre("@step2", "@permuted(1,0)"));
  EXPECT_THAT(texts("dim={[0,1],[2]}"), ElementsAre("dim=[0,1]", "dim=[2]"));
  EXPECT_THAT(texts("[{2,3}x4]"), ElementsAre("[2x4]", "[3x4]"))
      << "those around the braces are none of theirs";
}

TEST(Braces, StandForRanges) {
  EXPECT_THAT(texts("{1..3}"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(texts("{1..-1}"), ElementsAre("1", "0", "-1"));
  EXPECT_THAT(texts("{0..33..16}"), ElementsAre("0", "16", "32"));
  EXPECT_THAT(texts("{5,{7..8}}"), ElementsAre("5", "7", "8"));
  EXPECT_EQ(Braces("{0..2000000000}{0..2000000000}{0..2000000000}").count(), Braces::kMost);
  EXPECT_EQ(Braces("{0..2000000000}").text(1'999'999'999), "1999999999");
}

TEST(Braces, AreTakenAgainByTheirName) {
  EXPECT_THAT(texts("{n:=1,2}x{3,4},$nx$n"), ElementsAre("1x3,1x1", "1x4,1x1", "2x3,2x2", "2x4,2x2"));
  EXPECT_THAT(texts("{n:={1..2}x5,}={1,$n}"), ElementsAre("1x5=1", "1x5=1x5", "2x5=1", "2x5=2x5", "=1", "="));
  EXPECT_THAT(texts("{k:=3..4}$k"), ElementsAre("33", "44"));
}

TEST(Braces, SayWhereTheyAreWrong) {
  const auto wrong = [](const std::string& text) -> std::string {
    try {
      const Braces braces(text);
    } catch (const BraceError& e) {
      return std::to_string(e.position) + ": " + e.what();
    }
    return "nothing is wrong";
  };
  EXPECT_THAT(wrong("ab{c,d"), HasSubstr("2: \"{\" without a \"}\""));
  EXPECT_THAT(wrong("ab}"), HasSubstr("2: \"}\" without a \"{\""));
  EXPECT_THAT(wrong("a{b}"),
              HasSubstr("1: \"{b}\" is neither alternatives, {f32,f64}, nor a range, {1..40}"));
  for (const char* none : {"{}", "{1..}", "{1..2..3..4}", "{a..c}", "{1..99999999999}"})
    EXPECT_THAT(wrong(none), HasSubstr("neither alternatives")) << none;
  EXPECT_THAT(wrong("{1..2..0}"), HasSubstr("a range whose step is 0"));
  EXPECT_THAT(wrong("$n{n:=1,2}"), HasSubstr("0: \"$\" stands before the letter of braces before it"));
  EXPECT_THAT(wrong("{n:=1,2}x$m"), HasSubstr("9: \"$\" stands"));
  EXPECT_THAT(wrong("{n:=1,2}{n:=1,2}"), HasSubstr("9: there are braces named n before"));
  EXPECT_THAT(wrong("{1,{n:=1,2}}"), HasSubstr("4: braces within others have no name"));
  EXPECT_THAT(wrong(std::string(9, '{')), HasSubstr("8: more than 8 braces within one another"));
}

constexpr auto kAll = [](const std::string&) { return true; };

TEST(CaseList, HasTheCasesOfItsLines) {
  const std::vector<Case> cases = case_list_from(
      "# sizes\n\n  relu:{f32,f64}:self={1..3}:seed=2  # and why\r\n"
      "relu:bf16:self=4",
      "list", kAll);
  ASSERT_EQ(cases.size(), 7u);
  EXPECT_EQ(text(cases[0]), "relu:f32:self=1:data=normal:seed=2");
  EXPECT_EQ(text(cases[5]), "relu:f64:self=3:data=normal:seed=2");
  EXPECT_EQ(text(cases[6]), "relu:bf16:self=4:data=normal:seed=0");
}

TEST(CaseList, LeavesOutWhatIsNotWanted) {
  const auto relu = [](const std::string& op) { return op == "relu"; };
  EXPECT_EQ(case_list_from("{relu,tanh}:f32:self=1\nof another build:x=1", "list", relu).size(), 1u);
}

TEST(CaseList, SaysWhatIsWrongWhere) {
  const auto wrong = [](const std::string& text) -> std::string {
    try {
      case_list_from(text, "list.txt", kAll);
    } catch (const FileError& e) {
      return e.what();
    }
    return "nothing is wrong";
  };
  EXPECT_THAT(wrong(""), HasSubstr("list.txt: there is no case in it"));
  EXPECT_THAT(wrong("# nothing\n\n"), HasSubstr("list.txt: there is no case in it"));
  EXPECT_THAT(wrong("#\n  relu:f32:self={1,2"), HasSubstr("list.txt:2: column 17: \"{\" without"));
  EXPECT_THAT(wrong("relu:f32:self=1\nrel:f32:self=1"),
              HasSubstr("list.txt:2: there is no operator \"rel\""));
  EXPECT_THAT(wrong("relu:f32:self={2,2y}"), HasSubstr("list.txt:1: relu:f32:self=2y: bad case text: self"));
  EXPECT_THAT(wrong("relu:f32:self=2:data=x"), HasSubstr("list.txt:1: bad case text: data is \"x\""));
  EXPECT_THAT(
      wrong("softmax.int:f32:self=2,dim={0..1}"),
      HasSubstr("list.txt:1: softmax.int:f32:self=2,dim=1: arguments that are not allowed: softmax.int: dim"))
      << "all of a line, and not those that happen to be right";
  EXPECT_THAT(wrong("relu:f32:self={1..60000}\nrelu:f32:self={1..60000}"),
              HasSubstr("list.txt:2: with this line the file has more than 100000 cases"));
}

class CaseListCommand : public CommandLine {
 protected:
  std::string list(const std::string& text) const {
    std::ofstream(file("list.txt")) << text;
    return file("list.txt");
  }
};

TEST_F(CaseListCommand, EveryCaseIsJudgedOnEveryKernelThatIsChosen) {
  const std::string cases = list("relu:{f32,bf16}:self={1..40}\nexp:f32:self={3,5}x3:data=range  # few\n");
  const Finished f = verify({"--cases-from", cases, "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--impl",
                             "cpu.baseline,plugin:wrong", "--shrink", "0", "--json", "-"});
  EXPECT_EQ(f.status, 1) << f.err;
  const json rows = results(f);
  ASSERT_EQ(rows.size(), 5u);
  for (const json& row : rows) {
    EXPECT_EQ(row["cases"], row["op"] == "relu" ? 40 : 2) << row["op"] << row["impl"];
    EXPECT_TRUE(row["impl"] == "plugin:wrong" || row["verdict"] == "pass") << row["op"];
  }
  const auto wrong = std::ranges::find_if(
      rows, [](const json& row) { return row["impl"] == "plugin:wrong" && row["dtype"] == "f32"; });
  ASSERT_NE(wrong, rows.end());
  EXPECT_EQ((*wrong)["verdict"], "diverged");
  EXPECT_THAT((*wrong)["failures"][0]["case"].get<std::string>(), HasSubstr("relu:f32:self="));
}

TEST_F(CaseListCommand, OperatorsAndDtypesChooseOfIt) {
  const std::string cases = list("{relu,tanh}:{f32,f64}:self={1..20}");
  const Finished f =
      verify({"ta*", "--dtype", "f64", "--cases-from", cases, "--impl", "cpu.baseline", "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  const json rows = results(f);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["op"], "tanh");
  EXPECT_EQ(rows[0]["dtype"], "f64");
  expect_usage_error(verify({"mm", "--cases-from", cases}), "\"mm\" leaves no case of it");
  expect_usage_error(verify({"--dtype", "i8", "--cases-from", cases, "--impl", "cpu.*"}),
                     "no case that is listed has results of these dtypes");
}

TEST_F(CaseListCommand, ShardsHaveItAmongThem) {
  const std::string cases = list("{relu,tanh,exp}:{f32,f64}:self={1..20}");
  std::uint64_t in_all = 0;
  for (const char* shard : {"1/2", "2/2"}) {
    const Finished f =
        verify({"--cases-from", cases, "--impl", "cpu.baseline", "--shard", shard, "--json", "-"});
    EXPECT_EQ(f.status, 0) << f.err;
    std::uint64_t here = 0;
    for (const json& row : results(f)) here += row["cases"].get<std::uint64_t>();
    EXPECT_GT(here, 0u) << shard;
    in_all += here;
  }
  EXPECT_EQ(in_all, 120u);
}

TEST_F(CaseListCommand, WhatItCannotGoWithIsWrongUsage) {
  const std::string cases = list("relu:f32:self=3");
  expect_usage_error(verify({"--cases-from", file("none.txt")}), "none.txt");
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"--case", "relu:f32:self=3"},
                                             {"--cases", "5"},
                                             {"--seed", "5"},
                                             {"--thorough"},
                                             {"--fixtures", "onnx"}}) {
    std::vector<std::string> all{"--cases-from", cases};
    all.insert(all.end(), other.begin(), other.end());
    const Finished f = verify(all);
    EXPECT_EQ(f.status, 2) << other[0];
    EXPECT_THAT(f.err, HasSubstr("--cases-from")) << other[0];
  }
  expect_usage_error(verify({"--cases-from", cases, "--json", cases}), "is read, too, and would be lost");
}

}  // namespace
}  // namespace assay
