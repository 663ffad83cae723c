// Every command comes to an end: with rows of a million elements, and soon after a signal, with files that are whole.
#include <array>
#include <chrono>
#include <filesystem>

#include "command_line_fixture.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

constexpr auto kSoon =
    kSanitized ? 60s : 20s;  // two seconds are promised, on a machine with nothing else to do

// Seconds after which a command has begun to judge, and some more.
constexpr std::array<const char*, 4> kStarted =
    kSanitized ? std::array{"5", "10", "20", "40"} : std::array{"1", "2", "4", "8"};

const std::string kMillion = "cumsum:f32:self=1000000,dim=0:seed=1";
const std::string kBillions = "mm:f32:self=1000x4096,mat2=4096x1000:seed=1";  // products

class CommandEnd : public CommandLine {
 protected:
  std::vector<std::string> verifying(const std::string& one,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{
        "verify", "--case",    one,      "--plugin",      ASSAY_LONG_ROWS_TEST_PLUGIN, "--impl", "plugin:*",
        "--out",  file("out"), "--json", file("run.json")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // SIGTERM, so many seconds after it began.
  static Finished terminated(const std::string& after, const std::vector<std::string>& arguments) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::string> all{"--preserve-status", "-s", "TERM", after, ASSAY_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    Finished f = run_program("/usr/bin/timeout", all);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kSoon) << arguments[0];
    return f;
  }
  json run() const {
    std::ifstream in(file("run.json"));
    return json::parse(in);
  }
  std::string recorded() const {
    for (const auto& f : std::filesystem::directory_iterator(file("out")))
      if (f.path().extension() == ".h5") return f.path().string();
    return {};
  }
};

TEST_F(CommandEnd, AMillionElementsInARowAreJudgedDiagnosedAndRecorded) {
  const Finished f = assay(verifying(kMillion, {"--shrink", "0"}));
  EXPECT_EQ(f.status, 1) << f.out << f.err;
  const json failure = run()["results"][0]["failures"][0];
  EXPECT_THAT(failure["detail"].get<std::string>(), HasSubstr("elements diverge"));
  // The bounds of the last elements admit nearly anything: what is said of all of them must be so of the first as well.
  const std::string diagnosis = failure["diagnosis"];
  EXPECT_THAT(diagnosis, HasSubstr("unknown"));
  EXPECT_THAT(diagnosis, Not(AnyOf(HasSubstr("bf16"), HasSubstr("mean of self"))));
  EXPECT_EQ(assay({"replay", recorded(), "--plugin", ASSAY_LONG_ROWS_TEST_PLUGIN}).status, 1);

  EXPECT_EQ(terminated("1", {"diagnose", recorded()}).status, 130);
}

TEST_F(CommandEnd, ASignalEndsWhatTheReferenceComputes) {
  EXPECT_EQ(terminated(kStarted[0], verifying(kBillions)).status, 130);
  EXPECT_EQ(run()["incomplete"], "interrupted");
  EXPECT_EQ(terminated(kStarted[0], {"explain", kBillions}).status, 130);
}

TEST_F(CommandEnd, ASignalEndsTheSearchForACauseAndTheFileReplays) {
  // Judging takes a part of a second, and the search for a cause and smaller cases some times that, on any machine.
  Finished f;
  for (const char* after : kStarted) {
    f = terminated(after, verifying(kMillion));
    EXPECT_EQ(run()["incomplete"], "interrupted");
    if (f.status != 130) break;
  }
  EXPECT_EQ(f.status, 1) << f.out << f.err;
  EXPECT_THAT(f.out, HasSubstr("INCOMPLETE: interrupted"));
  ASSERT_NE(recorded(), "");
  EXPECT_EQ(assay({"replay", recorded(), "--plugin", ASSAY_LONG_ROWS_TEST_PLUGIN}).status, 1);
}

// The time holds the search for causes and the smaller cases, too, and what it left undone is said.
TEST_F(CommandEnd, TheTimeContainsWhatIsDoneAboutFailures) {
  Finished f;
  for (const auto time : {2s, 4s, 8s}) {
    const auto begin = std::chrono::steady_clock::now();
    f = assay(verifying(kMillion, {"--time", std::to_string(time.count()) + "s"}));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, time + kSoon);
    if (f.status == 1) break;  // else it had not judged anything
  }
  EXPECT_EQ(f.status, 1) << f.out << f.err;
  EXPECT_THAT(f.out, HasSubstr("(not made small"));
  EXPECT_THAT(f.out, AnyOf(HasSubstr("the search for a cause ended"),
                           HasSubstr("not looked for, as no time was left")));
}

}  // namespace
}  // namespace assay
