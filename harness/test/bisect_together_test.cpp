// `assay bisect` on dumps of engines that fuse: calls whose results the dump does not have are judged with the next one as one graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "recorded_example.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class BisectTogether : public RecordedExample {
 protected:
  // A convolution, its batch norm and an activation, and what an engine makes of them, which dumps DUMPED.
  static std::string convolution(const std::string& fault, const std::string& dumped) {
    const std::string model = R"(
torch.manual_seed(0)
f = torch.nn.functional
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.act = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()
    def forward(self, x):
        return self.act(self.bn(self.conv(x)))
net = Net().eval()
rng = numpy.random.default_rng(0)
for t in (net.bn.weight, net.bn.bias, net.bn.running_mean):
    t.data = torch.from_numpy(rng.normal(size=4).astype('f4'))
net.bn.running_var = torch.from_numpy(rng.uniform(0.05, 1, 4).astype('f4'))
x, fault = torch.randn(2, 3, 8, 8), 'FAULT'
def stored(t): return t.bfloat16().float() if 'bf16' in fault else t
with torch.no_grad():
    if recording:
        net(x)
    else:
        eps = 1e-3 if 'eps' in fault else 1e-5
        conv = stored(f.conv2d(x, net.conv.weight, net.conv.bias))
        if 'bias' in fault: conv = conv + net.conv.bias[:, None, None]
        bn = stored(f.batch_norm(conv, net.bn.running_mean, net.bn.running_var, net.bn.weight, net.bn.bias, False, 0.1, eps))
        s = net.bn.weight / torch.sqrt(net.bn.running_var + eps)
        weight = net.conv.weight * s[:, None, None, None]
        bias = (net.conv.bias - (0 if 'mean' in fault else net.bn.running_mean)) * s + net.bn.bias
        if 'fold' in fault: bn = f.conv2d(x, weight, bias)
        act = stored(bn if 'norelu' in fault else torch.relu(bn))
        dump(DUMPED)
)";
    return with(with(model, "FAULT", fault), "DUMPED", dumped);
  }
};

TEST_F(BisectTogether, AFusedKernelIsJudgedAsAGraph) {
  for (const char* fault : {"", "fold"}) {
    const json b = json_of(convolution(fault, "act=act"));
    EXPECT_EQ(b["first"], nullptr) << b.dump(1).substr(0, 3000);
    EXPECT_EQ(call(b, "act/relu")["status"], "right");
    const json together = call(b, "act/relu")["together"];
    EXPECT_THAT(together["calls"], ElementsAre("conv/convolution", "bn/native_batch_norm", "act/relu"));
    EXPECT_EQ(together["elements"], 288);
    EXPECT_EQ(together["undecidable"], 0);
    EXPECT_LT(together["width"].get<double>(), 1e-4);
    EXPECT_THAT(together["graph"].get<std::string>(), HasSubstr("conv_convolution = convolution("));
  }
}

TEST_F(BisectTogether, TheCauseNamesTheCallWithinARegion) {
  const json eps = json_of(convolution("eps", "act=act"));
  EXPECT_EQ(call(eps, "act/relu")["status"], "wrong");
  EXPECT_EQ(call(eps, "act/relu")["together"]["at"], "eps of bn/native_batch_norm");
  EXPECT_THAT(call(eps, "act/relu")["diagnosis"].dump(), HasSubstr("0.001"));
  const json relu = json_of(convolution("norelu", "act=act"));
  EXPECT_EQ(call(relu, "act/relu")["together"]["at"], "act/relu");
  const json bias = json_of(convolution("bias", "act=act"));
  EXPECT_EQ(call(bias, "act/relu")["together"]["at"], "conv.bias");
  const Finished f = bisect_program(convolution("norelu", "act=act"));
  EXPECT_EQ(f.status, 1);
  EXPECT_THAT(f.out, HasSubstr("the region conv/convolution, bn/native_batch_norm and act/relu is at fault"));
  EXPECT_THAT(f.out, HasSubstr("leaves out act/relu"));
  EXPECT_THAT(f.out, Not(HasSubstr("(relu, line")));
}

