// `assay record` and `assay bisect` on programs that write into tensors in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/files/case_file.h"
#include "harness/files/tensor_data.h"
#include "recorded_example.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class BisectInPlace : public RecordedExample {
 protected:
  static RecordedCall call_of(const CaseFile& trace, const std::string& op) {
    const auto found = std::ranges::find(trace.calls, op, &RecordedCall::op);
    EXPECT_NE(found, trace.calls.end()) << op;
    return found == trace.calls.end() ? RecordedCall{} : *found;
  }
  static std::string note(const RecordedCall& call, const std::string& key) {
    const auto found = call.notes.find(key);
    return found == call.notes.end() ? "" : found->second;
  }
  static double first(const RecordedTensor& t) { return tensor_of(t).get(0); }
  static CaseFile record(const std::string& text) {
    write_file(file("writes.py"), "import torch\ntorch.manual_seed(0)\n" + text);
    const Finished f = run_program(ASSAY_PROGRAM, {"record", file("writes.py"), "-o", file("writes.h5")});
    EXPECT_EQ(f.status, 0) << f.err;
    return read_case_file(file("writes.h5"));
  }
};

// Outside of modules, and of operators without a reference.
TEST_F(BisectInPlace, RecordsWhatATensorHeldBeforeAndAfter) {
  const CaseFile trace = record(
      "w = torch.empty(3).normal_().fill_(2)\n"  // fills no result of a call
      "x = torch.relu(torch.tensor([[1., 2.], [3., 4.]]))\n"
      "x[:, 1] = 7\n"
      "x.tan_()\n"
      "x.t_()\n"
      "y = torch.sigmoid(x)\n"
      "torch.cosh(y, out=x)\n"
      "torch.tanh(x)\n");
  std::vector<std::string> ops;
  for (const RecordedCall& c : trace.calls) ops.push_back(c.op);
  EXPECT_THAT(ops, ::testing::ElementsAre("relu", "fill_.Tensor", "tan_", "sigmoid", "cosh.out", "tanh"));
  const RecordedCall fill = call_of(trace, "fill_.Tensor");
  EXPECT_EQ(first(fill.inputs.at("self")), 2);
  EXPECT_EQ(first(*fill.outputs.at("out").actual), 7);
  EXPECT_EQ(note(fill, "from.self"), "0:out@offset(1)@strides(2)");
  EXPECT_EQ(note(fill, "onto.out"), "0:out@offset(1)@strides(2)");
  const RecordedCall sine = call_of(trace, "tan_");
  EXPECT_EQ(note(sine, "from.self"), "0:out");
  EXPECT_EQ(note(sine, "onto.out"), "");
  EXPECT_EQ(first(sine.inputs.at("self")), 1);
  EXPECT_NEAR(first(*sine.outputs.at("out").actual), 1.557407726, 1e-5);
  EXPECT_EQ(note(call_of(trace, "sigmoid"), "from.self"), "2:out@offset(0)@strides(1,2)");
  const RecordedCall cosine = call_of(trace, "cosh.out");
  EXPECT_FALSE(cosine.inputs.contains("out"));
  EXPECT_EQ(note(cosine, "from.self"), "3:out");
  EXPECT_EQ(note(call_of(trace, "tanh"), "from.self"), "2:out@offset(0)@strides(1,2)");
}

// A function that writes its result where it is told is the operator that it is without that.
TEST_F(BisectInPlace, KnowsOperatorsThatWriteWhereTheyAreTold) {
  const CaseFile trace = record(
      "x, y, out = torch.randn(4, 4), *torch.full((2, 4, 4), float('nan'))\n"
      "torch.add(x, x, out=out)\n"
      "torch.mm(x, out, out=y)\n"  // not into x, of which some BLAS reads no more than it has overwritten
      "torch.sum(y, 1, out=out)\n");
  std::vector<std::string> ops;
  for (const RecordedCall& c : trace.calls) ops.push_back(c.op);
  EXPECT_THAT(ops, ::testing::ElementsAre("add.Tensor", "mm", "sum.dim_IntList"));
  const Finished f = run_program(ASSAY_PROGRAM, {"diagnose", file("writes.h5")});
  EXPECT_EQ(f.status, 0) << f.out;
}

// Other results of the same memory: what the schema says is a view is no call.
TEST_F(BisectInPlace, ViewsThatNoListNamesAreNoCalls) {
  const CaseFile trace = record(
      "x = torch.relu(torch.randn(4, 4))\n"
      "torch.sigmoid(x.diagonal())\n"
      "torch.tanh(x.unfold(0, 2, 2))\n"
      "torch.exp(x)\n");
  EXPECT_EQ(trace.calls.size(), 4u);
  EXPECT_EQ(note(call_of(trace, "sigmoid"), "from.self"), "0:out@offset(0)@strides(5)");
  EXPECT_EQ(note(call_of(trace, "exp"), "from.self"), "0:out");
}

