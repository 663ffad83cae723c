// `assay bisect` on recurrent layers, which are judged step by step on what the engine gave for the step before; and on what stands between
// modules: views by their names, results of modules of several calls, joins, tensors that were handed over to the wrong call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/graph.h"
#include "graph/recurrent.h"
#include "recorded_example.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class BisectLayers : public RecordedExample {
 protected:
  // An engine's own loop over the steps, in f32, with FAULT in each step, and another head after it.
  static json lstm(const std::string& fault, const std::string& before = "pass") {
    return json_of(with(with(R"(
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = torch.nn.LSTM(6, 5, batch_first=True), torch.nn.Linear(5, 3)
    def forward(self, x, s): return self.head(self.lstm(x, s)[0])
net, x, s = Net().eval(), torch.randn(2, 9, 6), (torch.randn(1, 2, 5), torch.randn(1, 2, 5))
with torch.no_grad():
    if recording: net(x, s)
    else:
        W, U, bi, bh = [p.clone() for p in net.lstm.parameters()]
        h, c, out, steps, sigmoid, last = s[0][0], s[1][0], [], list(range(9)), torch.sigmoid, lambda c: torch.tanh(c)
        BEFORE
        for t in steps:
            i, f, g, o = (x[:, t] @ W.t() + h @ U.t() + bi + bh).chunk(4, 1)
            FAULT
            c = sigmoid(f) * c + sigmoid(i) * torch.tanh(g)
            h = sigmoid(o) * last(c)
            out.append(h)
        y = torch.stack([out[steps.index(t)] for t in range(9)], 1)
        dump(lstm=y, head=net.head(y))
)",
                             "FAULT", fault),
                        "BEFORE", before));
  }
  static std::string said(const json& b, const std::string& name) { return call(b, name).dump(); }
};

TEST_F(BisectLayers, ALayerIsOneCallAndARightOneIsRight) {
  const json b = lstm("pass");
  EXPECT_EQ(b["first"], nullptr) << b.dump(1).substr(0, 3000);
  EXPECT_EQ(call(b, "lstm/lstm.input")["status"], "right");
  EXPECT_EQ(call(b, "lstm/lstm.input")["op"], "lstm.input");
}

TEST_F(BisectLayers, WhatIsWrongInAnLstmIsNamedAndNothingAfterItIsBlamed) {
  struct Fault {
    const char *step, *before, *says;
  };
  for (const Fault& f : {
           Fault{"i, o, f, g = i, f, g, o", "pass", "blocks 1, 2, 3 of the gates in all weights and biases are read as o, f, g instead of f, g, o"},
           Fault{"pass", "W = torch.cat([W[5:10], W[:5], W[10:]])", "blocks 0, 1 of the gates in weight_ih are read as f, i instead of i, f"},
           Fault{"pass", "bh = bh * 0", "leaves out the bias bias_hh"},
           Fault{"pass", "bi = bi * 2", "adds the bias bias_ih twice"},
           Fault{"pass", "h = h * 0", "ignores the initial hidden state"},
           Fault{"pass", "c = c * 0", "ignores the initial cell state"},
           Fault{"pass", "steps.reverse()", "goes through the steps in the reverse direction, from the last one"},
           Fault{"pass", "sigmoid = lambda v: (0.2 * v + 0.5).clamp(0, 1)", "computes clip(0.2 x + 0.5, 0, 1) in place of sigmoid"},
           Fault{"pass", "last = lambda c: c", "leaves out the tanh of the cell state"},
           Fault{"f = -i", "pass", "takes 1 - i for the forget gate"},
           Fault{"pass", "U = torch.cat([b.t() for b in U.chunk(4)])", "reads each gate's block of weight_hh transposed"},
       }) {
    const json b = lstm(f.step, f.before);
    EXPECT_EQ(b["first"], "lstm/lstm.input") << f.says << b.dump(1).substr(0, 2000);
    EXPECT_EQ(call(b, "lstm/lstm.input")["diagnosis"]["kind"], "named") << f.says << said(b, "lstm/lstm.input");
    EXPECT_THAT(call(b, "lstm/lstm.input")["diagnosis"]["causes"][0]["says"], HasSubstr(f.says));
    for (const json& c : b["calls"]) {
      if (c["name"] == "lstm/lstm.input") continue;
      EXPECT_THAT((std::vector<std::string>{"right", "inherited", "not_dumped"}), ::testing::Contains(c["status"])) << c.dump();
    }
  }
}

// What none of the causes is: no argument of the layer's graph explains results by themselves.
TEST_F(BisectLayers, AnUnknownMistakeHasNoCause) {
  const json b = lstm("g = g * 1.01 + 0.2 * o * i");
  EXPECT_EQ(b["first"], "lstm/lstm.input");
  EXPECT_THAT((std::vector<std::string>{"unknown", "partly"}), ::testing::Contains(call(b, "lstm/lstm.input")["diagnosis"]["kind"])) << said(b, "lstm/lstm.input");
}

