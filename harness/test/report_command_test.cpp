// `assay report` as a user runs it, and pictures from case files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "harness/registry/subprocess.h"
#include "harness/verify/recorded_picture.h"
#include "reports/file.h"
#include "reports/run_file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Finished assay_report(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "report");
  return run_program(ASSAY_PROGRAM, arguments);
}

// One result of 2 by 3: 1 everywhere, but NaN is allowed at [1,0] and infinity at [1,1].
RecordedCall call_with(const std::vector<float>& actual) {
  RecordedCall call;
  call.op = "toy";
  call.case_text = "toy:f32:self=2x3";
  call.impl = "cpu.baseline";
  call.verdict = "diverged";
  RecordedOutput out;
  out.shape = {2, 3};
  out.value = out.lower = out.upper = std::vector<double>(6, 1.0);
  out.special = {0, 0, 0, kAdmitsNan, kAdmitsPositiveInfinity, 0};
  out.actual = RecordedTensor{Dtype::f32, {2, 3}, {}};
  out.actual->data.resize(actual.size() * sizeof(float));
  std::memcpy(out.actual->data.data(), actual.data(), out.actual->data.size());
  call.outputs["out"] = out;
  return call;
}

TEST(RecordedPicture, ShowsWhatIsNotAllowed) {
  const float nan = std::nanf(""), infinity = HUGE_VALF;
  EXPECT_FALSE(recorded_picture(call_with({1, 1, 1, nan, infinity, 1})));
  const auto picture = recorded_picture(call_with({1, 2, nan, 1, -infinity, infinity}));
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->output, "out");
  EXPECT_EQ(picture->diverging, 4u);
  EXPECT_EQ(picture->elements, 6u);
  EXPECT_THAT(picture->share, ElementsAre(0, 1, 1, 0, 1, 1));
  RecordedCall zero = call_with({0, 1, 1, 1, 1, 1});
  RecordedOutput& out = zero.outputs["out"];
  out.value[0] = -0.0;
  out.lower[0] = out.upper[0] = 0;
  EXPECT_FALSE(recorded_picture(zero));
  out.special[0] = kZeroSignDecided;
  EXPECT_TRUE(recorded_picture(zero));
  out.lower.clear();
  out.upper.clear();
  EXPECT_FALSE(recorded_picture(zero)) << "no bounds were recorded";
}

class ReportCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    CaseFile cases;
    cases.calls = {call_with({1, 2, 1, 1, 1, 1})};
    write_case_file(file("moved.h5"), cases);
    RunResult run;
    Row row;
    row.op = "toy";
    row.impl = "cpu.baseline";
    row.dtype = "f32";
    row.verdict = Verdict::diverged;
    row.cases = 1;
    row.counts[static_cast<std::size_t>(Verdict::diverged)] = 1;
    row.failures = {{"toy:f32:self=2x3", Verdict::diverged, "out[0,1] is 2", "elsewhere/moved.h5", "", 0},
                    {"toy:f32:self=2x3", Verdict::diverged, "out[0,2] is 2", "elsewhere/gone.h5", "", 1}};
    run.rows = {row};
    write_run_file(file("run.json"), run);
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  TemporaryFolder folder_;
};

