// `assay diagnose` from end to end: arguments in files, case files, and what is wrong with either.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"
#include "tensors_bytes.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// PReLU of [4, 3, 5] with three slopes.
class DiagnoseCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 60; ++i) x_.push_back(static_cast<float>((i * 37 % 61 - 30) / 7.0));
    save("x.npy", "<f4", "(4, 3, 5)", raw(x_));
    save("w.npy", "<f4", "(3,)", raw(w_));
    save("right.npy", "<f4", "(4, 3, 5)", raw(result([&](int c) { return w_[c]; })));
    save("leaky.npy", "<f4", "(4, 3, 5)", raw(result([](int) { return 0.01f; })));
  }

  template <class Slope>
  std::vector<float> result(const Slope& slope) const {
    std::vector<float> y;
    for (int i = 0; i < 60; ++i) y.push_back(x_[i] > 0 ? x_[i] : slope(i / 5 % 3) * x_[i]);
    return y;
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  void save(const std::string& name, const std::string& descr, const std::string& shape,
            const std::string& data) const {
    std::ofstream(file(name), std::ios::binary) << npy(descr, shape, data, false);
  }
  static Finished diagnose(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "diagnose");
    return run_program(ASSAY_PROGRAM, arguments);
  }
  Finished prelu(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"--op", "prelu", "--arg", "self=@" + file("x.npy"), "--arg", "weight=@" + file("w.npy")});
    return diagnose(more);
  }
  static void expect_usage_error(const Finished& f, const std::string& part) {
    EXPECT_EQ(f.status, 2) << f.out;
    EXPECT_THAT(f.err, HasSubstr(part));
  }

  TemporaryFolder folder_;
  std::vector<float> x_, w_{0.125f, -0.75f, 1.5f};
};

TEST_F(DiagnoseCommand, SaysWhichSlopeWasUsed) {
  const Finished f = prelu({"--actual", file("leaky.npy")});
  EXPECT_EQ(f.status, 1) << f.err;
  EXPECT_THAT(f.out, HasSubstr("0.01 for every element"));
  EXPECT_THAT(f.out, HasSubstr("self is below 0"));
}

TEST_F(DiagnoseCommand, FindsNothingInRightResults) {
  const Finished f = prelu({"--actual", file("right.npy"), "--json", "-"});
  EXPECT_EQ(f.status, 0) << f.err;
  const json d = json::parse(f.out)["diagnoses"][0];
  EXPECT_EQ(d["kind"], "no_fault");
  EXPECT_EQ(d["elements"], 60);
  EXPECT_EQ(d["causes"].size(), 0u);
}

TEST_F(DiagnoseCommand, JudgesWhatWasExpectedToo) {
  const Finished f = prelu({"--actual", file("right.npy"), "--expected", file("leaky.npy")});
  EXPECT_EQ(f.status, 1) << f.err;
  EXPECT_THAT(f.out, HasSubstr("it is the expected ones that are wrong"));
}

TEST_F(DiagnoseCommand, ComparesWhereAParameterIsMissing) {
  const std::vector<std::string> without{"--op",     "prelu",          "--arg", "self=@" + file("x.npy"),
                                         "--actual", file("leaky.npy")};
  expect_usage_error(diagnose(without), "prelu needs --arg weight=@FILE");
  auto with = without;
  with.insert(with.end(), {"--expected", file("right.npy")});
  const Finished f = diagnose(with);
  EXPECT_EQ(f.status, 1) << f.err;
  EXPECT_THAT(f.out, HasSubstr("Without weight there is no reference"));
}

TEST_F(DiagnoseCommand, TakesTensorsOutOfCaseFiles) {
  const std::string h5 = std::string(ASSAY_FIXTURES) + "/../peers/mm-onednn.avx512-bf16.h5";
  const Finished f =
      diagnose({"--op", "relu", "--arg", "self=@" + h5 + ":calls/0/inputs/self", "--actual", file("x.npy")});
  expect_usage_error(f, "but relu gives bf16");
  const Finished whole = diagnose({h5, "--time", "1", "--json", "-"});
  EXPECT_EQ(whole.status, 1) << whole.err;
  EXPECT_EQ(json::parse(whole.out)["diagnoses"][0]["op"], "mm");
}