TEST_F(BisectLayers, GruInBothDirectionsAndSeveralLayers) {
  const std::string program = R"(
net, x = torch.nn.GRU(4, 3, num_layers=2, bidirectional=True).eval(), torch.randn(6, 2, 4)
def layer(x, k, first):
    both = []
    for d in ('', '_reverse'):
        W, U, bi, bh = (getattr(net, n + f'_l{k}' + d) for n in ('weight_ih', 'weight_hh', 'bias_ih', 'bias_hh'))
        h, out, steps = torch.zeros(2, 3), {}, range(6) if d == '' else range(5, -1, -1)
        for t in steps:
            xr, xz, xn = (x[t] @ W.t() + bi).chunk(3, 1)
            hr, hz, hn = (h @ U.t() + bh).chunk(3, 1)
            r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
            if first: hn = (r * h) @ U[6:].t() + bh[6:]
            n = torch.tanh(xn + (hn if first else r * hn))
            h = (1 - z) * n + z * h
            out[t] = h
        both.append(torch.stack([out[t] for t in range(6)]))
    return torch.cat(both, 2)
with torch.no_grad():
    if recording: net(x)
    else:
        y = layer(x, 0, FIRST)
        dump(**{'gru.input': y, 'gru.input#2': layer(y, 1, SECOND)})
)";
  const json right = json_of(with(with(program, "FIRST)\n", "False)\n"), "SECOND", "False"));
  EXPECT_EQ(right["first"], nullptr) << right.dump(1).substr(0, 3000);
  EXPECT_EQ(call(right, "gru.input#2")["status"], "right");
  const json wrong = json_of(with(with(program, "FIRST)\n", "True)\n"), "SECOND", "False"));
  EXPECT_EQ(wrong["first"], "gru.input");
  EXPECT_THAT(said(wrong, "gru.input"), HasSubstr("linear_before_reset of ONNX is 0"));
  EXPECT_EQ(call(wrong, "gru.input#2")["status"], "inherited");
}

TEST_F(BisectLayers, PyTorchsOwnLayersAreRight) {
  write_file(file("layers.py"), R"(
import torch
torch.manual_seed(0)
for make, more in ((torch.nn.LSTM, dict(proj_size=2)), (torch.nn.LSTM, dict(bidirectional=True, bias=False)), (torch.nn.GRU, dict(batch_first=True)),
                   (torch.nn.RNN, dict(nonlinearity='relu', bidirectional=True)), (torch.nn.RNN, {}), (torch.nn.LSTM, dict(num_layers=3, dropout=.5))):
    net = make(3, 4, **more)
    net(torch.randn(5, 2, 3))
    net(torch.randn(1, 1, 3))
)");
  const Finished recorded = run_program(ASSAY_PROGRAM, {"record", file("layers.py"), "-o", file("layers.h5"), "--ops", "lstm*,gru*,rnn*"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const Finished f = run_program(ASSAY_PROGRAM, {"diagnose", file("layers.h5"), "--time", "1"});
  EXPECT_THAT(f.out, HasSubstr("Of 16 calls 16 are right, 0 at fault.")) << f.err;
}

// The numbers of the program are the same with the recorder and without it.
TEST_F(BisectLayers, RecordingChangesNoNumber) {
  write_file(file("same.py"), R"(
import sys, torch
torch.manual_seed(0)
net = torch.nn.LSTM(3, 4, num_layers=3, dropout=.5, bidirectional=True)
y, (h, c) = net(torch.randn(5, 2, 3))
(y.sum() + h.prod() + c.sum()).backward()
print([t.flatten().tolist() for t in (y, h, c, net.weight_ih_l1.grad)])
)");
  const Finished plain = run_program("/usr/bin/python3", {"-B", file("same.py")});
  const Finished recorded = run_program(ASSAY_PROGRAM, {"record", file("same.py"), "-o", file("same.h5")});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_THAT(recorded.out, HasSubstr(plain.out));
}

TEST_F(BisectLayers, ModulesThatMakeNoCallAndModulesOfSeveral) {
  const std::string program = R"(
net = torch.nn.Sequential(torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32, 5)).eval()
class Gated(torch.nn.Module):
    def forward(self, x): return torch.sigmoid(x) * x
net.append(Gated())
x = torch.randn(3, 8, 4, 4)
with torch.no_grad():
    if recording: net(x)
    else:
        pooled = net[0](x)
        flat = pooled.ORDER.flatten(1)
        y = net[2](flat)
        dump(**{'0': pooled, '1': flat, '2': y, '3': torch.sigmoid(y) * y})
)";
  const json right = json_of(with(program, "ORDER", "clone()"));
  EXPECT_EQ(right["first"], nullptr) << right.dump(1).substr(0, 2000);
  EXPECT_EQ(right["unused"], json::array());
  const json wrong = json_of(with(program, "ORDER", "permute(0, 2, 3, 1)"));
  EXPECT_EQ(call(wrong, "2/addmm")["status"], "changed");
  EXPECT_THAT(said(wrong, "2/addmm"), HasSubstr("in which its dimensions lie in the order (0, 2, 3, 1)"));
  EXPECT_EQ(call(wrong, "3/mul.Tensor")["status"], "inherited");
}

