// A PReLU whose slopes, input and kernel each go wrong somewhere on their way.
#include "harness/diagnose/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/diagnose/change.h"
#include "harness/diagnose/rounding.h"
#include "harness/files/tensor_data.h"
#include "harness/generate/data.h"
#include "harness/judge/expectation.h"
#include "harness/recorded/recorded_call.h"
#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"

namespace assay::diagnose {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kCase = "prelu:f32:self=4x3x5,weight=3:data=normal:seed=20";

TensorData slopes(const std::vector<float>& values) {
  TensorData t(Dtype::f32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) t.set(static_cast<std::int64_t>(i), values[i]);
  return t;
}

const TensorData kSlopes = slopes({0.1f, -0.7f, 1.3f});

// A recorded call of that case, with the results of a right kernel for what `executed` says.
class Recorded {
 public:
  Recorded() : call_(materialise(parse_case(kCase))) {
    call_.arguments[1] = kSlopes;
    recorded_.op = "prelu";
    recorded_.case_text = kCase;
    recorded_.impl = "cpu.baseline";
    recorded_.name = "act/prelu";
    recorded_.inputs = {{"self", recorded(input())}, {"weight", recorded(kSlopes)}};
    recorded_.notes["parameter.weight"] = "act.weight";
    computed_from(input(), kSlopes);
  }
  const TensorData& input() const { return std::get<TensorData>(call_.arguments[0]); }
  Recorded& stage(const std::string& name, const TensorData& t) {
    recorded_.stages[name] = recorded(t);
    return *this;
  }
  Recorded& computed_from(const TensorData& self, const TensorData& weight) {
    Call c = call_;
    c.arguments[0] = self;
    c.arguments[1] = weight;
    recorded_.outputs["out"].shape = input().shape;
    recorded_.outputs["out"].actual = RecordedTensor{Dtype::f32, input().shape, Expectation(c).rounded(0)};
    return *this;
  }
  Recorded& result(const std::function<double(std::int64_t, double)>& change) {
    TensorData t = tensor_of(*recorded_.outputs["out"].actual);
    for (std::int64_t i = 0; i < t.numel(); ++i) t.set(i, change(i, t.get(i)));
    recorded_.outputs["out"].actual = recorded(t);
    return *this;
  }
  const RecordedCall& call() const { return recorded_; }

  // What `assay diagnose` says of a file of these calls.
  static json diagnosed(const std::vector<RecordedCall>& calls, int status) {
    const TemporaryFolder folder;
    CaseFile file = new_case_file();
    file.calls = calls;
    write_case_file(folder.file("a.h5"), file);
    const Finished f =
        run_program(ASSAY_PROGRAM, {"diagnose", folder.file("a.h5"), "--time", "0", "--json", "-"});
    EXPECT_EQ(f.status, status) << f.err;
    return json::parse(f.out)["diagnoses"][0];
  }
  json diagnosed(int status = 1) const { return diagnosed({recorded_}, status); }