TEST_F(DiagnoseCommand, SaysWhatIsWrongWithItsArguments) {
  const std::string x = "self=@" + file("x.npy"), y = file("right.npy");
  expect_usage_error(diagnose({}), "either a case file, or --op");
  expect_usage_error(diagnose({"--op", "prelu", "--arg", x}), "--actual");
  expect_usage_error(diagnose({"--op", "preluu", "--arg", x, "--actual", y}), "prelu");
  expect_usage_error(diagnose({"--op", "prelu", "--arg", "slope=1", "--actual", y}),
                     "prelu has no argument 'slope', but self, weight");
  expect_usage_error(diagnose({"--op", "prelu", "--arg", "self", "--actual", y}), "NAME=VALUE");
  expect_usage_error(prelu({"--actual", file("none.npy")}), "none.npy");
  expect_usage_error(prelu({"--actual", file("w.npy")}), "f32[3], but prelu gives f32[4x3x5]");
  expect_usage_error(prelu({"--actual", "output=" + y}), "prelu has no result 'output', but out");
  expect_usage_error(prelu({"--actual", y, "--contract", "exp=2"}), "exp");
  save("wide.npy", "<f8", "(4, 3, 5)", raw(std::vector<double>(60, 0.1)));
  expect_usage_error(prelu({"--actual", file("wide.npy")}), "which f32 does not have");
  save("four.npy", "<f4", "(4,)", raw(std::vector<float>(4, 1)));
  expect_usage_error(
      diagnose({"--op", "prelu", "--arg", x, "--arg", "weight=@" + file("four.npy"), "--actual", y}),
      "weight");
  std::ofstream(file("cut.h5"), std::ios::binary) << "\x89HDF\r\n\x1a\n";
  expect_usage_error(diagnose({file("cut.h5")}), "cut.h5");
  expect_usage_error(
      diagnose({std::string(ASSAY_FIXTURES) + "/../peers/mm-onednn.avx512-bf16.h5", "--call", "7"}),
      "--call 7");
}

TEST_F(DiagnoseCommand, AResultMayBeNamedByItsNumber) {
  for (const char* name : {"out=", "out0=", ""})
    EXPECT_EQ(prelu({"--actual", name + file("right.npy")}).status, 0) << name;
  expect_usage_error(prelu({"--actual", "out1=" + file("right.npy")}), "prelu has no result 'out1', but out");
  expect_usage_error(prelu({"--actual", "out=" + file("right.npy"), "--actual", "out0=" + file("right.npy")}),
                     "given twice");
}

TEST_F(DiagnoseCommand, StrictIsAContract) {
  const Finished f = prelu({"--actual", file("right.npy"), "--contract", "strict"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_THAT(f.out, HasSubstr("Judged under: strict"));
}

TEST_F(DiagnoseCommand, ListsAreCutAtTheirEndAndSayHowMuchIsLeft) {
  const Finished f = prelu({"--actual", file("right.npy")});
  EXPECT_THAT(f.out, ::testing::ContainsRegex("known causes\\s\\([^)]* and\\s+[0-9]+\\s+more\\)"));
  EXPECT_THAT(f.out, ::testing::Not(HasSubstr(", ..")));
}

// What would be left unread is no part of the question, or the other question was meant.
TEST_F(DiagnoseCommand, AFileAndResultsAreTwoQuestions) {
  const std::string h5 = std::string(ASSAY_FIXTURES) + "/../peers/mm-onednn.avx512-bf16.h5",
                    y = file("right.npy");
  expect_usage_error(diagnose({h5, "--actual", y}), "--actual is for --op");
  expect_usage_error(diagnose({h5, "--expected", y}), "--expected is for --op");
  expect_usage_error(diagnose({h5, "--arg", "self=@" + y}), "--arg is for --op");
  expect_usage_error(prelu({"--actual", y, "--call", "0"}), "--call is for the calls of a case file");
  expect_usage_error(prelu({"--actual", y, "--plugin", ASSAY_PROGRAM}),
                     "--plugin is for the calls of a case file");
}

TEST_F(DiagnoseCommand, AFileWithoutANameIsNamedByItsArgument) {
  const std::string y = file("right.npy");
  expect_usage_error(diagnose({"--op", "prelu", "--arg", "self=@", "--actual", y}),
                     "--arg self=@: no file is named");
  expect_usage_error(prelu({"--actual", "out="}), "out=: no file is named");
  expect_usage_error(
      diagnose({"--op", "prelu", "--arg", "self=@" + file("x.npy"), "--actual", "out=", "--expected", y}),
      "out=: no file is named");
}

// f32 rounded to f16 when it was written down: the kernel may be right.
TEST_F(DiagnoseCommand, AResultInFewerBitsIsJudgedWithinThem) {
  const auto halves = [](const std::vector<float>& y) {
    std::string data(2 * y.size(), 0);
    for (std::size_t i = 0; i < y.size(); ++i) store(&data[2 * i], Dtype::f16, y[i]);
    return data;
  };
  save("right16.npy", "<f2", "(4, 3, 5)", halves(result([&](int c) { return w_[c]; })));
  save("leaky16.npy", "<f2", "(4, 3, 5)", halves(result([](int) { return 0.01f; })));
  const Finished right = prelu({"--actual", file("right16.npy")});
  EXPECT_EQ(right.status, 0) << right.out;
  EXPECT_THAT(right.out, HasSubstr("is f16, and prelu gives f32: it is taken for a result that was rounded"));
  const Finished wrong = prelu({"--actual", file("leaky16.npy")});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.out, HasSubstr("0.01 for every element"));
}

}  // namespace
}  // namespace assay
