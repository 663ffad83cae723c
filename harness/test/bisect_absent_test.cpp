// `assay bisect` on dumps that do not have every call: whom it may blame, and whom not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/files/case_file.h"
#include "recorded_example.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class BisectAbsent : public RecordedExample {};

// Others write traces, too: what a call gave when it was recorded may be missing, and what it was given may not.
TEST_F(BisectAbsent, ATraceWithoutResultsIsComputedFromItsInputs) {
  const std::string model = R"(
x = torch.randn(6, 30)
a = torch.relu(x)
b = torch.tanh(a) SCALE
c = torch.sigmoid(b)
if not recording:
    dump(relu=a, tanh=b, sigmoid=c)
)";
  for (const bool wrong : {false, true}) {
    EXPECT_EQ(json_of(with(model, "SCALE", wrong ? "if recording else a" : ""))["calls"].size(), 3u);
    CaseFile trace = read_case_file(file("program.h5"));
    for (RecordedCall& recorded : trace.calls) recorded.outputs.clear();
    write_case_file(file("bare.h5"), trace);
    const Finished f =
        run_program(ASSAY_PROGRAM, {"bisect", file("bare.h5"), file("program.npz"), "--json", "-"});
    EXPECT_EQ(f.status, wrong ? 1 : 0) << f.err;
    const json b = json::parse(f.out);
    EXPECT_EQ(b["first"], wrong ? json("tanh") : json(nullptr));
    EXPECT_EQ(call(b, "sigmoid")["status"], wrong ? "inherited" : "right");
  }
}

// Sums in another order, and a dump of the last result alone: what is computed in between is known within bounds.
TEST_F(BisectAbsent, ARightEngineOfFewResultsIsNotBlamed) {
  const std::string model = R"(
torch.manual_seed(0)
f = torch.nn.functional
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.d = torch.nn.Linear(256, 256), torch.nn.Linear(256, 256), torch.nn.Linear(256, 64)
        self.n, self.c = torch.nn.LayerNorm(256), torch.nn.Conv1d(16, 16, 3, padding=1)
    def forward(self, x, linear=lambda m, x: m(x), conv=lambda m, x: m(x)):
        x = self.n(torch.tanh(linear(self.a, x)))
        x = torch.sigmoid(linear(self.b, x))
        return torch.log(torch.exp(linear(self.d, conv(self.c, x[None])[0]) FAULT))
def reordered(m, x):
    order = torch.randperm(x.shape[1])
    return x[:, order] @ m.weight[:, order].t() + m.bias
def flipped(m, x):
    return f.conv1d(x.flip(1), m.weight.flip(1), m.bias, padding=1)
net, x = Net().eval(), torch.randn(16, 256)
with torch.no_grad():
    if recording: net(x)
    else: dump(log=net(x, reordered, flipped))
)";
  const Finished right = bisect_program(with(model, "FAULT", ""));
  EXPECT_EQ(right.status, 0) << right.out << right.err;
  EXPECT_THAT(right.out, HasSubstr("1 region judged as one graph, as the dump does not have what lies within:\n  right: log;"));
  const Finished wrong = bisect_program(with(model, "FAULT", "* (1 if recording else 1.03)"));
  EXPECT_EQ(wrong.status, 1) << wrong.out << wrong.err;
}

// Nobody can tell a call that is wrong from one before it that the dump does not have, but for what the cause says.
TEST_F(BisectAbsent, TheFaultMayBeInACallThatTheDumpDoesNotHave) {
  const std::string model = R"(
torch.manual_seed(0)
x = torch.randn(6, 30)
a = torch.relu(x if recording else -x)
b = torch.tanh(a)
c = torch.sigmoid(b)
if not recording: dump(MORE sigmoid=c)
)";
  const Finished f = bisect_program(with(model, "MORE", ""));
  EXPECT_EQ(f.status, 1);
  EXPECT_THAT(f.out, HasSubstr("the region relu, tanh and sigmoid is at fault"));
  EXPECT_THAT(f.out, HasSubstr("the first is sigmoid, by self of relu."));
  const json absent = json_of(with(model, "MORE", ""));
  EXPECT_EQ(call(absent, "sigmoid")["status"], "wrong");
  EXPECT_THAT(call(absent, "sigmoid")["one_of"], ElementsAre("relu", "tanh"));
  // What it was given clears it, and what its results are clears what comes after.
  const json given = json_of(with(model, "MORE", "**{'sigmoid:self': b},"));
  EXPECT_EQ(call(given, "sigmoid")["status"], "changed");
  EXPECT_THAT(call(given, "sigmoid")["one_of"], ElementsAre("relu", "tanh"));
  EXPECT_THAT(call(given, "sigmoid")["says"].dump(), HasSubstr("is not what tanh should have given"));
  const json first = json_of(with(model, "MORE", "relu=a,"));
  EXPECT_EQ(call(first, "relu")["status"], "wrong");
  EXPECT_THAT(call(first, "relu")["one_of"], IsEmpty());
  EXPECT_EQ(call(first, "sigmoid")["status"], "inherited");
}

