#include "harness/judge/judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/generate/data.h"
#include "vocabulary/case.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// A call with an outcome that gives the rounded reference; tests then spoil it.
struct Judged {
  explicit Judged(std::string_view case_text, std::string contract_text = "")
      : call(materialise(parse_case(case_text))) {
    kernel.op = call.op;
    kernel.name = "test";
    kernel.contract = std::move(contract_text);
    outcome.kind = Outcome::Kind::ok;
    if (!call.error.empty()) return;
    outcome.again.emplace();
    expectation = std::make_unique<Expectation>(call);
    for (std::size_t o = 0; o < call.outputs.size(); ++o) {
      const std::vector<double>& values = expectation->values(static_cast<int>(o));
      const auto size = static_cast<std::size_t>(bytes(call.outputs[o].dtype));
      std::vector<std::byte> packed(values.size() * size);
      for (std::size_t e = 0; e < values.size(); ++e)
        store(packed.data() + e * size, call.outputs[o].dtype, values[e]);
      outcome.outputs.push_back(packed);
      outcome.again->push_back(packed);
    }
  }
  void set(std::int64_t element, double value, bool both = true) {
    const Dtype d = call.outputs[0].dtype;
    store(outcome.outputs[0].data() + element * bytes(d), d, value);
    if (both) store((*outcome.again)[0].data() + element * bytes(d), d, value);
  }
  double get(std::int64_t element) const {
    const Dtype d = call.outputs[0].dtype;
    return load(outcome.outputs[0].data() + element * bytes(d), d);
  }
  Judgement judge() {
    return assay::judge(kernel, contract_for(kernel, call), call, expectation.get(), outcome);
  }

  Call call;
  Kernel kernel;
  Outcome outcome;
  std::unique_ptr<Expectation> expectation;
};

TEST(Judge, TheRoundedReferencePasses) {
  for (const char* text :
       {"prelu:f32:self=2x3x4,weight=3:data=normal:seed=1", "mm:bf16:self=3x4,mat2=4x5:data=normal:seed=1",
        "softmax.int:f64:self=3x4,dim=1:data=normal:seed=1", "relu:f16:self=9:data=edge:seed=3"}) {
    const Judgement j = Judged(text).judge();
    EXPECT_EQ(j.verdict, Verdict::pass) << text << ": " << j.detail;
    EXPECT_GT(j.elements, 0u);
  }
}

TEST(Judge, OneUlpTooFarDiverges) {
  Judged t("prelu:f32:self=2x3x4,weight=3:data=normal:seed=1");
  t.set(17, static_cast<double>(std::nextafter(static_cast<float>(t.get(17)), INFINITY)));
  const Judgement j = t.judge();
  EXPECT_EQ(j.verdict, Verdict::diverged);
  EXPECT_THAT(j.detail, HasSubstr("out[1,1,1] is"));
  EXPECT_THAT(j.detail, HasSubstr("1 of 24 elements diverge"));
}

