// The framework around references: memory layouts, the row that is kept, contracts that change, the state of the
// floating-point unit, and the table of references.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "../scalars/arithmetic.h"
#include "random_call.h"

namespace assay::testing {
namespace {

TEST(Evaluation, ReadsEveryLayout) {
  const std::vector<double> x{-1, 2, -3, 4, -5, 6}, w{0.5, 0.25, 2};
  Call contiguous("prelu");
  contiguous.tensor(Dtype::f32, {2, 3}, x).tensor(Dtype::f32, {3}, w).evaluate();
  for (const std::vector<std::int64_t>& strides : {std::vector<std::int64_t>{1, 2}, {6, 2}, {10, 3}}) {
    Call c("prelu");
    c.tensor(Dtype::f32, {2, 3}, x, strides).tensor(Dtype::f32, {3}, w, {4}).evaluate();
    EXPECT_EQ(c.values(), contiguous.values());
  }
  Call expanded("prelu");
  expanded.tensor(Dtype::f32, {2, 3}, {-1, 2, -3, -1, 2, -3}, {0, 1})
      .tensor(Dtype::f32, {3}, {2, 2, 2}, {0})
      .evaluate();
  EXPECT_EQ(expanded.values(), (std::vector<double>{-2, 2, -6, -2, 2, -6}));
}

TEST(Evaluation, KeepsNoPointerIntoTheCall) {
  std::unique_ptr<Evaluation> e;
  {
    std::vector<float> x{-1, 2};
    std::int64_t shape[] = {2}, stride[] = {1};
    assay_tensor t{x.data(), {ASSAY_CPU, 0}, 1, info(Dtype::f32).dlpack, shape, stride, 0};
    assay_value v{ASSAY_KIND_TENSOR, 1, {}};
    v.as.tensor = &t;
    const Reference* relu = find_reference("relu");
    e = relu->evaluate({&v, 1}, check_arguments(relu->op(), {&v, 1}).outputs);
    x.assign({7, 7});
    shape[0] = 9;
  }
  std::vector<double> out(2);
  e->values(0, out);
  EXPECT_EQ(out, (std::vector<double>{0, 2}));
}

TEST(Evaluation, ElementsAndRowsAgreeWithTheWhole) {
  for (const Reference* r : references())
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      RandomCall c(r->op(), Dtype::f32, Family::normal, seed);
      for (int output = 0; output < static_cast<int>(c.call.outputs().size()); ++output) {
        const std::vector<double> values = c.call.values(output);
        for (std::int64_t k = c.call.numel(output); k-- > 0;)
          ASSERT_PRED2([](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); },
                       c.evaluation->interval(output, k, {}).value, values[static_cast<std::size_t>(k)])
              << r->op().schema.name << " " << c.text;
      }
    }
}

TEST(Evaluation, KeepsMoreRowsThanItHasRoomFor) {
  std::vector<double> x(300 * 300);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::sin(static_cast<double>(k * k));
  Call c("softmax.int");
  c.tensor(Dtype::f32, {300, 300}, x).integer(0).none();
  Evaluation& e = c.evaluate();
  const std::vector<double> values = c.values();
  for (const std::int64_t column : {0, 218, 1, 219, 0, 299, 81, 218})
    for (const std::int64_t row : {0, 299, 17}) {
      const std::int64_t k = row * 300 + column;
      ASSERT_EQ(e.interval(0, k, {}).value, values[static_cast<std::size_t>(k)]) << k;
    }
}

TEST(Evaluation, FollowsTheContractOfEachCall) {
  Call c("softmax.int");
  c.tensor(Dtype::f32, {2, 3}, {1, 2, 4, 0.5, 0.25, 3}).integer(1).none();
  Evaluation& e = c.evaluate();
  const Interval strict = e.interval(0, 1, {});
  Contract loose = parse_contract("compute=bf16 -- test", Dtype::f32);
  const Interval wide = e.interval(0, 1, loose);
  EXPECT_GT(wide.relative_width(), 100 * strict.relative_width());
  EXPECT_EQ(e.interval(0, 1, {}).upper, strict.upper);
  loose.chain = {Chain::Kind::blocked, 1};
  loose.compute.reset();
  EXPECT_NE(e.interval(0, 0, loose).upper, 0);
}

