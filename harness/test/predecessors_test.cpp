// Kernels that are wrong because of what another one left in their process: heirs_test_plugin.cpp.
#include <set>

#include "command_line_fixture.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Predecessors : public CommandLine {
 protected:
  // Of `rows`, those of these kernels are at fault, and all others pass.
  json verified(const std::string& impls, const std::set<std::string>& guilty,
                std::vector<std::string> operators = {"relu"}) {
    std::vector<std::string> words = std::move(operators);
    for (const std::string& word :
         {std::string("--dtype"), std::string("f32"), std::string("--plugin"),
          std::string(ASSAY_RUN_TEST_PLUGINS) + "/heirs_test_plugin.so", std::string("--impl"), impls,
          std::string("--cases"), std::string("64"), std::string("--json"), std::string("-")})
      words.push_back(word);
    const Finished f = verify(words);
    EXPECT_EQ(f.status, guilty.empty() ? 0 : 1) << f.err;
    json rows = json::parse(f.out)["results"];
    for (const json& row : rows) {
      EXPECT_EQ(row["verdict"] == "pass", !guilty.contains(row["impl"])) << row.dump(1).substr(0, 3000);
      expect_consistent(row);
    }
    return rows;
  }
  // Of 64 cases that are asked for, and as many with wrong arguments as of every row that checks them.
  static void expect_consistent(const json& row) {
    int counted = 0;
    for (const auto& [verdict, n] : row["counts"].items()) counted += n.get<int>();
    EXPECT_EQ(row["cases"], counted) << row.dump(1).substr(0, 3000);
    EXPECT_EQ(row["asked"], 64);
    EXPECT_EQ(row["judged"], 64);
    EXPECT_EQ(row["cases"], 64);
    EXPECT_FALSE(row.contains("replaced"));
  }
  // The case files of a kernel's damage show it again, and not with another kernel in its place.
  void expect_replayed(const json& rows, const std::string& impl, const std::string& right) const {
    const std::string plugin = std::string(ASSAY_RUN_TEST_PLUGINS) + "/heirs_test_plugin.so";
    int files = 0;
    for (const json& row : rows)
      for (const json& failure : row["failures"]) {
        if (row["impl"] != impl) continue;
        ++files;
        ASSERT_TRUE(failure.contains("harmed")) << failure.dump(1);
        const std::vector<std::string> words{"replay", failure["replay"], "--plugin", plugin, "--json", "-"};
        const Finished again = assay(words);
        EXPECT_EQ(again.status, 1) << again.out << again.err;
        const json call = json::parse(again.out)["calls"][0];
        EXPECT_EQ(call["now"][0]["verdict"], "unstable") << again.out;
        EXPECT_THAT(call["now"][0]["detail"].get<std::string>(),
                    HasSubstr("damaged its process: plugin:heir."));
        EXPECT_EQ(call["recorded"]["harmed"]["impl"], failure["harmed"]["impl"]);
        std::vector<std::string> other = words;
        other.insert(other.end(), {"--impl", right});
        EXPECT_EQ(assay(other).status, 0) << assay(other).out;
        EXPECT_EQ(assay({"replay", failure["replay"]}).status, 3) << "a library that nobody names";
      }
    EXPECT_GT(files, 0);
  }
  static std::string failures(const json& rows, const std::string& impl) {
    std::string all;
    for (const json& row : rows)
      if (row["impl"] == impl) all += row["failures"].dump();
    return all;
  }
};

TEST_F(Predecessors, AreBlamedForWhatIsWrongAfterThem) {
  for (const char* const heir : {"heir.diverges", "heir.crashes", "heir.returns"}) {
    SCOPED_TRACE(heir);
    const json rows = verified(std::string("plugin:right.*,plugin:culprit.always,plugin:") + heir,
                               {"plugin:culprit.always"});
    EXPECT_THAT(
        failures(rows, "plugin:culprit.always"),
        AllOf(HasSubstr("damaged its process: plugin:"), HasSubstr(heir), HasSubstr("in a fresh process")));
    expect_replayed(rows, "plugin:culprit.always", "plugin:right.0");
  }
}

TEST_F(Predecessors, AreBlamedWhereOnlySomeCallsSpoilTheProcess) {
  const json rows =
      verified("plugin:right.*,plugin:culprit.matrices,plugin:heir.diverges", {"plugin:culprit.matrices"});
  expect_replayed(rows, "plugin:culprit.matrices", "plugin:right.1");
}

// In the forty-first call of its process, and in the three hundred and first.
TEST_F(Predecessors, AreBlamedWhereManyCallsSpoilTheProcess) {
  for (const char* const culprit : {"plugin:culprit.slowly", "plugin:culprit.late"}) {
    SCOPED_TRACE(culprit);
    const json rows = verified(std::string("plugin:right.*,plugin:heir.diverges,") + culprit, {culprit});
    expect_replayed(rows, culprit, "plugin:right.1");
  }
}

TEST_F(Predecessors, AreBlamedAcrossOperators) {
  const json rows = verified("plugin:right.*,plugin:culprit.roots,plugin:heir.diverges,plugin:heir.crashes",
                             {"plugin:culprit.roots"}, {"sqrt", "relu"});
  EXPECT_THAT(failures(rows, "plugin:culprit.roots"), HasSubstr("damaged its process"));
  expect_replayed(rows, "plugin:culprit.roots", "plugin:right.roots");
}

TEST_F(Predecessors, AreAllBlamed) {
  verified(
      "plugin:right.*,plugin:culprit.always,plugin:culprit.matrices,plugin:culprit.otherwise,plugin:heir.*",
      {"plugin:culprit.always", "plugin:culprit.matrices", "plugin:culprit.otherwise"});
}

// Nobody else is to blame for what depends on the stack, or on its own earlier calls.
TEST_F(Predecessors, AreNotBlamedForWhatIsAKernelsOwn) {
  const json rows = verified("plugin:right.*,plugin:own.stack,plugin:own.counts",
                             {"plugin:own.stack", "plugin:own.counts"});
  EXPECT_THAT(failures(rows, "plugin:own.stack") + failures(rows, "plugin:own.counts"),
              ::testing::Not(HasSubstr("damaged its process")));
}

TEST_F(Predecessors, AreNotBlamedForWhatHappensByChance) {
  for (const char* const seed : {"1", "2", "3", "4"}) {
    const Finished f = verify({"relu", "--seed", seed, "--dtype", "f32", "--plugin",
                               std::string(ASSAY_RUN_TEST_PLUGINS) + "/heirs_test_plugin.so", "--impl",
                               "plugin:right.*,plugin:own.chance", "--cases", "64", "--json", "-"});
    const json rows = json::parse(f.out)["results"];
    for (const json& row : rows) {  // by chance it is right itself
      if (row["impl"] != "plugin:own.chance") {
        EXPECT_EQ(row["verdict"], "pass") << row.dump(1).substr(0, 3000);
      }
      EXPECT_THAT(row["failures"].dump(), ::testing::Not(HasSubstr("damaged its process")));
    }
  }
}

}  // namespace
}  // namespace assay