// The dump's results are other ones than PyTorch's before it: nobody knows what it gave, and who reads that is not to blame.
TEST_F(BisectAbsent, BehindACallThatNobodyCanComputeNothingIsJudged) {
  const std::string model = R"(
torch.manual_seed(0)
x = torch.randn(6, 30)
a = torch.relu(x) if recording else torch.relu(X)
b = torch.logcumsumexp(a, 1 if recording or not CAT else 0)
c = torch.tanh(b)
d = torch.sigmoid(c)
if not recording: dump(relu=a, MORE sigmoid=d)
)";
  const auto variant = [&](const char* x, const char* cat, const char* more) {
    return json_of(with(with(with(model, "X", x), "CAT", cat), "MORE", more));
  };
  const json upstream = variant("-x", "0", "");
  EXPECT_EQ(upstream["first"], "relu");
  EXPECT_EQ(call(upstream, "sigmoid")["status"], "not_judged");
  EXPECT_THAT(
      call(upstream, "sigmoid")["says"].dump(),
      HasSubstr(
          "follows from other numbers than PyTorch's, or from random ones, through logcumsumexp, which Assay cannot "));
  const json cat = variant("x", "1", "");
  EXPECT_EQ(call(cat, "relu")["status"], "right");
  EXPECT_EQ(call(cat, "sigmoid")["status"], "wrong");
  EXPECT_THAT(call(cat, "sigmoid")["one_of"], ElementsAre("logcumsumexp", "tanh"));
  const json right = variant("x", "0", "");
  EXPECT_EQ(right["first"], nullptr) << right.dump(1).substr(0, 3000);
  // With what the call gave in the dump, who reads it is judged.
  const json both = variant("-x", "0", "logcumsumexp=b, tanh=c,");
  EXPECT_EQ(call(both, "sigmoid")["status"], "inherited");
  EXPECT_THAT(call(both, "logcumsumexp")["says"].dump(), HasSubstr("as do its inputs"));
}

// Calls that are not recorded hand on what they were given.
TEST_F(BisectAbsent, CallsThatAreNotRecordedAreNotTakenForRight) {
  write_file(file("model.py"), R"(
import sys, numpy, torch
recording, wrong = len(sys.argv) == 1, sys.argv[-1]
torch.manual_seed(0)
x = torch.randn(6, 30)
a = torch.relu(-x if wrong == 'relu' else x)
b = torch.sigmoid(torch.tanh(-a if wrong == 'tanh' else a))
if not recording: numpy.savez(sys.argv[1], relu=a.numpy(), sigmoid=b.numpy())
)");
  ASSERT_EQ(
      run_program(ASSAY_PROGRAM, {"record", file("model.py"), "-o", file("some.h5"), "--ops", "relu,sigmoid"})
          .status,
      0);
  const CaseFile trace = read_case_file(file("some.h5"));
  ASSERT_EQ(trace.calls.size(), 2u);
  EXPECT_EQ(trace.calls[1].notes.at("through.self"), "tanh(0:out)");
  const auto bisected_with = [&](const std::string& fault) {
    EXPECT_EQ(run_program("/usr/bin/python3", {"-B", file("model.py"), file("some.npz"), fault}).status, 0);
    return json::parse(
        run_program(ASSAY_PROGRAM, {"bisect", file("some.h5"), file("some.npz"), "--json", "-"}).out);
  };
  EXPECT_EQ(bisected_with("none")["first"], nullptr);
  const json tanh = bisected_with("tanh");
  EXPECT_EQ(call(tanh, "sigmoid")["status"], "wrong");
  EXPECT_THAT(call(tanh, "sigmoid")["one_of"], ElementsAre("tanh (not recorded)"));
  const json relu = bisected_with("relu");
  EXPECT_EQ(call(relu, "relu")["status"], "wrong");
  EXPECT_EQ(call(relu, "sigmoid")["status"], "not_judged");
}

// A cache that was written wrongly: its reader is one of those that may be at fault.
TEST_F(BisectAbsent, WhatWasWrittenIntoACacheMayBeWrong) {
  const std::string model = R"(
torch.manual_seed(0)
cache, x = torch.zeros(4, 3, 5), torch.randn(4, 5)
a = torch.relu(x)
cache[:, 1 if recording else AT] = a
b = torch.sigmoid(cache)
if not recording: dump(relu=a, MORE sigmoid=b)
)";
  const json wrong = json_of(with(with(model, "AT", "2"), "MORE", ""));
  EXPECT_EQ(call(wrong, "sigmoid")["status"], "wrong");
  EXPECT_THAT(call(wrong, "sigmoid")["one_of"], ElementsAre("copy_"));
  const json given = json_of(with(with(model, "AT", "2"), "MORE", "**{'sigmoid:self': cache},"));
  EXPECT_EQ(call(given, "sigmoid")["status"], "changed");
  EXPECT_THAT(call(given, "sigmoid")["one_of"], ElementsAre("copy_"));
  EXPECT_EQ(json_of(with(with(model, "AT", "1"), "MORE", ""))["first"], nullptr);
}

