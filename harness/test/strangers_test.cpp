// Kernels that others could have written, wrong in one kind of call each. Those of strangers_test_plugin.c take a run of the default budget,
// minutes, and are for runs by hand: assay verify --plugin libstrangers_test_plugin.so --impl 'plugin:*' --dtype f32,i8
#include <map>

#include "command_line_fixture.h"

namespace assay {
namespace {

using nlohmann::json;

class Strangers : public CommandLine {
 protected:
  // Of each kernel of the plugin and each dtype that it takes: is it at fault?
  std::map<std::string, bool> judge(const std::string& plugin, const std::string& dtypes, std::uint64_t seed,
                                    std::vector<std::string> more) const {
    more.insert(more.end(), {"--plugin", plugin, "--impl", "plugin:*", "--dtype", dtypes, "--seed",
                             std::to_string(seed), "--shrink", "0", "--json", file("run.json")});
    const Finished f = verify(more);
    EXPECT_LE(f.status, 1) << f.err;
    std::ifstream in(file("run.json"));
    std::map<std::string, bool> at_fault;
    const json run = json::parse(in);
    for (const json& row : run["results"])
      if (row["judged"].get<int>() > 0)
        at_fault[row["impl"].get<std::string>() + " " + row["dtype"].get<std::string>()] =
            row["verdict"] != "pass";
    return at_fault;
  }
};

TEST_F(Strangers, ThatForgetMasksAreFoundSoon) {
  for (std::uint64_t seed = 0; seed < effort<std::uint64_t>(2, 1); ++seed) {
    const auto at_fault = judge(ASSAY_MASKED_TEST_PLUGIN, "f32,bf16", seed, {"--cases", "40"});
    EXPECT_EQ(at_fault.size(), 16u);
    for (const auto& [name, is] : at_fault)
      EXPECT_EQ(is, name.find("right") == std::string::npos) << name << " at seed " << seed;
  }
}

}  // namespace
}  // namespace assay