TEST_F(BisectLayers, TensorsOfOtherCallsAndJoinsInAnotherOrder) {
  const std::string program = R"(
a, b, x = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6), torch.randn(4, 6)
with torch.no_grad():
    if recording:
        g, u = a(x), b(x)
        torch.cat([torch.tanh(g) * u, u], 1)
    else:
        g, u = a(x), b(x)
        t = torch.tanh(ACT)
        dump(**{'addmm': g, 'addmm#2': u, 'tanh': t, 'mul.Tensor': t * u, 'cat': torch.cat([JOINED], 1)})
)";
  const auto with_both = [&](const char* act, const char* joined) { return json_of(with(with(program, "ACT", act), "JOINED", joined)); };
  EXPECT_EQ(with_both("g", "t * u, u")["first"], nullptr);
  EXPECT_THAT(said(with_both("u", "t * u, u"), "tanh"), HasSubstr("was given the result of addmm#2 as self"));
  const json exchanged = with_both("g", "u, t * u");
  EXPECT_EQ(exchanged["first"], "cat");
  EXPECT_THAT(said(exchanged, "cat"), HasSubstr("joined in another order: (1, 0)"));
  EXPECT_THAT(said(with_both("g", "t * u, g"), "cat"), HasSubstr("tensors/1 is what addmm gave"));
}

TEST_F(BisectLayers, RotaryPositions) {
  const std::string program = R"(
x, a = torch.randn(2, 3, 7, 8), numpy.tile(numpy.arange(7)[:, None] * 50.0 ** (-numpy.arange(0, 8, 2) / 8), 2)
cos, sin = (torch.from_numpy(t.astype('f4')) for t in (numpy.cos(a), numpy.sin(a)))
halves = lambda x: torch.cat([-x[..., 4:], x[..., :4]], -1)
neighbours = lambda x: torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
each = lambda t: t[:, :4].repeat_interleave(2, 1)
class Rotary(torch.nn.Module):
    def forward(self, x, cos, sin):
        p, q = x.chunk(2, -1)
        return x * cos + torch.cat([-q, p], -1) * sin
y = Rotary()(x, cos, sin) if recording else ENGINE
if not recording: dump(**{'add.Tensor': y})
)";
  const auto engine = [&](const char* is) { return json_of(with(program, "ENGINE", is)); };
  EXPECT_EQ(engine("x * cos + halves(x) * sin")["first"], nullptr);
  for (const auto& [is, says] : {std::pair{"x * each(cos) + neighbours(x) * each(sin)", "turns neighbours together"},
                                 {"x * cos + neighbours(x) * sin", "with the cos and sin of halves"},
                                 {"x * cos.roll(1, 0) + halves(x) * sin.roll(1, 0)", "takes the cos and sin of the position before it"},
                                 {"x * cos.roll(-1, 0) + halves(x) * sin.roll(-1, 0)", "takes the cos and sin of the position after it"},
                                 {"x.clone()", "gives x as it is"}}) {
    const json b = engine(is);
    EXPECT_THAT(said(b, "add.Tensor"), HasSubstr(says)) << is;
  }
}

// A graph of each kind of layer, right and with each mistake, can be read, and mistakes are of the same arguments.
TEST(RecurrentGraphs, AreGraphs) {
  for (const Cell cell : {Cell::lstm, Cell::gru, Cell::rnn_tanh, Cell::rnn_relu})
    for (const bool both : {false, true})
      for (const bool batch_first : {false, true})
        for (const std::int64_t steps : {1, 2, 5}) {
          const RecurrentLayer layer{.cell = cell, .steps = steps, .batch = 2, .inputs = 3, .hidden = 4, .projected = cell == Cell::lstm && both ? 2 : 0,
                                     .both_directions = both, .batch_first = batch_first, .has_biases = steps != 2};
          const Graph& right = parse_graph(graph_of(layer));
          EXPECT_EQ(right.op.schema.argument_count, arguments_of(layer).size());
          for (const RecurrentMistake& m : mistakes_of(layer)) {
            const Graph& wrong = parse_graph(graph_of(layer, m));
            EXPECT_EQ(wrong.op.schema.argument_count, right.op.schema.argument_count) << m.name;
            EXPECT_NE(wrong.op.schema.name, right.op.schema.name);
          }
        }
}

}  // namespace
}  // namespace assay