// Of an engine that keeps bf16 on the way, whether the dump has that or not.
TEST_F(BisectTogether, WhatANarrowDumpDoesNotHaveMayHaveBeenRoundedToo) {
  const std::string as_bf16 = "**{'act': act.half()}";
  const json right =
      json_of(with(with(convolution("f16", as_bf16), "t.bfloat16()", "t.half()"), "'bf16' in", "'f16' in"));
  EXPECT_EQ(right["first"], nullptr) << right.dump(1).substr(0, 3000);
  EXPECT_EQ(call(right, "act/relu")["together"]["calls"].size(), 3u);
  const json wrong = json_of(
      with(with(convolution("f16 norelu", as_bf16), "t.bfloat16()", "t.half()"), "'bf16' in", "'f16' in"));
  EXPECT_EQ(call(wrong, "act/relu")["together"]["at"], "act/relu");
}

TEST_F(BisectTogether, ABatchNormInTheWeightsIsNoFault) {
  const std::string parameters = "**{'conv.weight': weight, 'conv.bias': bias, ";
  for (const std::string& dumped :
       {std::string("conv=bn"), std::string("conv=bn, act=act"), std::string("bn=bn"),
        std::string("conv=bn, bn=bn"), parameters + "'conv': bn}", parameters + "'bn': bn, 'act': act}",
        parameters + "'act': act}"}) {
    const json b = json_of(convolution("fold", dumped));
    EXPECT_EQ(b["first"], nullptr) << dumped << b.dump(1).substr(0, 3000);
    EXPECT_THAT(b["unused"], IsEmpty()) << dumped;
    EXPECT_EQ(call(b, "conv/convolution")["status"], "not_dumped") << dumped;
    for (const char* name : {"bn/native_batch_norm", "act/relu"})
      EXPECT_THAT(call(b, name)["status"].get<std::string>(),
                  ::testing::AnyOf("right", "inherited", "not_dumped"))
          << dumped;
  }
}

TEST_F(BisectTogether, ABatchNormThatIsFoldedWronglyIs) {
  // By its weights: with those that it has, its results are right.
  const json weights =
      json_of(convolution("fold eps", "**{'conv.weight': weight, 'conv.bias': bias, 'act': act}"));
  EXPECT_EQ(call(weights, "conv/convolution")["status"], "packing");
  EXPECT_THAT(call(weights, "conv/convolution")["says"].dump(),
              HasSubstr("it is with an eps of 0.001 in place of 1e-05"));
  EXPECT_EQ(call(weights, "act/relu")["status"], "inherited");
  // By its results.
  const json results = json_of(convolution("fold eps", "conv=bn, act=act"));
  EXPECT_EQ(call(results, "bn/native_batch_norm")["together"]["at"], "eps of bn/native_batch_norm");
  EXPECT_EQ(call(results, "act/relu")["status"], "inherited");
  const json mean = json_of(convolution("fold mean", "conv=bn, act=act"));
  EXPECT_EQ(mean["first"], "bn/native_batch_norm") << mean.dump(1).substr(0, 3000);
  EXPECT_EQ(call(mean, "bn/native_batch_norm")["together"]["at"], "bn.running_mean");
}

// A kernel that is wrong is none that computes more than its call.
TEST_F(BisectTogether, AWrongCallIsNotTakenForALaterOne) {
  const json b = json_of(convolution("bias", "conv=conv, bn=bn, act=act"));
  EXPECT_EQ(b["first"], "conv/convolution");
  EXPECT_EQ(call(b, "conv/convolution")["status"], "wrong");
  EXPECT_EQ(call(b, "bn/native_batch_norm")["status"], "inherited");
  const json zeros = json_of(convolution("", "conv=0 * conv, act=act"));
  EXPECT_EQ(call(zeros, "conv/convolution")["status"], "wrong");
}

