// What the PyTorch worker does with texts: schemas, messages, contracts. Needs no Python.
#include <gtest/gtest.h>

#include <string>

#include "harness/oracle/contracts.h"
#include "harness/oracle/rejection.h"
#include "harness/oracle/schema_text.h"
#include "vocabulary/contract.h"

namespace assay::oracle {
namespace {

TEST(Comparable, DropsWhatDoesNotChangeACall) {
  EXPECT_EQ(comparable("aten::relu(Tensor self) -> Tensor"), comparable("relu(Tensor self) -> Tensor"));
  EXPECT_EQ(comparable("f(Tensor(a!) self, SymInt[2]? size=None) -> Tensor(a!)"),
            comparable("f(Tensor self, int[2]? size=None) -> Tensor"));
  EXPECT_EQ(comparable("f(Tensor(a -> *)[] t) -> (Tensor values, Tensor indices)"),
            comparable("f(Tensor[] t) -> (Tensor, Tensor)"));
  EXPECT_EQ(comparable("f(Tensor(a)? t) -> (Tensor(a) x, Tensor[] y)"),
            comparable("f(Tensor? t) -> (Tensor, Tensor[])"));
}

TEST(Comparable, KeepsWhatDoes) {
  const std::string base = comparable("f.out(Tensor self, *, Scalar alpha=1, str mode=\"a(b\") -> Tensor");
  for (const char* other : {"g.out(Tensor self, *, Scalar alpha=1, str mode=\"a(b\") -> Tensor",
                            "f(Tensor self, *, Scalar alpha=1, str mode=\"a(b\") -> Tensor",
                            "f.out(Tensor input, *, Scalar alpha=1, str mode=\"a(b\") -> Tensor",
                            "f.out(Tensor? self, *, Scalar alpha=1, str mode=\"a(b\") -> Tensor",
                            "f.out(Tensor self, Scalar alpha=1, str mode=\"a(b\") -> Tensor",
                            "f.out(Tensor self, *, Scalar alpha=2, str mode=\"a(b\") -> Tensor",
                            "f.out(Tensor self, *, Scalar alpha=1, str mode=\"a\") -> Tensor",
                            "f.out(Tensor self, *, Scalar alpha=1, str mode=\"a(b\") -> (Tensor, Tensor)",
                            "f.out(Tensor self, *, Scalar alpha=1, str mode=\"a(b\") -> Tensor[]"})
    EXPECT_NE(comparable(other), base) << other;
  EXPECT_NE(comparable("f(SymIntish a) -> Tensor"), comparable("f(intish a) -> Tensor"));
}

TEST(Rejection, TellsNoSupportFromWrongArguments) {
  // Messages of PyTorch 1.13.
  EXPECT_EQ(rejection("RuntimeError", "\"prelu_cpu\" not implemented for 'Half'"), Rejection::unsupported);
  EXPECT_EQ(rejection("RuntimeError", "Boolean inputs not supported for relu"), Rejection::unsupported);
  EXPECT_EQ(rejection("RuntimeError", "Expected object of backend CPU but got backend CUDA"),
            Rejection::unsupported);
  EXPECT_EQ(rejection("RuntimeError", "could not create a primitive descriptor iterator"),
            Rejection::unsupported);
  EXPECT_EQ(rejection("RuntimeError", "value cannot be converted to type at::Half without overflow"),
            Rejection::unsupported);
  EXPECT_EQ(
      rejection("RuntimeError", "input tensor must have at least one element, but got input_sizes = [0, 1]"),
      Rejection::unsupported);
  EXPECT_EQ(rejection("RuntimeError", "Expected number of channels to be greater than 0, got 0"),
            Rejection::unsupported);
  EXPECT_EQ(rejection("RuntimeError",
                      "Expected input_depth * input_height * input_width <= "
                      "std::numeric_limits<integer_t>::max() to be true, but got false."),
            Rejection::unsupported);
  EXPECT_EQ(rejection("RuntimeError", "Expected X.is_contiguous(memory_format) to be true, but got false."),
            Rejection::unsupported);
  EXPECT_EQ(
      rejection("NotImplementedError", "Could not run 'aten::relu' with arguments from the 'Meta' backend."),
      Rejection::unsupported);
  EXPECT_EQ(rejection("RuntimeError", "Mismatch of parameter numbers and input channel size."),
            Rejection::invalid);
  EXPECT_EQ(rejection("IndexError", "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
            Rejection::invalid);
  EXPECT_EQ(rejection("TypeError", "prelu(): argument 'weight' must be Tensor, not int"), Rejection::invalid);
  EXPECT_EQ(rejection("NotImplementedError",
                      "There were no tensor arguments to this function (e.g., you passed an empty "
                      "list of Tensors), but no fallback function is registered"),
            Rejection::invalid);
  EXPECT_EQ(rejection("RuntimeError",
                      "[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't allocate memory"),
            Rejection::failed);
  EXPECT_EQ(rejection("MemoryError", ""), Rejection::failed);
}

TEST(Brief, IsOneLineOfBoundedLength) {
  EXPECT_EQ(brief("\n  first \nsecond"), "first");
  EXPECT_EQ(brief(""), "");
  const std::string words = brief(std::string(290, 'x') + " and what follows it is cut");
  EXPECT_EQ(words, std::string(290, 'x') + " and what ...");
  EXPECT_EQ(brief(std::string(1000, 'x')).size(), 304u);
}

// Throws, and so fails, for a clause without source or with an unknown field.
Contract contract(std::string_view op, Dtype dtype) { return parse_contract(contract_of(op), dtype); }

TEST(TorchContracts, ParseForEveryDtype) {
  for (const char* op :
       {"add.Tensor", "mm", "prelu", "prelu_backward", "relu", "softmax.int", "an operator not listed"})
    for (int d = 0; d < kDtypes; ++d)
      EXPECT_NO_THROW(contract(op, static_cast<Dtype>(d)))
          << op << " " << kDtypeInfo[static_cast<std::size_t>(d)].name;
}

TEST(TorchContracts, LoosenOnlyWhatTheSourceSays) {
  EXPECT_EQ(text(contract("relu", Dtype::bf16)), "strict");
  EXPECT_EQ(text(contract("prelu", Dtype::f32)), "strict");
  EXPECT_EQ(contract("add.Tensor", Dtype::f32).compute, std::nullopt);
  EXPECT_FALSE(contract("add.Tensor", Dtype::f32).layout_invariant);
  EXPECT_TRUE(contract("add.Tensor", Dtype::f16).layout_invariant);
  EXPECT_EQ(contract("add.Tensor", Dtype::bf16).compute, Dtype::bf16);
  EXPECT_EQ(contract("add.Tensor", Dtype::f16).compute, Dtype::f16);
  EXPECT_FALSE(contract("mm", Dtype::f32).ftz);
  EXPECT_TRUE(contract("mm", Dtype::bf16).ftz);
  EXPECT_EQ(contract("softmax.int", Dtype::f32).accuracy[static_cast<std::size_t>(Function::exp)].ulp, 1);
  EXPECT_EQ(contract("softmax.int", Dtype::bf16).compute, std::nullopt);
}

TEST(TorchContracts, UnlistedOperatorsGetTheBoundsOfTheLibrariesBelow) {
  EXPECT_EQ(
      contract("an operator not listed", Dtype::f32).accuracy[static_cast<std::size_t>(Function::tanh)].ulp,
      2);
  EXPECT_EQ(contract("an operator not listed", Dtype::f32).compute, std::nullopt);
  EXPECT_EQ(contract("an operator not listed", Dtype::bf16).compute, Dtype::bf16);
  EXPECT_EQ(contract("an operator not listed", Dtype::f16).compute, Dtype::f16);
}

}  // namespace
}  // namespace assay::oracle
