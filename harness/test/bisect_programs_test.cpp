// `assay record` and `assay bisect` on programs as people write them, which right engines follow in other ways.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/files/case_file.h"
#include "recorded_example.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class BisectPrograms : public RecordedExample {
 protected:
  static Finished recorded(const std::string& program) {
    write_file(file("own.py"), "import torch\ntorch.manual_seed(0)\n" + program);
    return run_program(ASSAY_PROGRAM, {"record", file("own.py"), "-o", file("own.h5")});
  }
};

// A sum of what is known within a bound is rounded once more.
TEST_F(BisectPrograms, AResidualBehindAnAbsentBatchNorm) {
  const json b = json_of(R"(
x, y = torch.randn(4, 8, 16, 16), torch.randn(4, 8, 16, 16) * 3
w, b, m, v = torch.rand(8) * .1, torch.randn(8), torch.randn(8), torch.rand(8) + .5
if recording:
    a = torch.nn.functional.batch_norm(x, m, v, w, b)
else:
    s = w * torch.rsqrt(v + 1e-5)
    a = x * s.view(1, 8, 1, 1) + (b - m * s).view(1, 8, 1, 1)
c = torch.relu(a + y)
if not recording: dump(relu=c)
)");
  EXPECT_EQ(b["first"], nullptr) << b.dump(1).substr(0, 2000);
}

// What unsafe_split gives lies in what it was given, which its schema does not say; so do views of images with channels last.
TEST_F(BisectPrograms, PartsOfResultsAreKnownHoweverTheyLie) {
  const json lstm = json_of(R"(
cell, x, o = torch.nn.LSTMCell(64, 64), torch.randn(4, 64), torch.randperm(64)
with torch.no_grad():
    if recording: cell(x)
    else:
        g1 = x[:, o] @ cell.weight_ih[:, o].t() + cell.bias_ih
        g2 = torch.zeros(4, 64) @ cell.weight_hh.t() + cell.bias_hh
        i, f, c, q = (g1 + g2).chunk(4, 1)
        dump(**{'addmm#2': g1, 'addmm': g2, 'add.Tensor': g1 + g2, 'tanh': torch.tanh(c), 'sigmoid': torch.sigmoid(i)})
)");
  EXPECT_EQ(lstm["first"], nullptr) << lstm.dump(1).substr(0, 2000);
  EXPECT_EQ(call(lstm, "tanh")["status"], "inherited");
  const std::string last = R"(
n = torch.nn.Conv2d(32, 16, 3).to(memory_format=torch.channels_last)
x = torch.randn(2, 32, 9, 9).to(memory_format=torch.channels_last)
with torch.no_grad():
    c = n(x) if recording else torch.conv2d(x.flip(1), n.weight.flip(1), n.bias) SCALE
    a, b = c.chunk(2, 1)
    if recording: a * torch.sigmoid(b)
    else: dump(**{'convolution': c, 'sigmoid': torch.sigmoid(b), 'mul.Tensor': a * torch.sigmoid(b)})
)";
  EXPECT_EQ(json_of(with(last, "SCALE", ""))["first"], nullptr);
  const json wrong = json_of(with(last, "SCALE", "* 2"));
  EXPECT_EQ(call(wrong, "convolution")["status"], "wrong");
  EXPECT_EQ(call(wrong, "sigmoid")["status"], "inherited");
  EXPECT_EQ(call(wrong, "mul.Tensor")["status"], "inherited");
}

// A result may be dumped with its channels last, or without its batch.
TEST_F(BisectPrograms, OtherShapesOfRightNumbers) {
  const std::string model = R"(
net, x = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()), torch.randn(1, 3, 9, 7)
with torch.no_grad():
    if recording: net(x)
    else:
        c = torch.conv2d(x.flip(1), net[0].weight.flip(1), net[0].bias)
        dump(**{n: t VIEW for n, t in (('0', c), ('1', torch.relu(c)))})
)";
  EXPECT_EQ(json_of(with(model, "VIEW", "[0]"))["first"], nullptr);
  const json last = json_of(with(model, "VIEW", ".permute(0, 2, 3, 1)"));
  EXPECT_EQ(call(last, "0/convolution")["status"], "wrong");
  EXPECT_THAT(call(last, "0/convolution")["says"].dump(),
              HasSubstr("its dimensions in the order (0, 2, 3, 1)"));
}

// Parameters that were copied before any module was called are a state; and no engine draws PyTorch's random numbers.
TEST_F(BisectPrograms, WhatIsNotTheDumpsToSayIsNotJudged) {
  const json load = json_of(R"(
a, b, x = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8), torch.randn(8, 8)
h = a(x)
h.pow(2).mean().backward()
torch.optim.SGD(a.parameters(), .1 if recording else .2).step()
b.load_state_dict(a.state_dict())
y = b(x)
if not recording:
    dump(**{'addmm': h, 'addmm#2': y, 'add.Tensor': a.weight, 'add.Tensor#2': a.bias, 'copy_': b.weight, 'copy_#2': b.bias})
)");
  EXPECT_EQ(call(load, "add.Tensor")["status"], "wrong");
  EXPECT_THAT(call(load, "add.Tensor").dump(), Not(HasSubstr("is the result of copy_")));
  EXPECT_EQ(call(load, "addmm#2")["status"], "inherited");
  const json dropout = json_of(R"(
net, x = torch.nn.Sequential(torch.nn.Linear(30, 30), torch.nn.Dropout(), torch.nn.ReLU()), torch.randn(4, 30)
if not recording: torch.manual_seed(1)
y = net[0](x)
if recording: net(x)
else: dump(**{'0': y, '2': torch.relu(net[1](y))})
)");
  EXPECT_EQ(dropout["first"], nullptr);
  EXPECT_EQ(call(dropout, "2/relu")["status"], "not_judged");
  const json numpy = json_of(R"(
a = torch.relu(torch.randn(6, 30))
before = a.clone()
a.numpy()[:, 0] = .5
b = torch.sigmoid(a)
if not recording: dump(relu=before, sigmoid=b)
)");
  EXPECT_EQ(numpy["first"], nullptr);
}