TEST(Evaluation, EveryFieldThatChangesNumbersMakesAnotherArithmetic) {
  for (const char* field : {"compute=bf16", "accumulate=bf16", "multiply=bf16", "store=faithful",
                            "chain=blocked(4)", "exp=2ulp", "erf=1abs", "div=1", "sqrt=1", "ftz=yes",
                            "daz=yes", "tiny=1", "signed_zero=ignore", "nonfinite=unspecified"}) {
    const Contract other = parse_contract(std::string(field) + " -- test", Dtype::f32);
    EXPECT_FALSE(same_arithmetic({}, other)) << field;
    EXPECT_TRUE(same_arithmetic(other, other)) << field;
  }
}

TEST(Evaluation, AttacksAreReproducibleInAnyOrder) {
  Call c("softmax.int");
  c.tensor(Dtype::f32, {2, 3}, {1, 2, 4, 0.5, 0.25, 3}).integer(1).none();
  Evaluation& e = c.evaluate();
  const Attack attack{Attack::Rounding::uniform, true, true, 5};
  std::vector<double> forward, backward;
  for (std::int64_t k = 0; k < 6; ++k) forward.push_back(e.attacked(0, k, {}, attack));
  for (std::int64_t k = 6; k-- > 0;) backward.push_back(e.attacked(0, k, {}, attack));
  std::ranges::reverse(backward);
  EXPECT_EQ(forward, backward);
}

TEST(Evaluation, UnspecifiedNonfiniteInputsFreeTheirRowOnly) {
  Call c("softmax.int");
  c.tensor(Dtype::f32, {2, 2}, {NAN, 1, 2, 3}).integer(1).none();
  Evaluation& e = c.evaluate();
  const Contract contract = parse_contract("nonfinite=unspecified -- test", Dtype::f32);
  for (const std::int64_t element : {0, 2, 1, 3})
    EXPECT_EQ(e.interval(0, element, contract).undecidable(), element < 2) << element;
}

TEST(Evaluation, NeedsNoParticularFloatingPointState) {
#if defined(__x86_64__)
  const unsigned before = _mm_getcsr();
  const unsigned hostile =
      before | 0x8040 | 0x6000;  // FTZ, DAZ, towards zero: what a -ffast-math library leaves behind
  _mm_setcsr(hostile);
  Call c("add.Tensor");
  c.tensor(Dtype::f64, {2}, {1, 4e-320}).tensor(Dtype::f64, {2}, {0x1.8p-53, 0}).integer(1);
  Evaluation& e = c.evaluate();
  const std::vector<double> values = c.values();
  const Interval up = e.interval(0, 0, {}), subnormal = e.interval(0, 1, {});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & 0xFFC0u, hostile & 0xFFC0u) << "the state is put back";
  EXPECT_EQ(values[0], 1 + 0x1p-52);
  EXPECT_EQ(values[1], 4e-320);
  EXPECT_EQ(up.lower, 1 + 0x1p-52);
  EXPECT_EQ(subnormal.lower, 4e-320);
#endif
}

TEST(References, AreSortedAndFound) {
  EXPECT_TRUE(
      std::ranges::is_sorted(references(), {}, [](const Reference* r) { return r->op().schema.name; }));
  ASSERT_NE(find_reference("prelu_backward"), nullptr);
  EXPECT_TRUE(find_reference("prelu_backward")->file().ends_with("prelu.cpp"));
  EXPECT_EQ(find_reference("prelu_back"), nullptr);
  EXPECT_THROW(EnrolledReference{find_reference("relu")}, std::logic_error);
}

}  // namespace
}  // namespace assay::testing
