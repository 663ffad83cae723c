#include "reports/junit.h"

#include <gtest/gtest.h>

#include "sample.h"

namespace assay {
namespace {

TEST(JUnit, HasThisText) {
  EXPECT_EQ(junit(sample_run()), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="assay" tests="5" failures="1" errors="0" skipped="3" time="1.500">
  <testsuite name="prelu" tests="4" failures="1" errors="0" skipped="2">
    <testcase classname="assay.prelu" name="cpu.avx2 f32">
      <failure type="diverged" message="diverged: out[0,1] is 2, allowed is 1 to 1">cases: 8 pass, 2 diverged
worst error/bound: 1.234e+04
undecidable elements: 0%

diverged: prelu:f32:self=2x3,weight=3
out[0,1] is 2, allowed is 1 to 1
replay: assay replay out/a.h5

diverged: prelu:f32:self=2x3@offset(1),weight=3
out[1,1] is NaN
diagnosis of the cases as they were found: slope is 0
</failure>
    </testcase>
    <testcase classname="assay.prelu" name="cpu.amx f32">
      <skipped message="refused: no f32 in AMX"/>
      <system-out>cases: 10 refused
refused 10 cases: no f32 in AMX
</system-out>
    </testcase>
    <testcase classname="assay.prelu" name="cpu.baseline f32">
      <system-out>cases: 9 pass, 1 vacuous
worst error/bound: 0.5
undecidable elements: 0.2%
</system-out>
    </testcase>
    <testcase classname="assay.prelu" name="cuda.gpu f32">
      <skipped message="not_run: no CUDA device"/>
      <system-out>cases: no cases
</system-out>
    </testcase>
  </testsuite>
  <testsuite name="relu" tests="1" failures="0" errors="0" skipped="1">
    <testcase classname="assay.relu" name="onednn f32">
      <skipped message="a peer disagrees, which does not decide the run; crashed: SIGSEGV"/>
      <system-out>cases: 9 pass, 1 crashed
implementation: jit:avx2

crashed: relu:f32:self=
SIGSEGV
replay: assay replay out/b.h5
</system-out>
    </testcase>
  </testsuite>
</testsuites>
)");
}

std::string with_detail(const std::string& detail, Verdict verdict = Verdict::diverged) {
  RunResult run;
  run.rows = {row_of("prelu", "cpu", "f32", {{verdict, 1}})};
  run.rows[0].reason = detail;
  return junit(run);
}

TEST(JUnit, EscapesAndLeavesOutWhatXmlForbids) {
  EXPECT_NE(with_detail("a<b>&\"c'").find("message=\"diverged: a&#60;b&#62;&#38;&#34;c'\""),
            std::string::npos);
  EXPECT_NE(with_detail("a\nb\tc\rd").find("message=\"diverged: a&#10;b&#9;c&#13;d\""), std::string::npos);
  EXPECT_NE(with_detail("x\x01\x1b[31m\x7Fy").find("message=\"diverged: x[31m\x7Fy\""), std::string::npos);
  EXPECT_NE(with_detail("ä→𝄞").find("message=\"diverged: ä→𝄞\""), std::string::npos);
  // Not UTF-8: a stray byte, a cut sequence, an overlong "/", a surrogate, U+FFFE, and beyond U+10FFFF.
  EXPECT_NE(with_detail("a\xFF\xE2\x82z").find("message=\"diverged: az\""), std::string::npos);
  EXPECT_NE(with_detail("a\xC0\xAFz").find("message=\"diverged: az\""), std::string::npos);
  EXPECT_NE(with_detail("a\xE0\x80\xAFz").find("message=\"diverged: az\""), std::string::npos);
  EXPECT_NE(with_detail("a\xED\xA0\x80z").find("message=\"diverged: az\""), std::string::npos);
  EXPECT_NE(with_detail("a\xEF\xBF\xBEz").find("message=\"diverged: az\""), std::string::npos);
  EXPECT_NE(with_detail("a\xF4\x90\x80\x80z").find("message=\"diverged: az\""), std::string::npos);
  EXPECT_NE(with_detail("a\xE2\x82").find("message=\"diverged: a\""), std::string::npos);
}

TEST(JUnit, MapsVerdicts) {
  const auto has = [](Verdict v, const char* element) {
    return with_detail("x", v).find(element) != std::string::npos;
  };
  for (const Verdict v : {Verdict::diverged, Verdict::memory, Verdict::unstable, Verdict::vacuous,
                          Verdict::wrongly_accepted, Verdict::wrongly_rejected})
    EXPECT_TRUE(has(v, "<failure type=")) << token(v);
  // A case that could not be run is one of a kernel that is there; of one that is not, there are no cases.
  for (const Verdict v : {Verdict::crashed, Verdict::timeout, Verdict::not_run})
    EXPECT_TRUE(has(v, "<error type=")) << token(v);
  EXPECT_TRUE(has(Verdict::refused, "<skipped message="));
  for (const Verdict v : {Verdict::pass, Verdict::suspicious})
    for (const char* element : {"<failure", "<error", "<skipped"}) EXPECT_FALSE(has(v, element)) << token(v);
}

TEST(JUnit, FailsForPeersThatWereNamedAndRefusalsThatWereNotDeclared) {
  Rules rules;
  rules.decides = [](const Row&) { return true; };
  EXPECT_NE(junit(sample_run(), rules).find("<error type=\"crashed\" message=\"crashed: SIGSEGV\">"),
            std::string::npos);
  RunResult run = sample_run();
  run.rows[1].undeclared = run.rows[1].refused;
  EXPECT_NE(junit(run).find("<failure type=\"undeclared_refusal\" message=\""),
            std::string::npos);
}

}  // namespace
}  // namespace assay
