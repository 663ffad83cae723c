// The proof by experiment that no conforming kernel is rejected: whatever the adversary makes of a reference under a
// contract lies inside the interval under that contract; and that intervals are not wider than they must be: the
// adversary reaches their ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "attacks.h"
#include "test/effort.h"

namespace assay::testing {
namespace {

// Small sums, as well as long ones: bounds of long sums are reached by no data that a test could draw.
int largest_size(int k) { return k % 3 == 0 ? 2 : k % 3 == 1 ? 8 : 24; }

// What the research from which Tracked came reached: everything but softmax, whose numerator and denominator share terms.
double expected_ratio(std::string_view op, const Worst& worst) {
  if (worst.wide <= worst.undecidable) return 0;  // one result each, or any: there is nothing to reach
  return op == "softmax.int" ? 0.7 : 0.9;
}

// Of each operator and family. Under a sanitizer every line of code runs all the same, but few calls reach no ends.
constexpr int kCalls = effort(60, 3);
constexpr bool kReachesEnds = !kSanitized;

class Soundness : public ::testing::TestWithParam<Dtype> {};

TEST_P(Soundness, NoAttackEscapesTheStrictContract) {
  const Dtype dtype = GetParam();
  const int calls = dtype == Dtype::f64 ? std::max(kCalls / 10, effort(3, 1)) : kCalls;
  for (const Reference* r : references()) {
    const std::string op(r->op().schema.name);
    if (!r->op().dtypes.contains(dtype)) continue;
    Worst worst;
    for (const Family family : kFamilies)
      for (int k = 0; k < calls; ++k) {
        const auto seed = static_cast<std::uint64_t>(k);
        RandomCall c(r->op(), dtype, family, 1000 * seed + static_cast<std::uint64_t>(family),
                     largest_size(k));
        ASSERT_TRUE(withstands(c, {}, seed, worst)) << op << " " << kFamilyNames[static_cast<int>(family)];
      }
    std::printf("%-16s %-5s %7ld elements, worst |error|/bound %.6f, wide %.1f%%, undecidable %.2f%%\n",
                op.c_str(), std::string(name(dtype)).c_str(), worst.elements, worst.ratio,
                100.0 * static_cast<double>(worst.wide) / static_cast<double>(worst.elements),
                100.0 * static_cast<double>(worst.undecidable) / static_cast<double>(worst.elements));
    if (kReachesEnds) {
      EXPECT_GE(worst.ratio, expected_ratio(op, worst))
          << op << ": the interval is wider than any kernel's results";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Soundness,
                         ::testing::Values(Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::f64),
                         [](const auto& i) { return std::string(name(i.param)); });

// Every field of the contract that changes numbers, one at a time and together.
std::map<std::string, std::string> contracts() {
  return {
      {"accumulate_bf16", "accumulate=bf16 -- test"},
      {"accumulate_f16", "accumulate=f16 -- test"},
      {"accumulate_f64", "accumulate=f64 -- test"},
      {"compute_bf16", "compute=bf16 -- test"},
      {"compute_f16", "compute=f16 -- test"},
      {"multiply_bf16", "multiply=bf16 -- test"},
      {"multiply_f16", "multiply=f16 -- test"},
      {"faithful", "store=faithful -- test"},
      {"blocked", "chain=blocked(4) -- test"},
      {"partial", "chain=partial(3) -- test"},
      {"pairwise", "chain=pairwise(2) -- test"},
      {"cut_off", "addition=cut_off(1) -- test"},
      {"cut_off_blocked", "addition=cut_off(4) chain=blocked(8) ftz=yes -- test"},
      {"inexact", "exp=2ulp div=1.5 sqrt=1 -- test"},
      {"absolute", "exp=1ulp+1e-4abs -- test"},
      {"flush", "ftz=yes daz=yes tiny=1e-36 -- test"},
      {"flush_bf16", "compute=bf16 ftz=yes daz=yes -- test"},
      {"any_tie", "tie=any daz=yes -- test"},
      {"updating", "moments=updating -- test"},
      {"updating_blocked", "moments=updating chain=blocked(4) ftz=yes -- test"},
      {"updating_partial", "moments=updating affine=folded chain=partial(3) -- test"},
      {"updating_bf16", "moments=updating accumulate=bf16 -- test"},
      {"updating_f16", "moments=updating accumulate=f16 daz=yes -- test"},
      {"one_pass", "moments=one_pass -- test"},
      {"one_pass_partial", "moments=one_pass affine=folded chain=partial(3) ftz=yes -- test"},
      {"one_pass_bf16", "moments=one_pass accumulate=bf16 -- test"},
      {"one_pass_f64", "moments=one_pass accumulate=f64 -- test"},
      {"updating_f64", "moments=updating accumulate=f64 affine=folded -- test"},
      {"folded", "affine=folded -- test"},
      {"rewritten", "form=rewritten tanh=4ulp -- test"},
      {"unsigned_zero", "signed_zero=ignore -- test"},
      {"everything",
       "compute=bf16 accumulate=f16 multiply=bf16 store=faithful exp=3ulp div=2 ftz=yes daz=yes tiny=1e-30 -- test"},
  };
}

// Of each contract, operator and family. Under a sanitizer every line of code runs all the same.
constexpr int kContractCalls = effort(8, 2);

class ContractSoundness : public ::testing::TestWithParam<std::pair<const std::string, std::string>> {};

TEST_P(ContractSoundness, NoAttackEscapes) {
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::f64}) {
    const Contract contract = parse_contract(GetParam().second, dtype);
    for (const Reference* r : references()) {
      Worst worst;
      for (const Family family : kFamilies)
        for (int k = 0; k < (dtype == Dtype::f64 ? std::max(kContractCalls / 10, 2) : kContractCalls); ++k) {
          const auto seed = static_cast<std::uint64_t>(k);
          RandomCall c(r->op(), dtype, family, 77777 + 1000 * seed + static_cast<std::uint64_t>(family),
                       largest_size(k));
          ASSERT_TRUE(withstands(c, contract, seed, worst, 8))
              << r->op().schema.name << " " << name(dtype) << " " << kFamilyNames[static_cast<int>(family)];
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fields, ContractSoundness, ::testing::ValuesIn(contracts()),
                         [](const auto& i) { return i.param.first; });

}  // namespace
}  // namespace assay::testing
