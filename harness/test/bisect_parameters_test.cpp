// `assay record` and `assay bisect` where the name of a parameter is not enough to say which numbers it has.
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

class BisectParameters : public RecordedExample {};

// One tensor for three weights, which the dump has as the module does.
TEST_F(BisectParameters, APartIsComparedWithThatPart) {
  const std::string model = R"(
torch.manual_seed(0)
class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Parameter(torch.randn(30, 10))
    def forward(self, x, qkv):
        q, k, v = (torch.nn.functional.linear(x, qkv[10 * i:10 * i + 10]) for i in range(3))
        return torch.relu(q) + torch.tanh(k) + torch.sigmoid(v)
net, x = Attention(), torch.randn(4, 10)
with torch.no_grad():
    if recording:
        net(x, net.qkv)
    else:
        used = net.qkv.clone()
        FAULT
        d = {'mm' + n: x @ used[10 * i:10 * i + 10].t() for i, n in enumerate(('', '#2', '#3'))}
        dump(qkv=used, **d)
)";
  const auto with = [&](const std::string& fault) {
    std::string program = model;
    return json_of(program.replace(program.find("FAULT"), 5, fault));
  };
  const json right = with("pass");
  EXPECT_EQ(right["first"], nullptr) << right.dump(1).substr(0, 3000);
  EXPECT_THAT(right["unused"], ElementsAre());
  const json wrong = with("used[15, 3] *= 2");
  EXPECT_EQ(call(wrong, "mm")["status"], "right");
  EXPECT_EQ(call(wrong, "mm#2")["status"], "parameters");
  EXPECT_EQ(call(wrong, "mm#3")["status"], "right");
}

// Two models, each of which calls its first layer "0".
TEST_F(BisectParameters, OfTwoModulesOfOneNameTheNumbersSayWhich) {
  const std::string model = R"(
torch.manual_seed(0)
encode, decode = (torch.nn.Sequential(torch.nn.Linear(10, 10), torch.nn.ReLU()) for _ in range(2))
x = torch.randn(4, 10)
with torch.no_grad():
    if recording: decode(encode(x))
    else:
        y = encode(x)
        dump(**{'0/addmm': encode[0](x), '1/relu': y, '0/addmm#2': decode[0](y), '0.weight': WHOSE})
)";
  const auto with = [&](const std::string& whose) {
    std::string program = model;
    return json_of(program.replace(program.find("WHOSE"), 5, whose));
  };
  EXPECT_EQ(with("encode[0].weight")["first"], nullptr);
  const json other = with("decode[0].weight");
  EXPECT_EQ(other["first"], nullptr) << other.dump(1).substr(0, 3000);
  EXPECT_THAT(call(other, "0/addmm")["says"].dump(),
              HasSubstr("0.weight of the dump is 0.weight#2, another module's"));
  const json neither = with("encode[0].weight * 1.5");
  EXPECT_THAT(call(neither, "0/addmm")["blames"], ::testing::Contains("parameters"));
}

// What the program writes to has other numbers at each moment.
TEST_F(BisectParameters, OneThatIsWrittenToIsNotCompared) {
  const std::string model = R"(
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(10, 10)
        self.register_buffer('cache', torch.zeros(3, 4, 10))
    def forward(self, x, t):
        self.cache[t] = self.layer(x)
        return torch.sigmoid(self.cache)
net, x, made = Net(), torch.randn(4, 10), {}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for t in range(3):
    net.cache.detach_()
    y = net(x, t)
    n = '' if t == 0 else f'#{t + 1}'
    made['layer/addmm' + n] = net.layer(x).clone() if not recording else 0
    made['sigmoid' + n] = y
    optimizer.zero_grad()
    y.sum().backward()
    optimizer.step()
if not recording: dump(**made, **net.state_dict())
)";
  const json b = json_of(model);
  EXPECT_EQ(b["first"], nullptr) << b.dump(1).substr(0, 3000);
  EXPECT_THAT(b["written"], ElementsAre("cache", "layer.bias", "layer.weight"));
  EXPECT_THAT(b["unused"], ElementsAre());
}

// One that gave up on its input is on no stack of names any more.
TEST_F(BisectParameters, AModuleThatRaisesIsLeft) {
  write_file(file("raises.py"), R"(
import torch
net, x = torch.nn.Sequential(torch.nn.Linear(3, 3)), torch.randn(4, 5)
try: net(x)
except RuntimeError: pass
torch.relu(x)
)");
  ASSERT_EQ(run_program(ASSAY_PROGRAM, {"record", file("raises.py"), "-o", file("raises.h5")}).status, 0);
  const CaseFile trace = read_case_file(file("raises.h5"));
  ASSERT_EQ(trace.calls.size(), 1u);
  EXPECT_EQ(trace.calls[0].name, "relu");
}

}  // namespace
}  // namespace assay
