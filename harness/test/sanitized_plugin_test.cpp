// Plugins that were compiled with -fsanitize=thread, by each compiler that there is: races_test_plugin.c.
#include <filesystem>

#include "command_line_fixture.h"
#include "harness/plugin/sanitized.h"
#include "harness/run/sanitizer_report.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class SanitizedPlugin : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
#ifdef ASSAY_SANITIZED
    GTEST_SKIP() << "two sanitizers do not go into one process";
#endif
  }
  static std::vector<std::string> plugins(const std::string& begin) {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(ASSAY_RACES_PLUGINS))
      if (entry.path().filename().string().starts_with(begin)) all.push_back(entry.path().string());
    return all;
  }
};

TEST_F(SanitizedPlugin, ARaceIsAFaultThatNamesBothPlaces) {
  ASSERT_FALSE(plugins("races_by_").empty());
  for (const std::string& plugin : plugins("races_by_")) {
    SCOPED_TRACE(plugin);
    EXPECT_TRUE(is_thread_sanitized(plugin));
    const Finished f = verify({"--case", "relu:f32:self=100", "--plugin", plugin, "--impl", "plugin:*",
                               "--sanitize", "thread", "--shrink", "0", "--json", "-"});
    EXPECT_EQ(f.status, 1) << f.err;
    const json rows = json::parse(f.out)["results"];
    EXPECT_EQ(rows.size(), 2u);
    for (const json& row : rows) {
      if (row["impl"] == "plugin:guarded") {
        EXPECT_EQ(row["verdict"], "pass") << row.dump(1).substr(0, 2000);
        continue;
      }
      EXPECT_EQ(row["verdict"], "memory") << row.dump(1).substr(0, 2000);
      const json& failure = row["failures"][0];
      EXPECT_THAT(failure["detail"].get<std::string>(),
                  AllOf(HasSubstr("data race (ThreadSanitizer): "), HasSubstr("previous "),
                        HasSubstr(" by main thread at racy "),
                        ContainsRegex(" by thread T[1-9][0-9]* at racy "),  // the second run's thread is T2
                        HasSubstr("races_test_plugin.c:"), HasSubstr("global 'written'")));
      const Finished again = assay({"replay", failure["replay"], "--plugin", plugin});
      EXPECT_EQ(again.status, 1) << again.out << again.err;
      EXPECT_THAT(again.out, HasSubstr("data race (ThreadSanitizer)"));
    }
  }
}

// What is asked of the sanitizer beside what Assay asks: here, to keep a race to itself.
TEST_F(SanitizedPlugin, ItsOptionsAreHeeded) {
  { std::ofstream(file("known")) << "race:racy\n"; }
  const std::string options = "TSAN_OPTIONS=suppressions=" + file("known");
  for (const std::string& plugin : plugins("races_by_")) {
    SCOPED_TRACE(plugin);
    const std::vector<std::string> words{"--case",   "relu:f32:self=100", "--plugin", plugin, "--impl", "plugin:racy",
                                         "--sanitize", "thread",            "--shrink", "0",    "--json", "-",
                                         "--env"};
    const auto with = [&](const std::string& variable) {
      std::vector<std::string> all = words;
      all.push_back(variable);
      return verify(all);
    };
    const Finished kept = with(options);
    EXPECT_EQ(kept.status, 0) << kept.out << kept.err;
    const Finished shown = with("TSAN_OPTIONS=second_deadlock_stack=1");
    EXPECT_EQ(shown.status, 1) << shown.err;
    const std::string replay = json::parse(shown.out)["results"][0]["failures"][0]["replay"];
    // A file decides nothing of what a process does with its files.
    const Finished again = assay({"replay", replay, "--plugin", plugin});
    expect_usage_error(again, "env TSAN_OPTIONS=second_deadlock_stack=1 assay replay");
    const Finished by_user = run_program(
        "/usr/bin/env", {"TSAN_OPTIONS=second_deadlock_stack=1", ASSAY_PROGRAM, "replay", replay, "--plugin", plugin});
    EXPECT_EQ(by_user.status, 1) << by_user.out << by_user.err;
    for (const char* ours : {"exitcode=0", "verbosity=0:log_path=/tmp/x", "halt_on_error=0"})
      expect_usage_error(with(std::string("TSAN_OPTIONS=") + ours), "is Assay's; leave it out");
  }
}

