// Libraries as they are: what runs when they are loaded, what they are linked with, and files that change meanwhile.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "command_line_fixture.h"
#include "harness/plugin/private_copy.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const std::string kLibraryFolder = ASSAY_RUN_TEST_PLUGINS;

class Libraries : public CommandLine {
 protected:
  static std::string library(const std::string& what) {
    return kLibraryFolder + "/load_test_plugin_" + what + ".so";
  }
  Finished verified(const std::string& plugin, const std::string& impl = "plugin:*",
                    const std::string& cases = "60") {
    return verify(
        {"relu", "--dtype", "f32", "--plugin", plugin, "--impl", impl, "--cases", cases, "--json", "-"});
  }
};

// Its thread would get the signal that tells of a worker's end.
TEST_F(Libraries, AThreadThatIsStartedWhenTheyAreLoadedHarmsNobody) {
  const auto begin = Clock::now();
  const Finished f = verified(library("THREAD"));
  EXPECT_LT(Clock::now() - begin, 60s);
  for (const json& row : results(f))
    EXPECT_EQ(row["verdict"], row["impl"] == "plugin:right" ? "pass" : "crashed")
        << row.dump(1).substr(0, 2000);
}

TEST_F(Libraries, AProcessThatIsStartedWhenTheyAreLoadedIsNotWaitedFor) {
  for (const char* what : {"DAEMON", "CHILD"}) {
    SCOPED_TRACE(what);
    const auto begin = Clock::now();
    EXPECT_EQ(assay({"ops", "relu", "--plugin", library(what)}).status, 0);
    EXPECT_EQ(assay({"explain", "relu:f32:self=2x3", "--plugin", library(what)}).status, 0);
    EXPECT_EQ(verified(library(what), "plugin:right").status, 0);
    const Finished bench = assay({"bench", "--case", "relu:f32:self=10x10", "--plugin", library(what),
                                  "--impl", "plugin:right", "--rounds", "9"});
    EXPECT_EQ(bench.status, 0) << bench.out << bench.err;
    EXPECT_LT(Clock::now() - begin, 60s);
  }
}

TEST_F(Libraries, OnesThatCannotBeLoadedAreNamedInTime) {
  const auto begin = Clock::now();
  for (const auto& [what, sentence] : {std::pair{"LOOPS", "(its constructors) did not return within 10 s"},
                                       {"CRASHES", "the process died of signal 11"}}) {
    const Finished f = assay({"ops", "relu", "--plugin", library(what)});
    expect_usage_error(f, sentence);
    EXPECT_THAT(f.err, HasSubstr(library(what)));
  }
  EXPECT_LT(Clock::now() - begin, 60s);
}

// As a build does that is done beside a run: the same file gets other content.
TEST_F(Libraries, AFileThatIsReplacedMeanwhileChangesNothing) {
  const std::string plugin = file("right.so");
  std::filesystem::copy_file(library("PLAIN"), plugin);
  auto run = std::async(std::launch::async, [&] { return verified(plugin, "plugin:right", "600"); });
  ASSERT_TRUE(begun()) << run.get().err;
  const auto size = std::filesystem::file_size(plugin);
  std::ofstream(plugin, std::ios::binary | std::ios::in)
      .write(std::string(size, 'x').data(), static_cast<std::streamsize>(size));
  const Finished f = run.get();
  EXPECT_EQ(f.status, 0) << f.out.substr(0, 2000) << f.err;
}

#ifdef ASSAY_CUDA_STANDIN
// The plugin opens a stand-in for cuBLASLt, which is linked with the same helper as the plugin: both must meet one device.
TEST_F(Libraries, ThoseThatAPluginOpensMeetItsOwnHelpers) {
  const Finished f = verify(
      {"mm", "--dtype", "f32", "--cases", "30", "--plugin", ASSAY_CUDA_STANDIN, "--impl", "plugin:cublaslt"});
  EXPECT_EQ(f.status, 0) << f.out << f.err;
}
#endif

TEST_F(Libraries, TheirHelpersAreTheirOwn) {
  const std::string base = kLibraryFolder + "/helper_base/helped.so",
                    newer = kLibraryFolder + "/helper_new/helped.so";
  for (const std::string& plugin : {base, newer}) {
    const std::vector<HelperLibrary>& helpers = keep_private(plugin);
    ASSERT_EQ(helpers.size(), 1u);
    EXPECT_EQ(helpers[0].name, "libassay_test_helper.so");
    EXPECT_NE(private_copy_of(plugin), plugin);
  }
  EXPECT_NE(keep_private(base)[0].digest, keep_private(newer)[0].digest);
  // One that needs nothing of its own.
  EXPECT_TRUE(keep_private(library("PLAIN")).empty());
  EXPECT_EQ(private_copy_of("/nowhere/at/all.so"), "/nowhere/at/all.so");

  const Finished gate = assay(
      {"bench", "--plugin", newer, "--against", base, "--case", "relu:f32:self=64x1024", "--time", "0.5"});
  EXPECT_THAT(gate.status, ::testing::AnyOf(1, 3))
      << gate.out << gate.err;  // 3: where others have the processors
  EXPECT_THAT(gate.out + gate.err, AllOf(HasSubstr("1 REGRESSED"), HasSubstr("libassay_test_helper.so")));
  EXPECT_THAT(verified(newer, "plugin:helped").err, Not(HasSubstr("cannot be loaded")));
}

}  // namespace
}  // namespace assay
