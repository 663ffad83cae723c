// What kernels leave otherwise in their process is their own verdict: careless_test_plugin.cpp beside kernels that rely on it.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "command_line_fixture.h"
#include "harness/run/guarded_call.h"
#include "harness/run/process_state.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::string kCarelessPlugin = std::string(ASSAY_RUN_TEST_PLUGINS) + "/careless_test_plugin.so";

struct Careless {
  std::string kernel;    // "timer" is plugin:bad.timer
  std::string sentence;  // that names what it did; empty: it does no harm, and is no fault
  std::optional<std::string> or_this = {};  // that may stand in the sentence's place
};

class CarelessKernels : public CommandLine {
 protected:
  json verified(const std::string& kernel) const {
    const Finished f = verify({"relu", "--dtype", "f32", "--plugin", kCarelessPlugin, "--impl",
                               "plugin:right.*," + kernel, "--cases", "40", "--timeout", "2", "--json", "-"});
    EXPECT_LE(f.status, 1) << f.err;
    return results(f);
  }
  static void expect_only(const Careless& careless, const json& rows) {
    const std::string culprit = "plugin:bad." + careless.kernel;
    EXPECT_EQ(rows.size(), 10u);
    for (const json& row : rows) {
      const bool is_culprit = row["impl"] == culprit;
      EXPECT_EQ(row["verdict"] == "pass", !is_culprit || careless.sentence.empty())
          << row.dump(1).substr(0, 2000);
      if (is_culprit) {
        EXPECT_THAT(row["failures"].dump(), AnyOf(HasSubstr(careless.sentence),
                                                  HasSubstr(careless.or_this.value_or(careless.sentence))));
      }
    }
  }
  static json benched(const std::string& kernel) {
    const Finished f =
        assay({"bench", "--case", "relu:f32:self=64x64", "--plugin", kCarelessPlugin, "--impl",
               "plugin:right.heap,plugin:right.files,plugin:right.here,plugin:right.environment,"
               "plugin:right.time," +
                   kernel,
               "--rounds", "20", "--time", "0.3", "--json", "-"});
    EXPECT_LE(f.status, 1) << f.err;
    return json::parse(f.out, nullptr, false);
  }
};

const Careless kInBoth[] = {
    {"limits_files", "left a lower limit of its process (RLIMIT_NOFILE)"},
    {"nice", "left its process at another priority"},
    {"registers", "left registers changed that a function must leave as they were (rbx, r12, r13, r14, r15)"},
    {"folder", "another working folder, another umask"},
    {"environment", "left variables of the environment away"},
    {"clock", "left the processor's clock closed"},
    {"filters", "set a filter of system calls"},
    {"upper_halves", ""},
};

TEST_F(CarelessKernels, AreAtFaultAloneInVerify) {
  std::vector<Careless> all(std::begin(kInBoth), std::end(kInBoth));
  for (const Careless& more :
       {Careless{"timer", "left a timer running for whoever runs next"},
        Careless{"alarm", "left a timer running for whoever runs next"},
        Careless{"limits_time", "RLIMIT_CPU"}, Careless{"limits_memory", "left its process without room"},
        Careless{"silences", "another file, or none, in the place of descriptor 1"},
        Careless{"closes_output", "another file, or none, in the place of descriptor 1"},
        Careless{"keeps_files", "no descriptor for anybody else to open"},
        Careless{"lock", "damaged its process: plugin:right.lock, called after it, did not return"},
        // Its own next call meets the damage, or another kernel's: that is malloc()'s choice.
        Careless{"heap", "damaged its process: plugin:right.", "\"kind\":\"crashed\""}, Careless{"tls", ""},
        Careless{"exit", ""}})
    all.push_back(more);
  for (const Careless& careless : all) {
    SCOPED_TRACE(careless.kernel);
    expect_only(careless, verified("plugin:bad." + careless.kernel));
  }
}

TEST_F(CarelessKernels, AreAtFaultAloneInBench) {
  std::vector<Careless> all(std::begin(kInBoth), std::end(kInBoth));
  for (const Careless& more : {Careless{"arguments", "changed the description of its tensors or attributes"},
                               Careless{"outputs", "changed the description of its tensors or attributes"},
                               Careless{"silences", "put another file in the place of"}})
    all.push_back(more);
  for (const Careless& careless : all) {
    SCOPED_TRACE(careless.kernel);
    const json document = benched("plugin:bad." + careless.kernel);
    ASSERT_TRUE(document.is_object());
    int rows = 0;
    for (const json& b : document["benchmarks"]) {
      const json& own = b["assay"];
      const bool is_culprit = own["impl"] == "plugin:bad." + careless.kernel;
      ++rows;
      EXPECT_EQ(own["status"] == "measured", !is_culprit || careless.sentence.empty())
          << b.dump(1).substr(0, 1500);
      if (is_culprit) {
        EXPECT_THAT(b.dump(), HasSubstr(careless.sentence));
      }
    }
    EXPECT_EQ(rows, 6);
  }
}

TEST(GuardedCall, PutsRegistersRightAndLetsExceptionsPass) {
  std::uint32_t changed = 0;
  const assay_call call{};
  EXPECT_EQ(assay_guarded_call([](const assay_call*) { return 7; }, &call, &changed), 7);
  EXPECT_EQ(changed, 0u);
  EXPECT_THROW(
      assay_guarded_call([](const assay_call*) -> int { throw std::runtime_error("x"); }, &call, &changed),
      std::runtime_error);
  EXPECT_EQ(registers_text(changed), "");
  EXPECT_EQ(registers_text(0b100001), "registers changed that a function must leave as they were (rbx, r15)");
}

TEST(ProcessState, SaysWhatHasChangedAndPutsItRight) {
  EXPECT_EXIT(
      {
        const ProcessState state(true);
        if (!state.changed().empty()) _exit(1);
        setenv("ASSAY_TEST_MORE", "1", 1);
        if (!state.changed().empty()) _exit(2);  // what is added is nobody's loss
        alarm(100);
        if (chdir("/") != 0 || umask(0123) == 0123) _exit(3);
        unsetenv("PATH");
        if (state.changed().find("a timer running") != 0) _exit(4);
        if (alarm(0) != 0 || std::getenv("PATH") == nullptr) _exit(5);
        _exit(state.changed().empty() ? 0 : 6);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace assay
