// `assay replay` and `assay explain`: plugins, and what either says to other programs.
#include <algorithm>
#include <set>

#include "command_line_fixture.h"
#include "reports/file.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class CommandReplay : public CommandLine {
 protected:
  // A failure of a plugin's kernel, as the run file has it: a wrong result, not one of its refusals.
  json failure() const {
    const Finished f =
        verify({"relu", "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--impl", "plugin:wrong", "--dtype", "f32",
                "--cases", "30", "--shrink", "0", "--json", file("run.json")});
    EXPECT_EQ(f.status, 1) << f.err;
    EXPECT_THAT(f.out, HasSubstr("--plugin"));
    const json run = json::parse(read_file(file("run.json")));
    for (const json& failure : run["results"][0]["failures"])
      if (failure["kind"] == "diverged") return failure;
    ADD_FAILURE() << "no result diverged";
    return {};
  }
  static json only_call(const Finished& f, const std::string& path) {
    const json all = json::parse(f.out);
    EXPECT_EQ(all["format"], "assay.replay/1");
    EXPECT_EQ(all["file"], path);
    EXPECT_EQ(all["calls"].size(), 1u);
    return all["calls"][0];
  }
};

// A case file may be anybody's: the command that is printed names its library, and without that it is not loaded.
TEST_F(CommandReplay, APluginIsLoadedIfItIsNamed) {
  const json recorded = failure();
  const std::string path = recorded["replay"];
  ASSERT_EQ(recorded["plugin"], ASSAY_COMMAND_TEST_PLUGIN);
  const Finished without = assay({"replay", path});
  EXPECT_EQ(without.status, 3) << without.err;
  EXPECT_THAT(without.out, HasSubstr("assay replay " + path + " --plugin " ASSAY_COMMAND_TEST_PLUGIN));
  const Finished with = assay({"replay", path, "--plugin", ASSAY_COMMAND_TEST_PLUGIN});
  EXPECT_EQ(with.status, 1) << with.err;
  EXPECT_THAT(with.out, HasSubstr("now       plugin:wrong         "));
}

// Of a pattern that means nothing, nothing is said of the recorded kernel's library.
TEST_F(CommandReplay, AKernelThatIsNowhereIsWrongUsage) {
  const std::string path = failure()["replay"];
  for (const std::vector<std::string>& plugin :
       {std::vector<std::string>{}, {"--plugin", ASSAY_COMMAND_TEST_PLUGIN}}) {
    std::vector<std::string> words{"replay", path, "--impl", "nosuch"};
    words.insert(words.end(), plugin.begin(), plugin.end());
    const Finished f = assay(words);
    expect_usage_error(f, "no kernel matches --impl \"nosuch\"; there are: ");
    EXPECT_THAT(f.err, HasSubstr("cpu.baseline"));
    EXPECT_EQ(f.out, "");
  }
  expect_usage_error(assay({"replay", path, "--impl", "cpu.baseline,nosuch"}), "--impl \"nosuch\"");
  EXPECT_EQ(assay({"replay", path, "--impl", "cpu.baseline,!plugin:wrong"}).status, 0);
  // The recorded one is known, if not here.
  const Finished recorded = assay({"replay", path, "--impl", "plugin:wrong"});
  EXPECT_EQ(recorded.status, 3) << recorded.err;
  EXPECT_THAT(recorded.out, HasSubstr("name its library: --plugin " ASSAY_COMMAND_TEST_PLUGIN));
}