TEST(SanitizerVariables, AreJoined) {
  std::vector<std::string> variables{"LD_PRELOAD=libtsan.so.2",
                                     "TSAN_OPTIONS=exitcode=66:halt_on_error=1:atexit_sleep_ms=0:die_after_fork=0:report_thread_leaks=0"};
  const std::vector<std::string> before = variables;
  EXPECT_FALSE(add_to_thread_sanitizer(variables, "OMP_NUM_THREADS=2"));
  EXPECT_TRUE(add_to_thread_sanitizer(variables, "TSAN_OPTIONS="));
  EXPECT_EQ(variables, before);
  EXPECT_TRUE(add_to_thread_sanitizer(variables, "TSAN_OPTIONS=suppressions=/x:verbosity=1"));
  EXPECT_TRUE(add_to_thread_sanitizer(variables, "LD_PRELOAD=/a.so"));
  EXPECT_EQ(variables[0], "LD_PRELOAD=libtsan.so.2:/a.so");
  EXPECT_EQ(variables[1], "TSAN_OPTIONS=suppressions=/x:verbosity=1:" + before[1].substr(13));
  EXPECT_EQ(asked_of_thread_sanitizer(variables[0]), "LD_PRELOAD=/a.so");
  EXPECT_EQ(asked_of_thread_sanitizer(variables[1]), "TSAN_OPTIONS=suppressions=/x:verbosity=1");
  EXPECT_EQ(asked_of_thread_sanitizer(before[1]), "");
  EXPECT_EQ(refused_option("TSAN_OPTIONS=verbosity=1 exitcode=0"), "exitcode");
  EXPECT_EQ(refused_option("TSAN_OPTIONS=suppressions=exitcode"), "");
  EXPECT_EQ(refused_option("ASAN_OPTIONS=exitcode=0"), "");
}

TEST_F(SanitizedPlugin, OthersAreTurnedDown) {
  const std::string plain = std::string(ASSAY_RUN_TEST_PLUGINS) + "/load_test_plugin_PLAIN.so";
  EXPECT_FALSE(is_thread_sanitized(plain));
  EXPECT_FALSE(is_thread_sanitized("/nowhere/at/all.so"));
  expect_usage_error(verify({"relu", "--sanitize", "thread"}), "--sanitize thread is for plugins");
  expect_usage_error(verify({"relu", "--plugin", plain, "--sanitize", "address"}),
                     "--sanitize is \"address\": there is thread");
  expect_usage_error(verify({"relu", "--plugin", plain, "--sanitize", "thread"}),
                     "load_test_plugin_PLAIN.so was not compiled with -fsanitize=thread");
  for (const std::string& plugin : plugins("openmp_by_"))
    expect_usage_error(verify({"relu", "--plugin", plugin, "--sanitize", "thread"}),
                       "GCC's OpenMP, whose barriers the sanitizer does not see");
}

TEST(SanitizerReport, NamesWhatRaced) {
  EXPECT_EQ(
      sanitizer_report("==================\n"
                       "WARNING: ThreadSanitizer: data race (pid=4552)\n"
                       "  Write of size 4 at 0x7fad52e8804c by thread T1 (mutexes: write M0):\n"
                       "    #0 memset ../../../../src/libsanitizer/tsan.cpp:780 (libtsan.so.2+0x3)\n"
                       "    #1 work(void*) /src/k (1).c:4 (kg.so+0x11a9)\n"
                       "    #2 other <null> (kg.so+0x2)\n\n"
                       "  Previous read of size 8 at 0x7fad52e8804c by main thread:\n"
                       "    #0 run_kernel <null> (kg.so+0x1248)\n\n"
                       "  Location is global 'shared' of size 4 at 0x7fad52e8804c (kg.so+0x404c)\n\n"
                       "  Thread T1 (tid=4555, running) created by main thread at:\n"
                       "    #0 interceptor ../x.cpp:1001 (libtsan.so.2+0x5e686)\n"
                       "    #1 run_kernel /src/k.c:5 (kg.so+0x1218)\n\n"
                       "SUMMARY: ThreadSanitizer: data race /src/k.c:4 in work\n"),
      "data race (ThreadSanitizer): write of size 4 by thread T1 at work(void*) /src/k (1).c:4, previous read of size 8 by "
      "main thread at run_kernel (kg.so+0x1248); location is global 'shared' of size 4");
  EXPECT_EQ(sanitizer_report("the sky is falling\n"), "");
  EXPECT_EQ(sanitizer_report("WARNING: ThreadSanitizer: data race (pid="), "data race (ThreadSanitizer)");
  EXPECT_EQ(sanitizer_report("WARNING: ThreadSanitizer: data race (pid=1)\n  Write of"),
            "data race (ThreadSanitizer)");
}

}  // namespace
}  // namespace assay
