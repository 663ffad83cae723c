// The self-test: which faults it plants, what it says of them, and that it fails when one is not found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/generate/data.h"
#include "harness/registry/subprocess.h"
#include "harness/selftest/report.h"
#include "harness/variants/variant.h"
#include "test/effort.h"
#include "vocabulary/case.h"
#include "vocabulary/operators.h"
#include "vocabulary/wrong_formula.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// ---- Variants ---------------------------------------------------------------------------------------------

TEST(Variants, EveryOperatorHasManyOfDifferentNames) {
  ASSERT_FALSE(operators().empty());
  for (const Operator* op : operators()) {
    const std::vector<Variant> all = variants_of(*op);
    std::set<std::string> names;
    for (const Variant& v : all) {
      EXPECT_TRUE(names.insert(v.name).second) << op->schema.name << " has two of " << v.name;
      EXPECT_FALSE(v.says.empty()) << op->schema.name << " " << v.name;
    }
    EXPECT_EQ(all.front().name, "none");
    EXPECT_GE(all.size(), 50u) << op->schema.name;
  }
}

TEST(Variants, FollowTheSchema) {
  const auto has = [](std::string_view op, std::string_view variant) {
    return std::ranges::any_of(variants_of(operator_named(op)),
                               [&](const Variant& v) { return v.name == variant; });
  };
  EXPECT_TRUE(has("softmax.int", "dim.last"));
  EXPECT_TRUE(has("native_layer_norm", "eps.zero"));
  EXPECT_TRUE(has("linear", "bias.dropped"));
  EXPECT_FALSE(has("mm", "bias.dropped"));
  EXPECT_TRUE(has("sub.Tensor", "self.swapped_with_other"));
  EXPECT_FALSE(has("mm", "self.swapped_with_mat2")) << "their shapes differ";
  EXPECT_TRUE(has("gelu", "approximate.always_tanh"));
  EXPECT_TRUE(has("convolution", "stride.of_the_first_dimension"));
  EXPECT_FALSE(has("convolution", "transposed.always")) << "it chooses between shapes";
  EXPECT_TRUE(has("prelu", "formula.larger_product"));
  EXPECT_FALSE(has("relu", "formula.larger_product"));
  EXPECT_TRUE(has("relu", "behaviour.clears_first"));
  EXPECT_FALSE(has("mm", "behaviour.clears_first")) << "it has no form in place";
  EXPECT_TRUE(has("native_layer_norm", "results.unwritten_2"));
}

// They write results of the right shape, wherever they read: a kernel is given that shape.
TEST(Variants, WindowsThatAreReadElsewhereKeepTheirShapes) {
  for (const Variant& v : variants_of(operator_named("max_pool2d_with_indices"))) {
    const bool of_windows =
        v.name.starts_with("stride.") || v.name.starts_with("padding.") || v.name.starts_with("dilation.");
    EXPECT_TRUE(v.keeps_shapes || !of_windows) << v.name;
  }
}

// Rows of a result that has one row cannot be mixed up; a tail can be lost there.
TEST(Variants, OfMovesConcernResultsInWhichTheyMoveSomething) {
  const auto moves = [](std::string_view variant, const std::string& shape) {
    const std::vector<Variant> all = variants_of(operator_named("relu"));
    const auto v = std::ranges::find(all, variant, &Variant::name);
    EXPECT_NE(v, all.end()) << variant;
    return v != all.end() && moves_results(*v, materialise(parse_case("relu:f32:self=" + shape)));
  };
  for (const char* rows : {"results.first_row_for_all", "results.tail_overlaps"}) {
    EXPECT_FALSE(moves(rows, "9")) << rows;
    EXPECT_FALSE(moves(rows, "1x9")) << rows;
    EXPECT_TRUE(moves(rows, "2x9")) << rows;
  }
  EXPECT_TRUE(moves("results.tail_of_8", "9"));
  EXPECT_FALSE(moves("results.tail_of_8", "8"));
  EXPECT_FALSE(moves("results.zero", "0"));
}

TEST(Variants, WrongFormulasAreWrongAndComputeTheSameShapes) {
  ASSERT_GE(wrong_formulas().size(), 40u);
  for (const WrongFormula& w : wrong_formulas()) {
    EXPECT_NE(find_reference(w.reference->op().schema.name), w.reference) << w.name;
    EXPECT_NE(w.dtypes.bits & w.reference->op().dtypes.bits, 0) << w.name;
  }
}

