// PyTorch against the contracts that Assay writes down for it: wide enough for what the library does, and no wider.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "harness/generate/cases.h"
#include "harness/generate/check_case.h"
#include "harness/generate/data.h"
#include "harness/judge/judge.h"
#include "harness/oracle/contracts.h"
#include "harness/run/lane.h"
#include "vocabulary/case.h"
#include "vocabulary/reference.h"

#ifdef ASSAY_TORCH

namespace assay {
namespace {

struct Counts {
  int diverged = 0;
  int decided = 0;     // passed on data that could have shown a fault, or diverged
  std::string first;   // the first divergence
  std::string absent;  // why torch cannot be run here
};

// Of upsample_bilinear2d: whether a scale leads to the last row or column, or after it.
bool leads_behind_the_image(const Case& c) {
  if (std::get<bool>(c.arguments[2])) return false;  // align_corners: scales are not looked at
  const Shape& self = tensors_of(c).front()->shape;
  const auto& output_size = std::get<std::vector<std::int64_t>>(c.arguments[1]);
  for (std::size_t d = 0; d < 2; ++d) {
    const auto* scale = std::get_if<double>(&c.arguments[3 + d]);
    if (scale == nullptr) continue;
    const double last = (static_cast<double>(output_size[d]) - 0.5) / *scale - 0.5;
    if (last >= static_cast<double>(self[2 + d] - 1)) return true;
  }
  return false;
}

// Of native_group_norm: channels are neighbours in memory, as torch takes them to be or as a layout of no name has them.
bool in_channels_last(const TensorSpec& input) {
  const Strided s = strided(input.shape, input.layout);
  return input.layout != Layout{} && s.strides.size() > 2 && s.strides[1] == 1;
}

bool has_gaps(const CaseValue& v) {
  const auto* t = std::get_if<TensorSpec>(&v);
  return t != nullptr && t->layout != Layout{};
}

// Wrong results of PyTorch 1.13.1, which no clause of a contract excuses: such divergences are expected.
bool is_known_fault(const Case& c, const Judgement& j) {
  const std::string_view op = c.op->schema.name;
  // Sleef's log1p gives infinity above 1e38 (f32) and 1e307 (f64), which a high threshold lets through; -infinity for a negative beta.
  if (op == "softplus" || op == "log1p") return j.detail.find("inf, but must be") != std::string::npos;
  // oneDNN, which computes it in bf16, is given strides of 0, and leaves what memory held.
  if (op == "gelu")
    return tensors_of(c).front()->dtype == Dtype::bf16 && text(c).find("@expanded") != std::string::npos;
  // native/Activation.cpp gelu_backward_out_cpu looks at the strides of self alone, and reads the gradient as if it had
  // those.
  if (op == "gelu_backward")
    return std::ranges::any_of(tensors_of(c), [](const TensorSpec* t) { return t->layout != Layout{}; });
  // The product is left out where alpha is 0, its NaN and infinities and the sign of its 0 included; in bf16 what is scaled
  // may overflow on the way.
  if (op == "addmm") {
    const CaseValue& alpha = c.arguments[static_cast<std::size_t>(c.op->schema.find("alpha"))];
    const bool dropped = (alpha == CaseValue(0.0) || alpha == CaseValue(std::int64_t{0})) &&
                         (j.detail.find(", but must be NaN") != std::string::npos ||
                          j.detail.find(" is -0, but must be 0") != std::string::npos);
    const bool overflows = j.detail.find("inf, but must be") != std::string::npos;
    return dropped || (overflows && tensors_of(c).front()->dtype == Dtype::bf16);
  }
  // Full vectors give NaN where self / other overflows (native/cpu/BinaryOpsKernel.cpp div_floor_kernel).
  if (op == "div.Tensor_mode") return j.detail.find("NaN, but must be ") != std::string::npos;
  // Sleef's fmod, too, where the quotient overflows.
  if (op == "fmod.Tensor" || op == "remainder.Tensor")
    return j.detail.find("NaN, but must be ") != std::string::npos;
  // x^(1/2) is sqrt(x) (native/cpu/PowKernel.cpp): NaN of -infinity, and -0 of -0.
  if (op == "pow.Tensor_Scalar")
    return c.arguments[1] == CaseValue(0.5) && (j.detail.find("NaN, but must be inf") != std::string::npos ||
                                                j.detail.find("-0, but must be 0") != std::string::npos);
  // The source of an element is found with a scale in bf16; the path for channels that are neighbours, as a single one is in any
  // layout, ignores scales where the sizes are equal or doubled (native/cpu/UpSampleKernel.cpp).
  if (op == "upsample_nearest2d") {
    const TensorSpec& self = *tensors_of(c).front();
    return self.dtype == Dtype::bf16 || self.layout != Layout{} || self.shape[1] == 1;
  }
  // A scale may lead beyond the image (native/UpSample.h compute_source_index_and_lambda).
  if (op == "upsample_bilinear2d") return leads_behind_the_image(c);
  // Group norm with channels_last divides the difference of two sums, and reads weights as if they had no gaps.
  if (op == "native_group_norm" &&
      (in_channels_last(*tensors_of(c).front()) || has_gaps(c.arguments[1]) || has_gaps(c.arguments[2])))
    return true;
  // oneDNN's products of pairs, where the processor has AVX-512: the number beside the last of an odd count is taken as 0.
  if (op == "convolution" || op == "convolution_backward")
    return tensors_of(c).front()->dtype == Dtype::bf16 &&
           (j.detail.find("NaN, but must be inf") != std::string::npos ||
            j.detail.find("NaN, but must be -inf") != std::string::npos);
  // The inverse of the root of 0 is 0 (native/Normalization.cpp InvStd): a channel becomes 0, or its bias, in place of NaN.
  if (op == "native_batch_norm" || op == "_native_batch_norm_legit_functional")
    return j.detail.find(" is 0, but must be") != std::string::npos ||
           j.detail.find(", but must be NaN") != std::string::npos;
  // The mean of no numbers is 0; and a part of no numbers is merged by delta^2 * 0 or delta * 0, which is NaN where
  // delta^2 overflows or delta is infinite (native/cpu/moments_utils.h AddMoments).
  if (op == "native_layer_norm" || op == "native_group_norm")
    return j.detail.find(" is 0, but must be NaN") != std::string::npos ||
           j.detail.find("NaN, but must be ") != std::string::npos;
  // mean and rstd are read as if they had no gaps (native/cpu/layer_norm_kernel.cpp LayerNormBackwardKernelImplInternal).
  if (op == "native_layer_norm_backward")
    for (const char* name : {"mean", "rstd"})
      if (std::get<TensorSpec>(c.arguments[static_cast<std::size_t>(c.op->schema.find(name))]).layout !=
          Layout{})
        return true;
  return false;
}

constexpr std::uint64_t kSeed = 1;
constexpr std::uint64_t kCases = 60;

// With `until_broken` the first case that diverges is the last one.
Counts verify(Lane& lane, const Operator& op, Dtype dtype, const std::string& contract,
              std::uint64_t cases = kCases, bool until_broken = false) {
  Kernel k;
  k.op = &op;
  k.schema = op.schema.text;
  k.name = k.table_name = "torch";
  k.contract = contract;
  k.peer = true;
  k.environment = {ASSAY_TORCH, {}, {}};
  Counts counts;
  for (std::uint64_t i = 0; i < cases && !(until_broken && counts.diverged > 0); ++i) {
    const Case c = generate(op, dtype, kSeed, i);
    const Call call = materialise(c);
    const Task task{&k, &call};
    const Outcome outcome = lane.run({&task, 1}).front();
    if (outcome.kind == Outcome::Kind::not_run) {
      counts.absent = outcome.detail;
      return counts;
    }
    Expectation expectation(call);
    const Judgement j = judge(k, contract_for(k, call), call, &expectation, outcome);
    if (j.verdict == Verdict::pass) ++counts.decided;
    if (j.verdict != Verdict::diverged || is_known_fault(c, j)) continue;
    ++counts.decided;
    if (++counts.diverged == 1) counts.first = fmt::format("{}\n  {}", text(c), j.detail);
  }
  return counts;
}

// Whether torch is wrong under any contract there: cases/peers/README.md says how.
bool is_fault(std::string_view op, Dtype dtype) {
  return op == "_softmax_backward_data" || (op == "log_softmax.int" && dtype == Dtype::bf16);
}

TEST(TorchContractTest, HoldsForGeneratedCases) {
  Lane lane(make_zygotes(), {});
  for (const Reference* reference : references()) {
    const Operator& op = reference->op();
    if (op.schema.ns != "aten") continue;
    for (const Dtype d : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
      if (!op.dtypes.contains(d)) continue;
      const Counts counts = verify(lane, op, d, std::string(oracle::contract_of(op.schema.name)));
      if (!counts.absent.empty()) GTEST_SKIP() << "no contract of PyTorch was tested: " << counts.absent;
      if (is_fault(op.schema.name, d)) {
        EXPECT_TRUE(counts.diverged > 0 || counts.decided == 0) << op.schema.name << " " << name(d);
        continue;
      }
      EXPECT_EQ(counts.diverged, 0) << op.schema.name << " " << name(d) << ": " << counts.first;
      if (d == Dtype::f32) {
        EXPECT_GT(counts.decided, static_cast<int>(kCases) / 2) << op.schema.name;
      }
    }
  }
}

struct Weaker {
  const char* op;
  Dtype dtype;
  const char* contract;
};

// Without one of its relaxations, or with a smaller one, a contract is broken: the clauses are about what torch does.
TEST(TorchContractTest, IsBrokenOneStepInside) {
  Lane lane(make_zygotes(), {});
  for (const auto& [name, dtype, contract] :
       {Weaker{"add.Tensor", Dtype::bf16, ""}, Weaker{"add.Tensor", Dtype::f16, ""},
        Weaker{"sub.Tensor", Dtype::bf16, ""}, Weaker{"elu", Dtype::f32, ""}, Weaker{"elu", Dtype::f64, ""},
        Weaker{"gelu", Dtype::f32, "erf=1ulp -- not oneDNN's"},
        Weaker{"gelu", Dtype::bf16, "erf=1ulp -- in f32"}, Weaker{"prelu_backward", Dtype::bf16, ""},
        Weaker{"prelu_backward", Dtype::bf16,
               "compute=bf16 accumulate=f32 -- sums kept wider than torch does"},
        Weaker{"sum.dim_IntList", Dtype::bf16, "compute=bf16 accumulate=f32 -- sums of parts kept wider"},
        Weaker{"mean.dim", Dtype::f16, "compute=f16 accumulate=f32 -- sums of parts kept wider"},
        Weaker{"mm", Dtype::bf16, ""}, Weaker{"softmax.int", Dtype::bf16, ""},
        Weaker{"softmax.int", Dtype::bf16, "exp=16384ulp div=1 -- half of what rounding to bf16 takes"}}) {
    const Reference* reference = find_reference(name);
    ASSERT_NE(reference, nullptr) << name;
    const Counts counts = verify(lane, reference->op(), dtype, contract, 5 * kCases, true);
    if (!counts.absent.empty()) GTEST_SKIP() << "no contract of PyTorch was tested: " << counts.absent;
    EXPECT_GT(counts.diverged, 0) << name << " " << kDtypeInfo[static_cast<std::size_t>(dtype)].name << " \""
                                  << contract << "\" held in all of " << counts.decided << " cases";
  }
}

}  // namespace
}  // namespace assay

#else

TEST(TorchContractTest, IsBuilt) {
  GTEST_SKIP()
      << "assay-torch was not built (python3-dev or pybind11-dev is missing): its contracts were not tested";
}

#endif