// Operators without a reference are given something, too.
TEST_F(BisectAbsent, InputsOfCallsWithoutAReferenceAreCompared) {
  const std::string model = R"(
torch.manual_seed(0)
x = torch.randn(6, 30)
a = torch.relu(x)
y = torch.zeros(6, 30)
b = torch.logcumsumexp(SOURCE, 1)
if not recording: dump(**{'relu': a, 'logcumsumexp:self': SOURCE, 'logcumsumexp': b})
)";
  const auto variant = [&](const char* source) {
    return with(with(model, "SOURCE", source), "SOURCE", source);
  };
  const Finished f = bisect_program(variant("(a if recording else a.flip(1))"));
  EXPECT_EQ(f.status, 1) << f.out;
  EXPECT_THAT(f.out, HasSubstr("changed in between"));
  EXPECT_THAT(f.out, HasSubstr("logcumsumexp:self of the dump is not what relu gave"));
  EXPECT_THAT(f.out, Not(HasSubstr("its inputs do not")));
  EXPECT_THAT(f.out, Not(HasSubstr("its result is right")));
  EXPECT_EQ(bisect_program(variant("a")).status, 0);
}

// An engine that keeps an activation in the memory of what it is of, and writes that down when all is over.
TEST_F(BisectAbsent, WhatIsWrittenOverInPlaceIsNoFault) {
  const std::string model = R"(
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.act, self.head = torch.nn.Conv2d(2, 3, 3), torch.nn.ReLU(inplace=True), torch.nn.Conv2d(3, 2, 3)
    def forward(self, x):
        return self.head(self.act(self.conv(x)))
net, x = Net().eval(), torch.randn(2, 2, 8, 8)
if recording:
    net(x)
else:
    d = dict(net.named_parameters())
    d['conv'] = net.conv(x) CONV
    d['act'] = d['conv'].relu_() ACT
    d['head'] = net.head(d['act'])
    LATER
    dump(**d)
)";
  const auto variant = [&](const char* conv, const char* act, const char* later = "pass") {
    return json_of(with(with(with(model, "CONV", conv), "ACT", act), "LATER", later));
  };
  const json right = variant("", "");
  EXPECT_EQ(right["first"], nullptr) << right.dump(1).substr(0, 3000);
  EXPECT_EQ(call(right, "conv/convolution")["status"], "not_dumped");
  EXPECT_THAT(call(right, "conv/convolution")["says"].dump(),
              HasSubstr("is what act/relu wrote over it in place"));
  EXPECT_EQ(call(right, "act/relu")["status"], "right");
  const json alone = variant("", "", "del d['act']");
  EXPECT_EQ(alone["first"], nullptr) << alone.dump(1).substr(0, 3000);
  const json wrong = variant("* 1.5", ".mul_(1)");
  EXPECT_EQ(call(wrong, "act/relu")["status"], "wrong");
  EXPECT_THAT(call(wrong, "act/relu")["one_of"], ElementsAre("conv/convolution"));
  // Without the memory in common, the same numbers in the same place are a fault.
  const json separate = json_of(with(
      with(with(with(with(model, "CONV", ""), "ACT", ""), "LATER", "pass"), "inplace=True", "inplace=False"),
      ".relu_()", ".relu_()"));
  EXPECT_EQ(call(separate, "conv/convolution")["status"], "wrong");
}

// Who read the same memory later read what was written there, and is not whom it came from.
TEST_F(BisectAbsent, AnotherReaderOfTheSameMemoryIsNotItsSource) {
  const json b = json_of(R"(
torch.manual_seed(0)
x = torch.randn(6, 30)
a = torch.relu(x)
b, c = torch.sigmoid(a), torch.tanh(a)
other = torch.randn(40)
if not recording:
    read = a.clone()
    read.view(-1)[:40] = other
    dump(**{'relu': a.half(), 'a:self': 0 * x, 'tanh:self': read.half(), 'sigmoid:self': read.half(),
            'sigmoid': torch.sigmoid(read).half(), 'tanh': torch.tanh(read).half(), 'zzz': other.half()})
)");
  for (const char* name : {"sigmoid", "tanh"}) {
    EXPECT_EQ(call(b, name)["status"], "changed");
    EXPECT_THAT(call(b, name)["says"].dump(), HasSubstr("elements 0 to 39 are those of zzz"))
        << call(b, name).dump(1);
  }
}

// A function may write into a part of memory that nobody has computed yet.
TEST_F(BisectAbsent, ResultsAreWrittenIntoPartsOfFreshMemory) {
  const json b = json_of(R"(
torch.manual_seed(0)
x, z = torch.randn(6, 5), torch.zeros(4, 6, 5)
a = torch.relu(x) if recording else torch.relu(-x)
torch.add(a, a, out=z[1])
c = torch.sigmoid(z)
if not recording: dump(relu=a, sigmoid=c)
)");
  EXPECT_EQ(call(b, "relu")["status"], "wrong");
  EXPECT_EQ(call(b, "sigmoid")["status"], "inherited") << call(b, "sigmoid").dump(1).substr(0, 2000);
}

}  // namespace
}  // namespace assay