// ---- Rivals -----------------------------------------------------------------------------------------------

TEST(Rivals, AcceptWhatTheirTolerancesAllow) {
  const auto says = [](Rival r, Dtype d, double expected, double actual) {
    return accepts(r, d, {expected}, {actual});
  };
  EXPECT_TRUE(says(Rival::assert_close, Dtype::f32, 1, 1 + 1.1e-5));
  EXPECT_FALSE(says(Rival::assert_close, Dtype::f32, 1, 1 + 1.2e-5));
  EXPECT_TRUE(says(Rival::assert_close, Dtype::bf16, 1, 1.0156));
  EXPECT_FALSE(says(Rival::assert_close, Dtype::bf16, 1, 1.0235));
  EXPECT_TRUE(says(Rival::assert_close, Dtype::f16, 1, 1.0009765625));
  EXPECT_FALSE(says(Rival::assert_close, Dtype::f64, 1, 1 + 3e-7));
  EXPECT_FALSE(says(Rival::assert_close, Dtype::i32, 5, 6));
  EXPECT_TRUE(says(Rival::allclose, Dtype::f32, 1, 1.0199));
  EXPECT_FALSE(says(Rival::allclose, Dtype::f32, 1, 1.0201));
  EXPECT_TRUE(says(Rival::nmse, Dtype::f32, 1, 1 + 3e-4));
  EXPECT_FALSE(says(Rival::nmse, Dtype::f32, 1, 1 + 4e-4));
  EXPECT_FALSE(says(Rival::nmse, Dtype::f32, 0, 1e-30));
  EXPECT_TRUE(accepts(Rival::nmse, Dtype::f32, {1e6, 1}, {1e6, 2})) << "a small element beside a large one";
  for (const Rival r : {Rival::assert_close, Rival::allclose, Rival::nmse}) {
    EXPECT_TRUE(says(r, Dtype::f32, std::nan(""), std::nan("")));
    EXPECT_FALSE(says(r, Dtype::f32, std::nan(""), 0));
    EXPECT_FALSE(says(r, Dtype::f32, 1, std::nan("")));
    EXPECT_TRUE(says(r, Dtype::f32, INFINITY, INFINITY));
    EXPECT_FALSE(says(r, Dtype::f32, INFINITY, 3e38));
    EXPECT_FALSE(says(r, Dtype::f32, 3e38, INFINITY));
    EXPECT_FALSE(says(r, Dtype::f32, -INFINITY, INFINITY));
    EXPECT_TRUE(accepts(r, Dtype::f32, {}, {}));
  }
}

// ---- What is said of the results --------------------------------------------------------------------------

Planted planted(bool found, std::string unobservable = "") {
  Planted p;
  p.op = "mm";
  p.dtype = "f32";
  p.variant = "results.next";
  p.says = "stores each result one element too early";
  p.found = found;
  p.cases = 17;
  p.unobservable = std::move(unobservable);
  return p;
}

