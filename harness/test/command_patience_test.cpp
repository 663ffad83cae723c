// Kernels that hang: the end of the time, Ctrl-C, or a terminal that closes ends the wait for them, which is shown there.
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "command_line_fixture.h"
#include "test/effort.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Far less than the calls take, and than a busy machine needs to start a program and to end it.
constexpr auto kLateness = 30s;

class CommandPatience : public CommandLine {
 protected:
  std::vector<std::string> hanging(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"verify", "tanh",          "--plugin", ASSAY_COMMAND_TEST_PLUGIN,
                                 "--impl", "plugin:hangs",  "--out",    file("out"),
                                 "--json", file("run.json")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // The calls go on for a minute, so that who waits for them is late on a busy machine, too.
  std::vector<std::string> patient(const std::vector<std::string>& more) const {
    std::vector<std::string> all = hanging({"--timeout", "60"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Finished interrupted(const std::string& after, const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"--preserve-status", "-s", "INT", after, ASSAY_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run_program("/usr/bin/timeout", all);
  }
  // The program on a terminal of its own, terminal_.
  pid_t on_terminal(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{ASSAY_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> words;
    for (std::string& w : all) words.push_back(w.data());
    words.push_back(nullptr);
    const pid_t program = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (program == 0) {
      execv(words[0], words.data());
      _exit(127);
    }
    return program;
  }
  // Reads what it writes until it ends, for which it would else wait.
  void read_to_the_end() const {
    char some[4096];
    while (read(terminal_, some, sizeof some) > 0) continue;
  }
  static int status_of(pid_t program) {
    int status = 0;
    waitpid(program, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  json run() const {
    std::ifstream in(file("run.json"));
    return json::parse(in);
  }
  std::chrono::steady_clock::duration took() const { return std::chrono::steady_clock::now() - start_; }

  int terminal_ = -1;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TEST_F(CommandPatience, OutOfTimeBeforeTheFirstCaseIsNoSuccess) {
  const Finished f = assay(patient({"--time", "1s"}));
  EXPECT_LT(took(), 1s + kLateness);
  EXPECT_EQ(f.status, 3) << f.out;
  EXPECT_THAT(f.out, HasSubstr("NOTHING RAN: the run was stopped before its first case."));
  EXPECT_EQ(run()["complete"], false);
}

TEST_F(CommandPatience, AnInterruptEndsTheWait) {
  const pid_t program = on_terminal(patient({}));
  ASSERT_TRUE(begun());
  const auto since = took();
  kill(program, SIGINT);
  read_to_the_end();
  EXPECT_EQ(status_of(program), 130);
  EXPECT_LT(took() - since, kLateness);
  EXPECT_EQ(run()["complete"], false);
}

// Two of its calls have taken longer than their limit by then: that is said, and not tried again.
TEST_F(CommandPatience, WhatWasDoneIsReported) {
  const Finished f = assay(hanging({"--time", "1.5s", "--timeout", "0.3"}));
  EXPECT_LT(took(), 1.5s + kLateness);
  EXPECT_EQ(f.status, 1) << f.out;
  EXPECT_THAT(f.out, HasSubstr("did not return within 0.3 s"));
  EXPECT_THAT(f.out, HasSubstr("INCOMPLETE: out of time"));
  EXPECT_THAT(assay({"replay", file("out/tanh-plugin_hangs-f32-timeout-0.h5"), "--impl", "cpu.baseline"}).out,
              HasSubstr("recorded  plugin:hangs         timeout: did not return within 0.3 s"));
}

// Also of a limit that no clock here counts.
TEST_F(CommandPatience, AShortLimitIsSaidAsItIs) {
  const Finished f = assay(hanging({"--time", "3s", "--timeout", "1e-9", "--shrink", "0", "--cases", "1"}));
  EXPECT_THAT(f.out, HasSubstr("did not return within 0.001 s")) << f.err;
}

// All processes of a terminal are told that it closes, and what they write there fails.
TEST_F(CommandPatience, AClosedTerminalIsAnInterrupt) {
  const pid_t program = on_terminal(patient({"--cases", "100"}));
  ASSERT_TRUE(begun());
  const auto since = took();
  close(terminal_);
  EXPECT_EQ(status_of(program), 130);
  EXPECT_LT(took() - since, kLateness);
  const json written = run();
  EXPECT_EQ(written["complete"], false);
  EXPECT_EQ(written["incomplete"], "interrupted");
  for (const json& row : written["results"]) EXPECT_NE(row["verdict"], "crashed") << row;
}

// As nohup asks.
TEST_F(CommandPatience, AHangUpThatIsIgnoredStaysSo) {
  std::vector<std::string> words{"-c", "trap '' HUP; \"$0\" \"$@\" & p=$!; sleep 1; kill -HUP $p; wait $p",
                                 ASSAY_PROGRAM};
  for (const std::string& w : hanging({"--time", "2s"})) words.push_back(w);
  const Finished f = run_program("/bin/sh", words);
  EXPECT_EQ(f.status, 3) << f.err;
  EXPECT_EQ(run()["incomplete"], "out of time");
}

TEST_F(CommandPatience, KernelsThatAreOnlyAskedAreWaitedForVisibly) {
  const pid_t program = on_terminal({"ops", "tanh", "--plugin", ASSAY_COMMAND_TEST_PLUGIN});
  std::string shown;
  char some[4096];
  while (shown.find("waiting for kernels") == std::string::npos && took() < 9s) {
    pollfd written{terminal_, POLLIN, 0};
    if (poll(&written, 1, 100) <= 0) continue;
    const ssize_t n = read(terminal_, some, sizeof some);
    if (n <= 0) break;
    shown.append(some, static_cast<std::size_t>(n));
  }
  EXPECT_THAT(shown, HasSubstr("waiting for kernels that run a few cases"));
  kill(program, SIGKILL);
  close(terminal_);
  status_of(program);
}

TEST_F(CommandPatience, SoItIsInTheSelfTest) {
  EXPECT_EQ(interrupted("1", {"selftest", "tanh", "--plugin", ASSAY_COMMAND_TEST_PLUGIN}).status, 130);
  EXPECT_EQ(interrupted("1", {"selftest", "--diagnosis", "--dtype", "f32"}).status, 130);
  EXPECT_LT(took(), 2s + 2 * kLateness);
}

}  // namespace
}  // namespace assay
