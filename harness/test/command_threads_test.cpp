// `assay verify` looks for faults of threads: examine/thread_runs.h.
#include <map>

#include "command_line_fixture.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class CommandThreads : public CommandLine {
 protected:
  // The row of each kernel, by its name.
  std::map<std::string, json> rows(const std::string& seed) const {
    const Finished f = verify({"relu", "--dtype", "f32", "--seed", seed, "--cases", "60", "--plugin",
                               ASSAY_THREADS_TEST_PLUGIN, "--impl", "plugin:lost*,plugin:right", "--shrink",
                               "0", "--json", "-"});
    std::map<std::string, json> all;
    for (const json& row : results(f)) all[row["impl"]] = row;
    return all;
  }
};

TEST_F(CommandThreads, AFaultThatTakesThreadsThatAreAtWorkIsFound) {
  for (const char* seed : {"0", "1", "2"}) {
    std::map<std::string, json> all = rows(seed);
    EXPECT_EQ(all["plugin:right"]["verdict"], "pass");
    const json& lost = all["plugin:lost_update"];
    EXPECT_EQ(lost["verdict"], "unstable") << seed;
    EXPECT_THAT(lost["failures"][0]["detail"].get<std::string>(),
                testing::AllOf(HasSubstr("called again and again with"), HasSubstr(" threads: out["),
                               HasSubstr("with one thread")));
  }
}

// Their number varies: a fault of seven of them is one of the operator's.
TEST_F(CommandThreads, TheyAreSometimesSeven) {
  int found = 0;
  for (const char* seed : {"0", "1", "2", "3"})
    found += rows(seed)["plugin:lost_with_seven"]["verdict"] == "unstable";
  EXPECT_GE(found, 1);
}

// The limit of time is that of a call, however many are made in a row.
TEST_F(CommandThreads, ASlowKernelHasTheTimeOfOneCallForEach) {
  const Finished f = verify({"--case", "relu:f32:self=40000", "--plugin", ASSAY_THREADS_TEST_PLUGIN,
                             "--impl", "plugin:slow", "--timeout", "1", "--json", "-"});
  EXPECT_EQ(results(f)[0]["verdict"], "pass") << f.out;
}

}  // namespace
}  // namespace assay