TEST(SelftestReport, FailsForWhatSurvivesAndForFalseAlarms) {
  SelftestResult well;
  well.planted = {planted(true), planted(false, "nobody can tell")};
  well.controls = {{"mm", "f32", "cpu.avx2", "", {}}};
  EXPECT_EQ(selftest_exit_code(well), 0);
  EXPECT_THAT(selftest_table(well, Style(false)),
              HasSubstr("PASSED: 1 of 1 fault found, 1 cannot be observed, 50.0% of all."));

  SelftestResult cut = well;
  cut.complete = false;
  EXPECT_EQ(selftest_exit_code(cut), 0);
  EXPECT_THAT(selftest_table(cut, Style(false)),
              HasSubstr("ALL FOUND SO FAR: 1 of 1 fault found (interrupted: not all were planted)"));
  SelftestResult nothing = cut;
  nothing.planted.clear();
  EXPECT_THAT(selftest_table(nothing, Style(false)), HasSubstr("NOTHING OBSERVED: 0 of 0 faults found"));
  nothing = well;
  nothing.planted.erase(nothing.planted.begin());
  EXPECT_THAT(selftest_table(nothing, Style(false)), HasSubstr("NOTHING OBSERVED: 0 of 0 faults found"));

  SelftestResult survived = well;
  survived.planted.push_back(planted(false));
  EXPECT_EQ(selftest_exit_code(survived), 1);
  EXPECT_THAT(selftest_table(survived, Style(false)), HasSubstr("FAILED: 1 of 2 faults found"));
  EXPECT_THAT(
      selftest_table(survived, Style(false)),
      HasSubstr("mm results.next (f32): stores each result one element too early; none of 17 cases shows"));

  SelftestResult further = well;
  further.planted[0].further = true;
  further.planted[0].verdict = Verdict::diverged;
  further.planted[0].case_text = "mm:f32:self=1x1,mat2=1x1";
  EXPECT_EQ(selftest_exit_code(further), 0);
  EXPECT_THAT(selftest_table(further, Style(false)), HasSubstr("Found on further cases"));
  EXPECT_THAT(selftest_table(well, Style(false)), Not(HasSubstr("Found on further cases")));

  SelftestResult unfit = well;
  unfit.fit_nowhere = {planted(false)};
  EXPECT_EQ(selftest_exit_code(unfit), 0);
  EXPECT_THAT(selftest_table(unfit, Style(false)), HasSubstr("Not planted: 1 variant that fit no case"));
  EXPECT_THAT(selftest_table(unfit, Style(false)), HasSubstr("\n  results.next: mm\n"));
  EXPECT_EQ(json::parse(selftest_json(unfit))["not_planted"][0]["variant"], "results.next");

  SelftestResult alarm = well;
  alarm.controls[0].alarm = "mm:f32:self=1x1,mat2=1x1: diverged";
  EXPECT_EQ(selftest_exit_code(alarm), 1);
  EXPECT_THAT(selftest_table(alarm, Style(false)), HasSubstr("False alarms"));

  SelftestResult excuse = well;
  excuse.planted.push_back(planted(true, "nobody can tell"));
  EXPECT_EQ(selftest_exit_code(excuse), 1);
  EXPECT_THAT(selftest_table(excuse, Style(false)), HasSubstr("the reason is wrong"));
}

// Of rivals that were not asked, what they saw by the way says nothing.
TEST(SelftestReport, IsSilentOfRivalsThatWereNotAsked) {
  SelftestResult result;
  result.planted = {planted(true)};
  result.controls = {{"mm", "f32", "cpu.avx2", "", {}}};
  EXPECT_THAT(selftest_table(result, Style(false)), HasSubstr("assert_close"));
  EXPECT_EQ(json::parse(selftest_json(result))["score"]["by"].size(), kRivals);
  result.rivals = false;
  EXPECT_THAT(selftest_table(result, Style(false)), Not(HasSubstr("assert_close")));
  const json silent = json::parse(selftest_json(result));
  EXPECT_TRUE(silent["score"]["by"].empty());
  EXPECT_TRUE(silent["planted"][0]["by"].empty());
  EXPECT_TRUE(silent["controls"][0]["by"].empty());
}

// ---- The command ------------------------------------------------------------------------------------------

Finished selftest_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "selftest");
  return run_program(ASSAY_PROGRAM, arguments);
}

TEST(SelftestCommand, FindsWhatItPlants) {
  const Finished f = selftest_of({"prelu", "--dtype", "f32", "--json", "-"});
  ASSERT_EQ(f.status, 0) << f.out.substr(0, 2000) << f.err;
  const json run = json::parse(f.out);
  EXPECT_EQ(run["format"], "assay.selftest/1");
  EXPECT_GT(run["score"]["planted"], 80);
  EXPECT_EQ(run["score"]["planted"],
            run["score"]["found"].get<int>() + run["score"]["unobservable"].get<int>());
  for (const auto& [rival, found] : run["score"]["by"].items())
    EXPECT_LT(found, run["score"]["found"]) << rival;
  for (const json& control : run["controls"]) EXPECT_EQ(control["alarm"], "");
  const auto verdict_of = [&](const std::string& variant) {
    for (const json& p : run["planted"])
      if (p["op"] == "prelu" && p["variant"] == variant) return p["verdict"].get<std::string>();
    return std::string("not planted");
  };
  EXPECT_EQ(verdict_of("formula.larger_product"), "diverged");
  EXPECT_EQ(verdict_of("behaviour.writes_behind"), "memory");
  EXPECT_EQ(verdict_of("behaviour.race"), "unstable");
  EXPECT_EQ(verdict_of("behaviour.does_not_check_weight"), "wrongly_accepted");
  EXPECT_EQ(verdict_of("behaviour.rejects_empty"), "wrongly_rejected");
  EXPECT_EQ(verdict_of("behaviour.null_for_none"), "crashed");
  EXPECT_EQ(verdict_of("behaviour.refuses_odd_sizes"), "refused");
  // What nobody wrote is no result, and everybody sees that; what was written beside it, nobody but Assay.
  for (const json& p : run["planted"])
    for (const auto& [rival, found] : p["by"].items()) {
      EXPECT_TRUE(found || p["variant"] != "results.unwritten") << rival;
      EXPECT_TRUE(!found || p["variant"] != "behaviour.writes_behind") << rival;
    }
}