 private:
  Call call_;
  RecordedCall recorded_;
};

std::uint64_t diverging(const json& stages, const char* parameters, const char* inputs, const char* kernel) {
  for (const json& row : stages["swap"])
    if (row["parameters"] == parameters && row["inputs"] == inputs && row["kernel"] == kernel)
      return row["diverging"];
  ADD_FAILURE() << parameters << " " << inputs << " " << kernel << ": " << stages.dump();
  return 0;
}

TEST(Stages, WithoutAChangeNobodyIsToBlame) {
  Recorded r;
  r.stage("received/weight", kSlopes).stage("executed/weight", kSlopes).stage("after/self", r.input());
  const json d = r.diagnosed(0);
  EXPECT_EQ(d["kind"], "no_fault");
  EXPECT_THAT(d["stages"]["verdict"], IsEmpty());
  EXPECT_THAT(d["stages"]["steps"], IsEmpty());
  EXPECT_THAT(d["stages"]["unused"], IsEmpty());
}

TEST(Stages, OtherParametersAreTheCallersFault) {
  const TensorData other = slopes({1.3f, -0.7f, 0.1f});
  Recorded r;
  const json d = r.stage("received/weight", other).computed_from(r.input(), other).diagnosed();
  EXPECT_EQ(d["kind"], "no_fault") << "the kernel is right for what it was given";
  EXPECT_THAT(d["stages"]["verdict"], ElementsAre("parameters"));
  EXPECT_THAT(d["stages"]["steps"][0]["says"].get<std::string>(), HasSubstr("dimension_0_reversed"));
  EXPECT_EQ(diverging(d["stages"], "source", "source", "reference"), 0u);
  EXPECT_GT(diverging(d["stages"], "executed", "source", "reference"), 0u);
  EXPECT_EQ(diverging(d["stages"], "source", "executed", "reference"), 0u);
  EXPECT_EQ(diverging(d["stages"], "source", "source", "actual"), 0u) << "our kernel, run here";
  EXPECT_EQ(d["stages"]["of_kernel"], 0);
}

TEST(Stages, PackingIsTheEngines) {
  const TensorData rounded = slopes({0.10009765625f, -0.69921875f, 1.296875f});  // bf16
  Recorded r;
  const json d = r.stage("packed/weight", rounded).computed_from(r.input(), rounded).diagnosed();
  EXPECT_THAT(d["stages"]["verdict"], ElementsAre("packing"));
  EXPECT_THAT(d["stages"]["steps"][0]["says"].get<std::string>(), HasSubstr("as_bf16"));
}

TEST(Stages, PackedFormsOfAnotherShapeOrDtypeAreTheSameNumbers) {
  const TensorData padded = slopes({1.3f, -0.7f, 0.1f, 0, 0, 0, 0, 0});
  TensorData wide(Dtype::f64, {3});
  for (std::int64_t i = 0; i < 3; ++i) wide.set(i, kSlopes.get(i));
  EXPECT_THAT(Recorded().stage("packed/weight", padded).diagnosed(0)["stages"]["steps"], IsEmpty());
  EXPECT_THAT(Recorded().stage("packed/weight", wide).diagnosed(0)["stages"]["steps"], IsEmpty());
  const TensorData lost = slopes({1.3f, 0.1f, 0, 0});
  EXPECT_THAT(Recorded().stage("packed/weight", lost).diagnosed()["stages"]["verdict"],
              ElementsAre("packing"));
}

// A transposed weight has the same numbers, and so has one whose order a packed form lost.
TEST(Stages, TheSameNumbersInAnotherOrderAreNotTheSame) {
  TensorData column(Dtype::f32, {3, 1});
  for (std::int64_t i = 0; i < 3; ++i) column.set(i, kSlopes.get(i));
  EXPECT_THAT(Recorded().stage("received/weight", column).diagnosed()["stages"]["verdict"],
              ElementsAre("parameters"));
  const TensorData padded = slopes({0.1f, -0.7f, 1.3f, 0, 0, 0, 0, 0});
  const TensorData reversed = slopes({1.3f, -0.7f, 0.1f});
  Recorded r;
  const json d = r.stage("packed/weight", padded)
                     .stage("executed/weight", reversed)
                     .computed_from(r.input(), reversed)
                     .diagnosed();
  EXPECT_THAT(d["stages"]["verdict"], ElementsAre("packing"));
  EXPECT_EQ(d["stages"]["steps"][0]["from"], "received");
  EXPECT_EQ(d["stages"]["of_kernel"], 0);
}

// Another call's result stands where the input was.
TEST(Stages, WhatWasWrittenLaterNamesWhoseNumbersThoseAre) {
  Recorded r, other;
  TensorData overwritten = packed_copy(r.input());
  other.result([](std::int64_t i, double y) { return 3 * y + static_cast<double>(i); });
  RecordedCall later = other.call();
  later.name = "pool";
  const TensorData theirs = tensor_of(*later.outputs["out"].actual);
  for (std::int64_t i = 0; i < 20; ++i) overwritten.set(i + 7, theirs.get(i + 30));
  r.stage("executed/self", overwritten).computed_from(overwritten, kSlopes);
  const json d = Recorded::diagnosed({r.call(), later}, 1);
  EXPECT_THAT(d["stages"]["verdict"], ElementsAre("changed"));
  EXPECT_THAT(d["stages"]["steps"][0]["says"].get<std::string>(),
              HasSubstr("elements 7 to 26 are those of out of pool from element 30"));
  EXPECT_EQ(diverging(d["stages"], "executed", "source", "reference"), 0u);
  EXPECT_GT(diverging(d["stages"], "source", "executed", "reference"), 0u);
}

TEST(Stages, InputsAfterTheCallAndResultsThatWereReadAreLookedAt) {
  Recorded r;
  TensorData relued = packed_copy(r.input());
  for (std::int64_t i = 0; i < relued.numel(); ++i) relued.set(i, std::max(0.0, relued.get(i)));
  const json in_place = r.stage("after/self", relued).diagnosed();
  EXPECT_THAT(in_place["stages"]["verdict"], ElementsAre("changed"));
  EXPECT_EQ(in_place["stages"]["of_kernel"], 0);
  Recorded s;
  const json read = s.stage("read/out", relued).diagnosed();
  EXPECT_EQ(read["stages"]["steps"][0]["from"], "returned");
  EXPECT_EQ(read["stages"]["steps"][0]["to"], "read");
}

TEST(Stages, TwoFaultsAreToldApart) {
  const TensorData other = slopes({1.3f, -0.7f, 0.1f});
  Recorded r;
  r.stage("received/weight", other).computed_from(r.input(), other).result([](std::int64_t i, double y) {
    return i % 8 == 7 ? 0 : y;
  });
  const json d = r.diagnosed();
  EXPECT_THAT(d["stages"]["verdict"], ElementsAre("parameters", "algorithm"));
  EXPECT_NE(d["kind"], "no_fault");
  EXPECT_GT(d["stages"]["of_kernel"], 0);
  EXPECT_GE(diverging(d["stages"], "executed", "executed", "actual"), d["stages"]["of_kernel"]);
}

TEST(Stages, OnesThatMeanNothingAreSaid) {
  const json d = Recorded().stage("received/wieght", kSlopes).diagnosed(0);
  EXPECT_THAT(d["stages"]["unused"], ElementsAre("received/wieght"));
}

TEST(Stages, WhoseNumbersTheyAreIsNoGuess) {
  TensorData before(Dtype::f32, {40}), after(Dtype::f32, {40}), other(Dtype::f32, {100});
  for (std::int64_t i = 0; i < 100; ++i) other.set(i, static_cast<double>(i) / 3);
  const std::vector<Source> sources{{"it", [&] { return other; }}};
  EXPECT_FALSE(written_from(before, after, sources));
  for (std::int64_t i = 0; i < 3; ++i) after.set(i + 5, other.get(i + 50));
  EXPECT_FALSE(written_from(before, after, sources)) << "three numbers may be anybody's";
  after.set(8, other.get(53));
  EXPECT_EQ(written_from(before, after, sources), "elements 5 to 8 are those of it from element 50");
  after.set(8, 77);
  EXPECT_FALSE(written_from(before, after, sources));
  for (std::int64_t i = 0; i < 20; ++i) after.set(i, 1);
  other.set(3, 1);
  EXPECT_FALSE(written_from(before, after, sources)) << "one number again and again";
}

// A file may hold the one in fewer bits than the other, by rounding or by cutting off.
TEST(Stages, WhoseNumbersTheyAreShowsInFewerBits) {
  TensorData before(Dtype::f32, {40}), wide(Dtype::f32, {100});
  for (std::int64_t i = 0; i < 100; ++i) wide.set(i, std::sin(static_cast<double>(i)));
  for (std::int64_t i = 0; i < 40; ++i) before.set(i, std::cos(static_cast<double>(i)));
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16})
    for (const bool cut_off : {false, true}) {
      TensorData narrow(dtype, {100}), after(dtype, {40});
      const auto written = [&](double x) {
        return !cut_off ? x : x < 0 ? round_up(x, format(dtype)) : round_down(x, format(dtype));
      };
      for (std::int64_t i = 0; i < 100; ++i) narrow.set(i, written(wide.get(i)));
      for (std::int64_t i = 0; i < 40; ++i)
        after.set(i, i < 10 ? narrow.get(i + 50) : written(before.get(i)));
      const TensorData rounded = but_for_rounding(before, after);
      for (std::int64_t i = 10; i < 40; ++i) EXPECT_EQ(rounded.get(i), after.get(i));
      for (const TensorData& source : {wide, narrow})
        EXPECT_EQ(written_from(rounded, after, {{"it", [&] { return source; }}}),
                  "elements 0 to 9 are those of it from element 50");
      TensorData widened(Dtype::f32, {40});
      for (std::int64_t i = 0; i < 40; ++i) widened.set(i, i < 10 ? wide.get(i + 50) : before.get(i));
      EXPECT_EQ(written_from(before, widened, {{"it", [&] { return narrow; }}}),
                "elements 0 to 9 are those of it from element 50");
      for (std::int64_t i = 0; i < 10; ++i) after.set(i, i % 2 == 0 ? narrow.get(50) : narrow.get(51));
      for (std::int64_t i = 0; i < 10; ++i) wide.set(i + 50, wide.get(50 + i % 2));
      EXPECT_FALSE(written_from(rounded, after, {{"it", [&] { return wide; }}})) << "two numbers say little";
      for (std::int64_t i = 0; i < 100; ++i) wide.set(i, std::sin(static_cast<double>(i)));
    }
}

TEST(Stages, ATensorInFewerBitsAloneIsRounded) {
  TensorData before(Dtype::f32, {40}), after(Dtype::bf16, {40});
  for (std::int64_t i = 0; i < 40; ++i) {
    before.set(i, std::cos(static_cast<double>(i)));
    after.set(i, before.get(i));
  }
  EXPECT_TRUE(same_bits(but_for_rounding(before, after), before));
}

}  // namespace
}  // namespace assay::diagnose