TEST_F(CommandReplay, SaysInJsonWhatRan) {
  const json recorded = failure();
  const std::string path = recorded["replay"];
  const Finished f = assay({"replay", path, "--plugin", ASSAY_COMMAND_TEST_PLUGIN, "--json", "-"});
  EXPECT_EQ(f.status, 1) << f.err;
  const json call = only_call(f, path);
  EXPECT_EQ(call["case"], recorded["case"]);
  EXPECT_EQ(call["recorded"]["impl"], "plugin:wrong");
  EXPECT_EQ(call["recorded"]["verdict"], recorded["kind"]);
  EXPECT_FALSE(call["recorded"]["detail"].get<std::string>().empty());
  ASSERT_EQ(call["now"].size(), 1u);
  EXPECT_EQ(call["now"][0]["impl"], "plugin:wrong");
  EXPECT_EQ(call["now"][0]["status"], "ran");
  EXPECT_EQ(call["now"][0]["verdict"], recorded["kind"]);
  EXPECT_EQ(call["now"][0]["runs"], call["now"][0]["shown"]);

  const Finished without = assay({"replay", path, "--json", "-"});
  EXPECT_EQ(without.status, 3);
  const json not_run = only_call(without, path)["now"][0];
  EXPECT_EQ(not_run["impl"], "plugin:wrong");
  EXPECT_EQ(not_run["status"], "not_run");
  EXPECT_EQ(not_run["verdict"], "not_run");
  EXPECT_EQ(not_run["runs"], 0);
  EXPECT_THAT(not_run["detail"].get<std::string>(), HasSubstr("--plugin"));

  const Finished both = assay({"replay", path, "--impl", "cpu.baseline", "--json", file("replay.json")});
  EXPECT_EQ(both.status, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("now       cpu.baseline         pass"));
  EXPECT_EQ(json::parse(read_file(file("replay.json")))["calls"][0]["now"][0]["verdict"], "pass");
  expect_usage_error(assay({"replay", path, "--json", path}), "is read, too");
}

TEST_F(CommandReplay, ExplainAnswersInJson) {
  const std::string case_text = "prelu:f32:self=2x6x5x7,weight=6:data=normal:seed=0";
  const Finished f = assay({"explain", case_text, "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  const json answer = json::parse(f.out);
  EXPECT_EQ(answer["format"], "assay.explain/1");
  EXPECT_EQ(answer["case"], case_text);
  EXPECT_EQ(answer["error"], "");
  EXPECT_THAT(answer["schema"].get<std::string>(), HasSubstr("prelu(Tensor self"));
  EXPECT_THAT(answer["reference"].get<std::string>(), HasSubstr("reference/prelu.cpp:"));
  EXPECT_EQ(answer["results"], json::parse(R"([{"name": "out", "dtype": "f32", "shape": [2, 6, 5, 7]}])"));
  std::set<std::string> running;
  int first = 0;
  for (const json& k : answer["kernels"]) {
    const bool runs = k["status"] == "runs";
    EXPECT_EQ(k["reason"].get<std::string>().empty(), runs) << k;
    EXPECT_EQ(k["bounds"].size(), runs ? 1u : 0u) << k;
    first += k["first"].get<bool>() ? 1 : 0;
    if (!runs) continue;
    running.insert(k["impl"]);
    EXPECT_EQ(k["bounds"][0]["result"], "out");
    EXPECT_LE(k["bounds"][0]["median"], k["bounds"][0]["largest"]);
    EXPECT_GT(k["bounds"][0]["elements"], 0);
    for (const json& field : k["contract"]) EXPECT_FALSE(field["source"].get<std::string>().empty()) << k;
  }
  EXPECT_TRUE(running.contains("cpu.baseline"));
  EXPECT_EQ(first, 1);

  const Finished both = assay({"explain", case_text, "--json", file("explain.json")});
  EXPECT_THAT(both.out, HasSubstr("this one runs"));
  EXPECT_EQ(json::parse(read_file(file("explain.json")))["case"], case_text);
}

TEST_F(CommandReplay, ExplainSaysInJsonWhatIsNotAllowed) {
  const Finished f = assay({"explain", "prelu:f32:self=2x6x5x7,weight=5", "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  const json answer = json::parse(f.out);
  EXPECT_THAT(answer["error"].get<std::string>(), HasSubstr("weight has shape [5]"));
  EXPECT_TRUE(answer["results"].empty());
  EXPECT_TRUE(answer["kernels"].empty());
  expect_usage_error(assay({"explain", "relu:f32:self=3", "--json", "/proc"}), "--json /proc: is a folder");
}

}  // namespace
}  // namespace assay