TEST_F(BisectPrograms, ADumpMayHaveInputsAlone) {
  const std::string model = R"(
x = torch.randn(6, 30)
a = torch.relu(x) if recording else torch.relu(SIGN x)
b = torch.sigmoid(a)
torch.tanh(b)
if not recording: dump(**{'relu:self': x, 'sigmoid:self': a, 'tanh:self': b})
)";
  const Finished right = bisect_program("torch.manual_seed(0)\n" + with(model, "SIGN", ""));
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_THAT(right.out, HasSubstr("No call is at fault, as far as the inputs in the dump show."));
  EXPECT_EQ(bisect_program("torch.manual_seed(0)\n" + with(model, "SIGN", "-")).status, 1);
}

// PyTorch does not take calls apart by itself there.
TEST_F(BisectPrograms, InferenceModeHidesNoOperator) {
  const json b = json_of(R"(
n, x = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU()), torch.randn(1, 3, 8, 8)
with torch.inference_mode():
    if recording: n(x)
    else:
        c = n[0](x.flip(-1))
        dump(**{'0': c, '1': torch.relu(c)})
)");
  EXPECT_EQ(call(b, "0/convolution")["status"], "wrong") << b.dump(1).substr(0, 2000);
}

// One tensor of two modules is known by either name; and a call that only moves numbers is at fault without a reference.
TEST_F(BisectPrograms, WhatTheDumpShowsIsFound) {
  const json tied = json_of(R"(
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.l, self.h = torch.nn.Embedding(20, 16), torch.nn.Linear(16, 16), torch.nn.Linear(16, 20, bias=False)
        self.h.weight = self.e.weight
    def forward(self, t): return self.h(torch.relu(self.l(self.e(t))))
net, t = Net().eval(), torch.arange(6).view(2, 3)
with torch.no_grad():
    if recording: net(t)
    else:
        own = net.h.weight.clone()
        own[3] *= 1.5
        e = net.e(t); l = net.l(e); r = torch.relu(l)
        dump(**{'e': e, 'l': l, 'relu': r, 'h': r @ own.t(), 'e.weight': net.e.weight, 'h.weight': own,
                'l.weight': net.l.weight, 'l.bias': net.l.bias})
)");
  EXPECT_EQ(tied["first"], "h/mm");
  EXPECT_EQ(call(tied, "h/mm")["status"], "parameters") << tied.dump(1).substr(0, 2000);
  const json cat = json_of(R"(
x, y = torch.randn(6, 30), torch.randn(6, 30)
a, b = torch.relu(x), torch.sigmoid(y)
c = torch.cat([a, b] if recording else [b, a])
d = torch.tanh(c)
if not recording: dump(relu=a, sigmoid=b, cat=c, tanh=d)
)");
  EXPECT_EQ(cat["first"], "cat");
  EXPECT_EQ(call(cat, "cat")["status"], "wrong");
  EXPECT_EQ(call(cat, "tanh")["status"], "inherited");
}

// What cannot be written down ends no program.
TEST_F(BisectPrograms, OfUncommonTensorsGoOn) {
  const Finished nested = recorded(R"(
l = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 1).eval()
mask = torch.tensor([[False] * 7, [False] * 5 + [True] * 2])
with torch.no_grad(): print(list(l(torch.randn(2, 7, 32), src_key_padding_mask=mask).shape))
)");
  EXPECT_EQ(nested.status, 0) << nested.err;
  EXPECT_THAT(nested.out, HasSubstr("[2, 7, 32]"));
  const Finished lazy = recorded(R"(
net = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.LazyLinear(3))
with torch.no_grad(): print(list(net(torch.randn(2, 5)).shape))
)");
  EXPECT_EQ(lazy.status, 0) << lazy.err;
  EXPECT_THAT(lazy.out, HasSubstr("[2, 3]"));
  const Finished traced = recorded(R"(
net = torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), torch.randn(2, 4), check_trace=False)
print(list(net(torch.randn(3, 4)).shape))
)");
  EXPECT_EQ(traced.status, 0) << traced.err;
  EXPECT_THAT(traced.out, HasSubstr("[3, 4]"));
  EXPECT_THAT(traced.err, HasSubstr("while torch.jit.trace ran"));
  EXPECT_EQ(run_program(ASSAY_PROGRAM, {"diagnose", file("own.h5")}).status, 0);
}

}  // namespace
}  // namespace assay
