// What one kernel does to its process is its own verdict, and nobody else's: damage_test_plugin.cpp beside kernels that are right.
#include <cstdlib>
#include <filesystem>
#include <set>

#include "command_line_fixture.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kDamagePlugin = std::string(ASSAY_RUN_TEST_PLUGINS) + "/damage_test_plugin.so";

struct Damage {
  std::string kernel;    // "throws" is plugin:bad.throws
  std::string sentence;  // that names what it did
};

class DamageOfOne : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    setenv("DAMAGE_ONCE", file("once").c_str(), 1);
  }
  void TearDown() override { unsetenv("DAMAGE_ONCE"); }

  json verified(const std::string& kernel) const {
    std::filesystem::remove(file("once"));
    const Finished f = verify({"relu", "--dtype", "f32", "--plugin", kDamagePlugin, "--impl",
                               "plugin:good*," + kernel, "--cases", "40", "--json", "-"});
    EXPECT_EQ(f.status, 1) << f.err;
    return results(f);
  }
  // Of each row that is not what it should be.
  void expect_only(const Damage& damage, const json& rows) {
    const std::string culprit = "plugin:bad." + damage.kernel;
    EXPECT_EQ(rows.size(), 11u);
    for (const json& row : rows) {
      const bool is_culprit = row["impl"] == culprit;
      EXPECT_EQ(row["verdict"] == "pass", !is_culprit) << row.dump(1).substr(0, 2000);
      if (is_culprit) {
        EXPECT_THAT(row["failures"].dump(), HasSubstr(damage.sentence));
      }
    }
  }
  json benched(const std::string& kernel, const std::string& name, const std::string& shape = "64x64") const {
    std::filesystem::remove(file("once"));
    const Finished f = assay({"bench", "--case", "relu:f32:self=" + shape, "--plugin", kDamagePlugin,
                              "--impl", "plugin:good.0,plugin:good.9,cpu.baseline," + kernel, "--rounds",
                              "40", "--time", "0.3", "--json", "-"});
    EXPECT_EQ(f.status, 1) << name << f.err;
    return json::parse(f.out, nullptr, false);
  }
};

TEST_F(DamageOfOne, IsItsVerdictInVerify) {
  const Damage all[] = {
      {"flushes_to_zero", "left the floating-point control bits (rounding, flush to zero) changed"},
      {"x87_precision", "left the x87 control word changed"},
      {"x87_stack", "left x87 or MMX registers occupied"},
      {"mmx", "left x87 or MMX registers occupied"},
      {"direction", "left the direction flag set"},
      {"throws", "an exception left the kernel: std::runtime_error: no more of this"},
      {"overwrites_input", "changed the protection of memory of its input `self`"},
      {"borrows_input", "changed the protection of memory of its input `self`"},
      {"protects_output", "changed the protection of memory of its output `out`"},
      {"unmaps", "took away memory of its input `self`"},
      {"survives_faults", "set a handler of its own for SIGSEGV"},
      {"kills_itself_once", "sent SIGKILL to its own process"},
      {"kills_itself", "sent SIGKILL to its own process"},
      {"stops_its_parent", "sent SIGSTOP to process"},
      {"kills_its_parent", "sent SIGKILL to process"},
      {"zeroes", "overwrote memory that its process shares with Assay"},
      {"closes", "closed a file descriptor that it had not opened"},
      {"crashes", "segmentation fault: wrote address 0x10"},
  };
  for (const Damage& damage : all) {
    SCOPED_TRACE(damage.kernel);
    expect_only(damage, verified("plugin:bad." + damage.kernel));
  }
}

// From a thread that goes on: wrong results where it came in time, else what it did after the call.
TEST_F(DamageOfOne, IsItsVerdictInVerifyHoweverLate) {
  const json rows = verified("plugin:bad.writes_late");
  for (const json& row : rows)
    EXPECT_EQ(row["verdict"] == "pass", row["impl"] != "plugin:bad.writes_late")
        << row.dump(1).substr(0, 2000);
}

// As a library does that compiles its code when it is first called.
TEST_F(DamageOfOne, ProgramsThatAKernelStartsMayDoWhatTheyLike) {
  const Finished f = verify(
      {"relu", "--dtype", "f32", "--plugin", kDamagePlugin, "--impl", "plugin:harmless.starts_a_program", "--cases", "8"});
  EXPECT_EQ(f.status, 0) << f.out << f.err;
}

// It is said, and no fault: a library may keep what it has opened.
TEST_F(DamageOfOne, DescriptorsThatStayOpenAreNoneInBench) {
  const Finished f = assay({"bench", "--case", "relu:f32:self=64x64", "--plugin", kDamagePlugin, "--impl",
                            "plugin:good.0,plugin:harmless.leaves_descriptors", "--rounds", "9", "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_THAT(f.out, HasSubstr("it left 1 file descriptor open"));
}

TEST_F(DamageOfOne, IsItsRowInBench) {
  const Damage all[] = {
      {"flushes_to_zero", "left the floating-point control bits"},
      {"x87_precision", "left the x87 control word changed"},
      {"x87_stack", "left x87 or MMX registers occupied"},
      {"mmx", "left x87 or MMX registers occupied"},
      {"direction", "left the direction flag set"},
      {"throws", "an exception left the kernel: std::runtime_error: no more of this"},
      {"overwrites_input", "changed its input, `self` of 16384 bytes"},
      {"survives_faults", "set a handler of its own for SIGSEGV"},
      {"kills_itself_once", "sent SIGKILL to its own process"},
      {"stops_its_parent", "sent SIGSTOP to process"},
      {"kills_its_parent", "sent SIGKILL to process"},
      {"zeroes", "wrote to memory that its process shares with Assay"},
      {"unmaps", "took away memory of its input `self`"},
      {"protects_output", "changed the protection of its output from rw-p to r--p"},
      {"locks_input", "changed the protection of its input `self` from rw-p to r--p"},
      {"opens_code", "libc.so.6"},
      {"closes", "closed file descriptor"},
      {"blocks_signals", "left SIG"},
      {"handles_signals", "left a handler of its own for SIGTERM"},
      {"writes_late", "a thread that it had started wrote to its output after the call had returned"},
  };
  for (const Damage& damage : all) {
    SCOPED_TRACE(damage.kernel);
    const std::string culprit = "plugin:bad." + damage.kernel;
    const json run = benched(culprit, damage.kernel);
    ASSERT_TRUE(run.is_object());
    EXPECT_EQ(run["benchmarks"].size(), 4u);
    for (const json& b : run["benchmarks"]) {
      const json& row = b["assay"];
      EXPECT_EQ(row["status"], row["impl"] == culprit ? "failed" : "measured") << row.dump(1).substr(0, 2000);
      if (row["impl"] == culprit) {
        EXPECT_THAT(b.dump(), HasSubstr(damage.sentence));
      }
    }
  }
}

}  // namespace
}  // namespace assay