TEST_F(ReportCommand, DrawsFromCaseFilesThatLieBesideTheRunFile) {
  const Finished f = assay_report({file("run.json"), "--html", file("r.html"), "--title", "a <title>"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(f.err, "");
  const std::string page = read_file(file("r.html"));
  EXPECT_THAT(page, HasSubstr("a &lt;title&gt;"));
  EXPECT_THAT(page, HasSubstr("out: 1 of 6 elements diverge."));
  EXPECT_THAT(page, HasSubstr("out[0,2] is 2"));
}

// Each needs nothing else: no style of the page's, and no link into it.
TEST_F(ReportCommand, WritesItsChartsAsPictures) {
  const Finished f = assay_report({file("run.json"), "--pictures", file("pictures")});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(f.out, "");
  EXPECT_FALSE(std::filesystem::exists("report.html"));
  const std::string tensor = read_file(file("pictures/tensor.svg"));
  EXPECT_THAT(tensor, ::testing::StartsWith(
                          "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tensor\" viewBox=\"0 0 3 2\""));
  EXPECT_THAT(tensor, ::testing::EndsWith("</svg>\n"));
  EXPECT_THAT(tensor, HasSubstr("--bad-fill: #b3261e;"));
  for (const char* of_page : {"light-dark", "<a ", "href", "<figure"})
    EXPECT_THAT(tensor, Not(HasSubstr(of_page)));
  const Finished bench = assay_report({ASSAY_MEASURED_RUN, "--pictures", file("speed")});
  EXPECT_EQ(bench.status, 0) << bench.err;
  for (const char* name : {"speed/roofline.svg", "speed/roofline-2.svg", "speed/time-over-peer.svg"})
    EXPECT_THAT(read_file(file(name)), ::testing::StartsWith("<svg xmlns="));
}

TEST_F(ReportCommand, ACaseFileThatIsDamagedCostsThePictureOnly) {
  write_file(file("moved.h5"), "no HDF5");
  const Finished f = assay_report({file("run.json"), "--html", file("r.html")});
  EXPECT_EQ(f.status, 0);
  EXPECT_THAT(f.err, HasSubstr("warning: no picture: cannot read"));
  EXPECT_THAT(read_file(file("r.html")), Not(HasSubstr("elements diverge.")));
}

TEST_F(ReportCommand, WritesToStandardOutput) {
  const Finished markdown = assay_report({file("run.json"), "--markdown", "-"});
  EXPECT_EQ(markdown.status, 0) << markdown.err;
  EXPECT_THAT(markdown.out, ::testing::StartsWith("# FAILED: 1 of 1 row at fault\n"));
  EXPECT_THAT(assay_report({file("run.json"), "--junit", "-"}).out, HasSubstr("<failure type=\"diverged\""));
  EXPECT_THAT(assay_report({file("run.json"), "--base", file("run.json"), "--markdown", "-"}).out,
              HasSubstr("Coverage lost"));
}

TEST_F(ReportCommand, CountsNoFileTwice) {
  std::filesystem::create_symlink(file("run.json"), file("link.json"));
  for (const char* same : {"run.json", "./run.json", "link.json"}) {
    const Finished f = assay_report({file("run.json"), file(same), "--markdown", "-"});
    EXPECT_EQ(f.status, 2) << f.out;
    EXPECT_THAT(f.err, HasSubstr("are the same file: what it says would count twice"));
  }
  std::filesystem::copy_file(file("run.json"), file("other.json"));
  EXPECT_EQ(assay_report({file("run.json"), file("other.json"), "--markdown", "-"}).status, 0);
}

TEST_F(ReportCommand, SaysWhatItCannotRead) {
  const auto expect_usage_error = [](const Finished& f, const std::string& part) {
    EXPECT_EQ(f.status, 2);
    EXPECT_THAT(f.err, HasSubstr(part));
  };
  write_file(file("other.json"), R"({"format": "assay.future/3"})");
  write_file(file("none.json"), "{}");
  expect_usage_error(assay_report({file("absent.json")}), "absent.json");
  expect_usage_error(assay_report({file("other.json")}), "its format is \"assay.future/3\"");
  expect_usage_error(assay_report({file("none.json")}), "it has no \"format\" of Assay");
  expect_usage_error(assay_report({file("run.json"), "--html", "-", "--junit", "-"}),
                     "both - (standard output)");
  expect_usage_error(assay_report({file("run.json"), "--history", file("none.json")}), "--history");
  expect_usage_error(assay_report({}), "FILE");
}

}  // namespace
}  // namespace assay