TEST(Judge, OfLargeOutputsTheFarthestElementsAreJudged) {
  Judged t("softmax.int:f32:self=200x100,dim=1:data=normal:seed=1");
  for (std::int64_t e = 0; e < 20'000; ++e)
    t.set(e, static_cast<double>(std::nextafter(static_cast<float>(t.get(e)), INFINITY)));
  EXPECT_EQ(t.judge().verdict, Verdict::pass);
  EXPECT_EQ(t.judge().elements, 20'000u);
  t.set(12'345, t.get(12'345) * 1.0001);
  const Judgement j = t.judge();
  EXPECT_EQ(j.verdict, Verdict::diverged);
  EXPECT_THAT(j.detail, HasSubstr("out[123,45] is"));
  EXPECT_THAT(j.detail, HasSubstr("; at least 1 of 20,000 elements diverge"));
}

TEST(Judge, SpecialValuesMustBeThere) {
  Judged nan("relu:f32:self=3:data=normal:seed=1");
  nan.set(1, std::nan(""));
  EXPECT_EQ(nan.judge().verdict, Verdict::diverged);
  Judged infinite("relu:f32:self=3:data=normal:seed=1");
  infinite.set(1, INFINITY);
  EXPECT_EQ(infinite.judge().verdict, Verdict::diverged);
}

// Beyond 2^53 the neighbour of an integer is the same double.
TEST(Judge, IntegersAreComparedToTheBit) {
  const auto far = [](std::int64_t x) { return std::abs(static_cast<double>(x)) > 0x1p55; };
  int judged = 0;
  for (int seed = 0; seed < 40; ++seed) {
    Judged t("mul.Tensor:i64:self=8,other=8:data=edge:seed=" + std::to_string(seed));
    const std::vector<std::int64_t>& exact = *t.expectation->integers(0);
    const auto found = std::ranges::find_if(exact, far);
    if (found == exact.end()) continue;
    const auto set = [&](std::size_t e, std::int64_t x) {
      store_integer(t.outcome.outputs[0].data() + 8 * e, Dtype::i64, x);
    };
    for (std::size_t e = 0; e < exact.size(); ++e) set(e, exact[e]);
    t.outcome.again = t.outcome.outputs;
    EXPECT_EQ(t.judge().verdict, Verdict::pass) << seed;
    const std::int64_t wrong = *found ^ 1;
    ASSERT_EQ(static_cast<double>(wrong), static_cast<double>(*found)) << seed;
    set(static_cast<std::size_t>(found - exact.begin()), wrong);
    t.outcome.again = t.outcome.outputs;
    const Judgement j = t.judge();
    EXPECT_EQ(j.verdict, Verdict::diverged) << seed;
    EXPECT_THAT(j.detail, HasSubstr(fmt::format("is {}, but must be {}; 1 of 8", wrong, *found)));
    ++judged;
  }
  EXPECT_GE(judged, 3);
  EXPECT_FALSE(Judged("mul.Tensor:f32:self=4,other=4:data=normal:seed=3").expectation->integers(0));
}

TEST(Judge, TheSignOfZeroCountsUnlessTheContractIgnoresIt) {
  // relu of a negative number is +0.
  for (const char* contract : {"", "signed_zero=ignore -- test"}) {
    Judged t("relu:f32:self=16:data=normal:seed=1", contract);
    std::int64_t zero = 0;
    while (t.get(zero) != 0) ++zero;
    t.set(zero, -0.0);
    EXPECT_EQ(t.judge().verdict, *contract == 0 ? Verdict::diverged : Verdict::pass) << contract;
  }
}

TEST(Judge, OtherBitsInTheSecondRunAreUnstable) {
  // Both values must be admissible: a sum in another order.
  const auto second_run_differs = [](Judged& t) {
    for (std::int64_t e = 0; e < 9; ++e) {
      const Interval& i = t.expectation->interval(0, e, contract_for(t.kernel, t.call));
      if (i.upper > t.get(e)) {
        store((*t.outcome.again)[0].data() + e * 4, Dtype::f32, i.upper);
        return true;
      }
    }
    return false;
  };
  Judged strict("mm:f32:self=3x40,mat2=40x3:data=normal:seed=1");
  ASSERT_TRUE(second_run_differs(strict));
  EXPECT_EQ(strict.judge().verdict, Verdict::unstable);
  Judged licensed("mm:f32:self=3x40,mat2=40x3:data=normal:seed=1", "deterministic=no -- test");
  ASSERT_TRUE(second_run_differs(licensed));
  EXPECT_EQ(licensed.judge().verdict, Verdict::pass);
  store((*licensed.outcome.again)[0].data(), Dtype::f32, 1e9);
  EXPECT_EQ(licensed.judge().verdict, Verdict::diverged) << "the second run is judged too";
}

TEST(Judge, ChangedFloatingPointStateIsUnstable) {
  Judged t("relu:f32:self=9:data=normal:seed=1");
  t.outcome.changed_float_state = true;
  EXPECT_EQ(t.judge().verdict, Verdict::unstable);
}

TEST(Judge, DataThatShowsNothingIsVacuous) {
  EXPECT_EQ(Judged("relu:f32:self=0x3:data=normal:seed=1").judge().verdict, Verdict::vacuous);
  EXPECT_EQ(Judged("mm:f32:self=2x0,mat2=0x3:data=normal:seed=1").judge().verdict, Verdict::vacuous);
}

TEST(Judge, RefusalsAreCountedAndKnowWhetherTheyWereDeclared) {
  Judged t("relu:f32:self=9:data=normal:seed=1");
  t.outcome.kind = Outcome::Kind::refused;
  t.outcome.detail = "no f32 today";
  t.outcome.declared = true;
  EXPECT_EQ(t.judge().verdict, Verdict::refused);
  EXPECT_FALSE(t.judge().undeclared_refusal);
  t.outcome.declared = false;
  EXPECT_TRUE(t.judge().undeclared_refusal);
  t.outcome.detail = "invalid argument: self";
  EXPECT_EQ(t.judge().verdict, Verdict::wrongly_rejected);
  t.outcome.kind = Outcome::Kind::failed;
  t.outcome.detail = "error 3";
  EXPECT_EQ(t.judge().verdict, Verdict::wrongly_rejected);
}

TEST(Judge, WrongArgumentsMustBeRefusedByName) {
  Judged t("mm:f32:self=2x3,mat2=4x5:data=normal:seed=1");
  ASSERT_EQ(t.call.blamed, "mat2");
  EXPECT_EQ(t.judge().verdict, Verdict::wrongly_accepted);
  t.outcome.kind = Outcome::Kind::refused;
  t.outcome.detail = "mm: mat2 has shape [4x5]";
  EXPECT_EQ(t.judge().verdict, Verdict::pass);
  t.outcome.detail = "bad shapes";
  EXPECT_EQ(t.judge().verdict, Verdict::wrongly_rejected);
  t.kernel.peer = true;
  EXPECT_EQ(t.judge().verdict, Verdict::pass) << "a peer's message is its own affair";
}

TEST(Judge, PassesOnWhatTheWorkerSaw) {
  Judged t("relu:f32:self=9:data=normal:seed=1");
  for (const auto& [kind, verdict] : {std::pair{Outcome::Kind::memory, Verdict::memory},
                                      {Outcome::Kind::crashed, Verdict::crashed},
                                      {Outcome::Kind::timeout, Verdict::timeout},
                                      {Outcome::Kind::not_run, Verdict::not_run}}) {
    t.outcome.kind = kind;
    t.outcome.detail = "what was seen";
    EXPECT_EQ(t.judge().verdict, verdict);
    EXPECT_EQ(t.judge().detail, "what was seen");
  }
  t.outcome.by_kernels = true;
  EXPECT_EQ(t.judge().verdict, Verdict::crashed)
      << "while its kernels were loaded, which were there when they were listed";
}

}  // namespace
}  // namespace assay