// The engine's relu is wrong: what follows what was written into its result is not, whether the dump has what was written or not.
TEST_F(BisectInPlace, WhatIsWrittenIntoAResultIsThereForWhatFollows) {
  const char* const kWrites[] = {
      "a[:, 3] = 5",
      "a[2:4] = 0.5",
      "a[1] = a[0]",
      "more['tan_'] = a[:, :10].tan_()",
      "a[0].add_(z)",
      "more['cos_'] = a.cos_()",
      "more['index_put_'] = more['_index_put_impl_'] = a.index_put_((a > 1,), z[0])",
      "a.t()[:4].mul_(3)"};
  std::string program = R"(
torch.manual_seed(0)
x, z, more = torch.randn(6, 30), torch.randn(30), {}
)";
  for (std::size_t n = 0; n < std::size(kWrites); ++n) {
    const std::string nth = n == 0 ? "" : "#" + std::to_string(n + 1);
    program += "a = torch.relu(x) if recording else torch.relu(-x)\nmore['relu" + nth + "'] = a.clone()\n";
    program += kWrites[n];
    program += "\nb = torch.sigmoid(a)\nmore['sigmoid" + nth + "'] = b\n";
    program += "more['tanh" + nth + "'] = torch.tanh(b) * (1 if recording else -1)\n";
  }
  const Finished f = bisect_program(program + "if not recording: dump(**more)\n", {"--json", "-"});
  const json b = json::parse(f.out, nullptr, false);
  ASSERT_TRUE(b.is_object()) << f.err;
  for (std::size_t n = 0; n < std::size(kWrites); ++n) {
    const std::string nth = n == 0 ? "" : "#" + std::to_string(n + 1);
    EXPECT_EQ(call(b, "relu" + nth)["status"], "wrong") << kWrites[n];
    EXPECT_EQ(call(b, "sigmoid" + nth)["status"], "inherited") << kWrites[n] << call(b, "sigmoid" + nth);
    EXPECT_EQ(call(b, "tanh" + nth)["status"], "wrong") << kWrites[n];
  }
}

// A tensor of the program's own, which results of calls are written into piece by piece.
TEST_F(BisectInPlace, ACacheIsKnownWhereItWasWritten) {
  const std::string model = R"(
torch.manual_seed(0)
cache, x = torch.randn(4, 3, 5), torch.randn(4, 5)
def step(t, x):
    cache[:, t] = torch.relu(x) if recording else torch.relu(-x)
    return torch.sigmoid(cache[:, :t + 1])
first = step(0, x)
second = step(1, first[:, 0])
if not recording: dump(**{'relu': torch.relu(-x), 'relu#2': torch.relu(-first[:, 0]), 'sigmoid': first, 'sigmoid#2': second * 2})
)";
  const Finished f = bisect_program(model, {"--json", "-"});
  const json b = json::parse(f.out, nullptr, false);
  ASSERT_TRUE(b.is_object()) << f.err;
  EXPECT_EQ(call(b, "relu")["status"], "wrong");
  EXPECT_EQ(call(b, "sigmoid")["status"], "inherited") << call(b, "sigmoid").dump(1).substr(0, 2000);
  EXPECT_EQ(call(b, "relu#2")["status"], "wrong");
  EXPECT_EQ(call(b, "sigmoid#2")["status"], "wrong");
  EXPECT_THAT(call(b, "sigmoid#2").dump(), HasSubstr("2 times what is right"));
  const CaseFile trace = read_case_file(file("program.h5"));
  const RecordedCall copy = call_of(trace, "copy_");
  EXPECT_EQ(copy.outputs.at("whole").actual->shape, Shape{60});
  EXPECT_EQ(note(copy, "onto.out"), "1:whole@offset(0)@strides(15,1)");
}

// What overwrote a result is compared with PyTorch's, and counted.
TEST_F(BisectInPlace, WritersWithoutAReferenceAreCompared) {
  const std::string model = R"(
torch.manual_seed(0)
a = torch.relu(torch.randn(6, 30))
before = a.clone()
a[:, 3] = 5
a.tan_() if recording else a.cos_()
b = torch.sigmoid(a)
if not recording: dump(relu=before, tan_=a, sigmoid=b)
)";
  const Finished f = bisect_program(model);
  EXPECT_THAT(
      f.out,
      HasSubstr(
          "out differs from PyTorch's, and what it was given is not all in the dump: 180 of 180 elements "
          "differ.\n"));
  EXPECT_THAT(
      f.out,
      HasSubstr(
          "2 calls of operators without a reference, compared with PyTorch's results: 1 differs (tan_), "
          "1 not in the dump\n  (fill_.Tensor)."));
}

}  // namespace
}  // namespace assay