// Branches that meet, views and joined tensors.
TEST_F(BisectTogether, ARegionMayHaveBranchesAndViews) {
  const std::string model = R"(
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.n = torch.nn.Linear(16, 48), torch.nn.Linear(32, 16), torch.nn.LayerNorm(16)
    def forward(self, x):
        q, k, v = (t.view(5, 2, 8).transpose(0, 1) for t in self.qkv(x).split(16, 1))
        y = torch.softmax(q @ k.transpose(1, 2) SCALE, -1) @ v
        y = torch.cat([y.transpose(0, 1).reshape(5, 16), torch.tanh(x)], 1)
        return self.n(self.out(y) RESIDUAL)
net, x = Net(), torch.randn(5, 16)
y = net(x)
if not recording: dump(n=y)
)";
  const auto variant = [&](const char* scale, const char* residual) {
    return json_of(with(with(model, "SCALE", scale), "RESIDUAL", residual));
  };
  const json right = variant("* 0.3", "+ x");
  EXPECT_EQ(right["first"], nullptr) << right.dump(1).substr(0, 3000);
  const json together = call(right, "n/native_layer_norm")["together"];
  EXPECT_THAT(together["calls"].dump(), HasSubstr("\"cat\""));
  EXPECT_THAT(together["graph"].get<std::string>(), HasSubstr("as_strided("));
  const json wrong = variant("* 0.3", "+ (x if recording else 0)");
  EXPECT_EQ(call(wrong, "n/native_layer_norm")["status"], "wrong");
  EXPECT_THAT(call(wrong, "n/native_layer_norm")["together"]["at"].dump(), HasSubstr("add.Tensor"));
}

TEST_F(BisectTogether, AnOperatorThatIsLackingIsNamed) {
  const std::string model = R"(
torch.manual_seed(0)
x = torch.randn(6, 30)
a = torch.logcumsumexp(torch.tanh(x), 1)
b = torch.sigmoid(a)
if not recording: dump(sigmoid=b)
)";
  const json b = json_of(model);
  EXPECT_EQ(b["first"], nullptr);
  EXPECT_EQ(call(b, "sigmoid")["together"], nullptr);
  EXPECT_EQ(call(b, "sigmoid")["not_together"], "Assay does not have logcumsumexp");
  EXPECT_THAT(bisect_program(model).out,
              HasSubstr("sigmoid was not judged as one graph with the calls before it"));
}

// More parameters than an operator has arguments, and one mistake that all have.
TEST_F(BisectTogether, ManyLayersAreOneGraph) {
  const std::string model = R"(
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.c = torch.nn.ModuleList(torch.nn.Conv2d(4, 4, 3, padding=1) for _ in range(4))
        self.b = torch.nn.ModuleList(torch.nn.BatchNorm2d(4) for _ in range(4))
    def forward(self, x):
        for c, b in zip(self.c, self.b):
            x = torch.relu(b(c(x)))
        return x
net, x = Net().eval(), torch.randn(2, 4, 6, 6)
rng = numpy.random.default_rng(0)
for b in net.b:
    b.running_var = torch.from_numpy(rng.uniform(0.1, 1, 4).astype('f4'))
    b.bias.data = torch.from_numpy(rng.normal(size=4).astype('f4'))
    if not recording: b.eps = EPS
y = net(x)
if not recording: dump(**{'relu#4': y})
)";
  const json right = json_of(with(model, "EPS", "1e-5"));
  EXPECT_EQ(right["first"], nullptr) << right.dump(1).substr(0, 3000);
  EXPECT_EQ(call(right, "relu#4")["together"]["calls"].size(), 12u);
  const json wrong = json_of(with(model, "EPS", "1e-2"));
  EXPECT_EQ(call(wrong, "relu#4")["together"]["at"], "each eps of 1e-05")
      << call(wrong, "relu#4")["diagnosis"].dump(1);
}

}  // namespace
}  // namespace assay
