// What the command line says of itself: help that fits, and errors that say what was meant.
#include <sstream>

#include "command_line_fixture.h"
#include "reports/text.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> commands() {
  std::vector<std::string> names;
  std::istringstream help(run_program(ASSAY_PROGRAM, {"--help"}).out);
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    if (listed && line.empty()) break;
    if (listed && line.size() > 2 && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
    listed = listed || line == "Subcommands:";
  }
  return names;
}

TEST_F(CommandLine, HelpFitsAHundredColumns) {
  std::vector<std::string> names = commands();
  EXPECT_GE(names.size(), 15u);
  names.insert(names.begin(), "");
  for (const std::string& name : names) {
    std::vector<std::string> words{"--help"};
    if (!name.empty()) words.insert(words.begin(), name);
    const Finished f = assay(words);
    EXPECT_EQ(f.status, 0);
    std::istringstream help(f.out);
    for (std::string line; std::getline(help, line);) EXPECT_LE(width(line), 100u) << name << ": " << line;
  }
}

// A third column begins in one place, so that a page can be made of the table (ci/check/made_pages.py), and a long one hangs there.
TEST_F(CommandLine, HelpKeepsTheColumnsOfATable) {
  const std::string help = assay({"ops", "--help"}).out;
  const std::string column(49, ' ');
  EXPECT_THAT(help, HasSubstr("\n  multiply          a float dtype                operands of products are rounded to this format\n" + column +
                              "first\n"));
  EXPECT_THAT(help, HasSubstr("\n  compute           a float dtype                every operation is rounded to this format\n"));
  // Two columns stay as they are.
  EXPECT_THAT(assay({"verify", "--help"}).out, HasSubstr("\n  assay verify --thorough                        every case on every kernel\n"));
}

TEST_F(CommandLine, AMistypedFlagGetsTheNearestOne) {
  for (const std::string& name : commands()) {
    const Finished f = assay({name, "--hepl"});
    expect_usage_error(f, "assay: assay " + name + " has no flag --hepl; did you mean --help?");
  }
  expect_usage_error(assay({"verify", "relu", "--thorugh"}), "did you mean --thorough?");
  expect_usage_error(assay({"bench", "--jsn=x"}), "assay bench has no flag --jsn; did you mean --json?");
  expect_usage_error(assay({"--versoin"}), "did you mean --version?");
  expect_usage_error(assay({"verfy"}), "did you mean `assay verify`?");
  expect_usage_error(assay({"verify", "--qqqqqqqq"}), "assay: assay verify has no flag --qqqqqqqq (`assay verify --help`");
  expect_usage_error(assay({"bisect", "a", "b", "c"}), "assay: assay bisect takes no argument \"c\" here");
}

TEST_F(CommandLine, EveryErrorSaysWhoseItIs) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"verify", "--cases", "x"}, {"verify", "--cases"}, {"report"}, {"bench", "--study", "3"},
        {"verify", "--json"}, {"replay", "nosuch.h5"}, {"verify", "--shard", "3"}, {"selftest", "--diagnosis", "--cases", "3"}}) {
    const Finished f = assay(words);
    EXPECT_EQ(f.status, 2) << f.err;
    std::istringstream lines(f.err);
    for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, StartsWith("assay: "));
  }
}

}  // namespace
}  // namespace assay