// There is no NaN in the first three cases: further ones are drawn for what reads it, until as many have one.
TEST(SelftestCommand, GivesAFaultThatFitsFewCasesFurtherOnes) {
  const Finished f = selftest_of({"relu", "--dtype", "f32", "--cases", "3", "--no-rivals", "--json", "-",
                                  "--variant", "self.nan_as_zero,results.nan_as_zero"});
  EXPECT_EQ(f.status, 1) << f.err;
  const json run = json::parse(f.out);
  ASSERT_EQ(run["planted"].size(), 2);
  for (const json& p : run["planted"]) {
    const bool reads = p["variant"] == "self.nan_as_zero";
    EXPECT_EQ(p["found"], reads) << p;
    EXPECT_EQ(p["further"], reads) << p;
    EXPECT_EQ(p["cases"] > 4, reads) << p;  // one of those is not allowed
  }
}

TEST(SelftestCommand, FailsWhereDataAreTooFew) {
  const Finished f =
      selftest_of({"relu", "exp", "--dtype", "f32", "--cases", "2", "--no-rivals", "--jobs", "2"});
  EXPECT_EQ(f.status, 1);
  EXPECT_THAT(f.out, HasSubstr("Survived: these faults would not be found."));
  EXPECT_THAT(f.out, HasSubstr("relu results.nan_as_zero (f32): stores 0 instead of NaN"));
}

// A fast path that gives zeros, for each kind of call that networks make; with a few cases some are never taken.
TEST(SelftestCommand, PlantsFastPathsThatAreWrong) {
  const std::vector<std::string> paths{"convolution", "max_pool2d", "--dtype",    "f32",
                                       "--variant",   "paths.*",    "--no-rivals"};
  const auto run = [&](const std::string& cases) {
    std::vector<std::string> arguments = paths;
    arguments.insert(arguments.end(), {"--cases", cases});
    return selftest_of(arguments);
  };
  const Finished all = run("250");
  EXPECT_EQ(all.status, 0) << all.out;
  const Finished few = run("30");
  EXPECT_EQ(few.status, 1) << few.out;
  EXPECT_THAT(few.out, HasSubstr("gives zeros for calls of: "));
  EXPECT_THAT(selftest_of({"mm", "--variant", "paths.*", "--list"}).out,
              HasSubstr("mm paths.all sizes from 128 on: gives zeros for such calls"));
}

// Most results of isnan and isinf are zeros, whatever the call.
TEST(SelftestCommand, AWrongFirstCallShowsWhereMostResultsAreZeros) {
  if (kSanitized) GTEST_SKIP() << "sanitized builds have no kernels of these";
  for (const char* seed : {"0", "1", "2", "3", "4"}) {
    const Finished all = selftest_of(
        {"isnan", "isinf", "--dtype", "f32", "--no-rivals", "--variant", "state.first_call_wrong", "--seed", seed});
    EXPECT_EQ(all.status, 0) << seed << all.out;
  }
}

