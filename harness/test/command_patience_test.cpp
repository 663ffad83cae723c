// Kernels that hang: the end of the time, or Ctrl-C, ends the wait for them.
#include <chrono>

#include "command_line_fixture.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class CommandPatience : public CommandLine {
 protected:
  std::vector<std::string> hanging(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"verify", "tanh",          "--plugin", ASSAY_COMMAND_TEST_PLUGIN,
                                 "--impl", "plugin:hangs",  "--out",    file("out"),
                                 "--json", file("run.json")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Finished interrupted(const std::string& after, const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"--preserve-status", "-s", "INT", after, ASSAY_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run_program("/usr/bin/timeout", all);
  }
  json run() const {
    std::ifstream in(file("run.json"));
    return json::parse(in);
  }
  std::chrono::steady_clock::duration took() const { return std::chrono::steady_clock::now() - start_; }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TEST_F(CommandPatience, OutOfTimeBeforeTheFirstCaseIsNoSuccess) {
  const Finished f = assay(hanging({"--time", "1s"}));
  EXPECT_LT(took(), 1s + 4s);
  EXPECT_EQ(f.status, 3) << f.out;
  EXPECT_THAT(f.out, HasSubstr("NOTHING RAN: the run was stopped before its first case."));
  EXPECT_EQ(run()["complete"], false);
}

TEST_F(CommandPatience, AnInterruptEndsTheWait) {
  EXPECT_EQ(interrupted("1", hanging({})).status, 130);
  EXPECT_LT(took(), 1s + 4s);
  EXPECT_EQ(run()["complete"], false);
}

// Two of its calls have taken longer than their limit by then: that is said, and not tried again.
TEST_F(CommandPatience, WhatWasDoneIsReported) {
  const Finished f = assay(hanging({"--time", "1.5s", "--timeout", "0.3"}));
  EXPECT_LT(took(), 1.5s + 4s);
  EXPECT_EQ(f.status, 1) << f.out;
  EXPECT_THAT(f.out, HasSubstr("did not return within 0.3 s"));
  EXPECT_THAT(f.out, HasSubstr("INCOMPLETE: out of time"));
  EXPECT_THAT(assay({"replay", file("out/tanh-plugin_hangs-f32-timeout-0.h5"), "--impl", "cpu.baseline"}).out,
              HasSubstr("recorded  plugin:hangs         timeout: did not return within 0.3 s"));
}

TEST_F(CommandPatience, SoItIsInTheSelfTest) {
  EXPECT_EQ(interrupted("1", {"selftest", "tanh", "--plugin", ASSAY_COMMAND_TEST_PLUGIN}).status, 130);
  EXPECT_EQ(interrupted("1", {"selftest", "--diagnosis", "--dtype", "f32"}).status, 130);
  EXPECT_LT(took(), 2s + 2 * 4s);
}

}  // namespace
}  // namespace assay