// Where cases are too few for it, what is wrong after calls of other data, or after 1,000, survives.
TEST(SelftestCommand, PlantsFaultsOfState) {
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"softmax.int", "argmax", "--dtype", "f32"};
    std::ranges::move(more, std::back_inserter(arguments));
    return selftest_of(arguments);
  };
  const Finished all = run({"--variant", "state.*", "--json", "-"});
  EXPECT_EQ(all.status, 0) << all.out << all.err;
  const json document = json::parse(all.out);
  EXPECT_EQ(document["score"]["found"], 14);
  for (const json& p : document["planted"])
    EXPECT_TRUE(p["variant"] != "state.wrong_from_call_1000" || p["by"]["allclose 1e-2"] == false)
        << "250 cases call it 500 times";
  const Finished paths = run({"--variant", "stale_paths.*,unwritten_paths.*", "--no-rivals"});
  EXPECT_EQ(paths.status, 0) << paths.out;
  EXPECT_THAT(run({"--variant", "stale_paths.*", "--no-rivals", "--cases", "3"}).out,
              HasSubstr("leaves what it gave for the call before for calls of: "));
  EXPECT_THAT(run({"--variant", "state.*", "--list"}).out,
              HasSubstr("argmax state.wrong_from_call_1000: gives zeros from its 1,000th call on"));
}

TEST(SelftestCommand, SaysWhatItWouldPlantAndWhatIsWrongWithItsArguments) {
  const Finished list = selftest_of({"softmax.int", "--variant", "dim.*", "--list"});
  EXPECT_EQ(list.status, 0);
  EXPECT_THAT(list.out, HasSubstr("softmax.int dim.last: takes the last dimension, whatever dim is"));
  EXPECT_THAT(list.out, Not(HasSubstr("results.")));
  const auto expect_usage_error = [](const Finished& f, const std::string& part) {
    EXPECT_EQ(f.status, 2) << f.err;
    EXPECT_THAT(f.err, HasSubstr(part));
  };
  expect_usage_error(selftest_of({"prelo"}), "there is no operator \"prelo\"; did you mean \"prelu\"?");
  expect_usage_error(selftest_of({"relu", "--variant", "dim.*"}),
                     "--variant dim.*: no variant of the chosen operators");
  expect_usage_error(selftest_of({"relu", "--dtype", "f31"}), "--dtype f31");
  expect_usage_error(selftest_of({"relu", "--dtype", "u8", "--variant", "results.nan_as_zero"}),
                     "nothing to plant");
  expect_usage_error(selftest_of({"prelu", "--dtype", "i8,u8"}),
                     "--dtype i8,u8: prelu has no results of such a dtype: nothing to plant");
  expect_usage_error(selftest_of({"prelu", "--plugin", ASSAY_COMMAND_TEST_PLUGIN}),
                     "--plugin " ASSAY_COMMAND_TEST_PLUGIN
                     ": there is no kernel of prelu in it that runs here");
  expect_usage_error(selftest_of({"relu", "--cases", "0"}), "--cases is 0");
  expect_usage_error(selftest_of({"relu", "--json", "/proc/nowhere/f.json"}), "--json /proc/nowhere");
}

// Results that are numbers of the inputs have no bits to cut off.
TEST(SelftestCommand, PlantsRoundingWhereResultsAreRounded) {
  const auto truncated = [](const char* op) {
    return selftest_of({op, "--dtype", "f16", "--variant", "results.truncated", "--no-rivals"});
  };
  EXPECT_THAT(truncated("sqrt").out, HasSubstr("PASSED: 1 of 1 fault found"));
  EXPECT_THAT(truncated("clone").err, HasSubstr("nothing to plant"));
}

// Its worker processes are too many for 16 files: what did not run has not survived.
TEST(SelftestCommand, AFaultThatCannotBeRunIsNoSurvivor) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more files to look at objects";
  const Finished f = run_program("/bin/bash", {"-c", "ulimit -n 16; exec \"$0\" \"$@\"", ASSAY_PROGRAM,
                                               "selftest", "relu", "--dtype", "f32", "--jobs", "1"});
  EXPECT_EQ(f.status, 3) << f.out << f.err;
  EXPECT_THAT(f.err, HasSubstr(" of relu could not be run: "));
  EXPECT_THAT(f.err, HasSubstr("Too many open files"));
  EXPECT_THAT(f.out, Not(HasSubstr("Survived")));
}

TEST(SelftestCommand, ACutRunCallsNothingASurvivor) {
  const Finished f =
      run_program("/usr/bin/timeout", {"--preserve-status", "-s", "INT", "2", ASSAY_PROGRAM, "selftest",
                                       "conv*", "--cases", "100000", "--no-rivals"});
  EXPECT_EQ(f.status, 130) << f.out << f.err;
  EXPECT_THAT(f.out, Not(HasSubstr("Survived")));
}

}  // namespace
}  // namespace assay
