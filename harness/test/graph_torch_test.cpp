// Graphs that PyTorch programs are traced to: what they say, and that they compute what PyTorch does.
#include "harness/graph/torch_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "graph/enrol_graph.h"
#include "graph/graph.h"
#include "harness/graph/graph_file.h"
#include "harness/model/call.h"
#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"
#include "test/effort.h"
#include "vocabulary/reference.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::string_view kHead = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n";

struct Program {
  const char* name;
  const char* text;
  const char* nodes;  // their operators
};

constexpr Program kPrograms[] = {
    {"mlp",
     "class Model(nn.Module):\n"
     "    def __init__(self, n, m):\n"
     "        super().__init__()\n"
     "        self.up, self.down = nn.Linear(n, m), nn.Linear(m, n, bias=False)\n"
     "    def forward(self, x): return self.down(F.gelu(self.up(x))) + x\n"
     "def get_inputs(): return [torch.randn(2, 3, 4)]\n"
     "def get_init_inputs(): return [4, 6]\n",
     "linear gelu linear add.Tensor"},
    {"attention",
     "def model(q, k, v, scale=0.125): return torch.softmax(q @ k.transpose(-2, -1) * scale, -1) @ v\n"
     "def get_inputs(): return [torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)]\n",
     "transpose.int bmm mul.Tensor softmax.int bmm"},
    {"heads",
     "def model(q, k, v): return torch.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v\n"
     "def get_inputs(): return [torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 6)]\n",
     "transpose.int flatten.using_ints flatten.using_ints bmm reshape div.Tensor softmax.int flatten.using_ints flatten.using_ints bmm "
     "reshape"},
    {"rms_norm",
     "class Model(nn.Module):\n"
     "    def __init__(self):\n"
     "        super().__init__()\n"
     "        self.weight = nn.Parameter(torch.ones(5))\n"
     "    def forward(self, x): return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))\n"
     "def get_inputs(): return [torch.randn(3, 5)]\n",
     "mul.Tensor mean.dim add.Tensor rsqrt mul.Tensor mul.Tensor"},
    {"swiglu",
     "class Model(nn.Module):\n"
     "    def __init__(self):\n"
     "        super().__init__()\n"
     "        self.gate, self.up, self.down = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(6, 4)\n"
     "    def forward(self, x): return self.down(F.silu(self.gate(x)) * self.up(x))\n"
     "def get_inputs(): return [torch.randn(3, 4)]\n",
     "linear silu linear mul.Tensor linear"},
    {"convolutions",
     "class Model(nn.Module):\n"
     "    def __init__(self):\n"
     "        super().__init__()\n"
     "        self.conv, self.norm = nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3)\n"
     "        self.relu, self.pool, self.drop, self.head = nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout(), nn.Linear(12, 5)\n"
     "    def forward(self, x):\n"
     "        h = self.pool(self.relu(self.norm(self.conv(x))))\n"
     "        return self.head(self.drop(h.view(h.size(0), -1)))\n"
     "def get_inputs(): return [torch.randn(2, 2, 4, 4)]\n",
     "convolution native_batch_norm relu max_pool2d flatten.using_ints linear"},
    {"residual",
     "class Model(nn.Module):\n"
     "    def __init__(self):\n"
     "        super().__init__()\n"
     "        self.norm, self.linear = nn.LayerNorm(4), nn.Linear(4, 4)\n"
     "    def forward(self, x):\n"
     "        h = self.norm(x)\n"
     "        return x + self.linear(h), h\n"
     "def get_inputs(): return [torch.randn(3, 4)]\n",
     "native_layer_norm linear add.Tensor"},
    {"pieces",
     "def model(x, y):\n"
     "    a, b = x.chunk(2, dim=-1)\n"
     "    c, d = y.split([1, 3], dim=1)\n"
     "    return torch.cat([a * torch.sigmoid(b), c, d[:, 1:]], 1), torch.stack([a, b])\n"
     "def get_inputs(): return [torch.randn(3, 4), torch.randn(3, 4)]\n",
     "chunk slice.Tensor slice.Tensor sigmoid mul.Tensor slice.Tensor cat stack"},
    {"casts",
     "def model(x): return (x.to(torch.bfloat16) * 2).to(x.dtype) + 1\ndef get_inputs(): return [torch.randn(3, 4)]\n",
     "to.dtype mul.Tensor to.dtype add.Tensor"},
    {"scalars",
     "def model(x): return 1 - (2 / (x * x + 3)) ** 2 + torch.tensor(0.5) * -x.clamp(min=-1) + torch.full_like(x, 3)\n"
     "def get_inputs(): return [torch.randn(3, 4)]\n",
     nullptr},
    {"in_place",
     "def model(x):\n"
     "    y = x + 1\n"
     "    y.view(-1).relu_()\n"
     "    y *= 2\n"
     "    return y\n"
     "def get_inputs(): return [torch.randn(3, 4)]\n",
     nullptr},
    {"composed",
     "def model(x, y):\n"
     "    d = x.abs() + torch.minimum(x, y) + x.min(1, keepdim=True)[0] + F.hardsigmoid(x) + F.mish(y) + F.selu(x) + F.celu(x, 2.0)\n"
     "    return d, x.std(1), torch.logsumexp(x, 1), F.normalize(y, dim=1)\n"
     "def get_inputs(): return [torch.randn(3, 4), torch.randn(3, 4)]\n",
     nullptr},
    {"losses",
     "def model(x, y):\n"
     "    return F.smooth_l1_loss(x, y, beta=0.5), F.huber_loss(x, y, delta=0.7), F.mse_loss(x, y), F.cosine_similarity(x, y)\n"
     "def get_inputs(): return [torch.randn(3, 4), torch.randn(3, 4)]\n",
     nullptr},
    {"windows",
     "def model(x, y):\n"
     "    return F.max_pool3d(x, 3, 2, 1), F.avg_pool3d(x, 2), F.max_pool1d(y, 2), F.adaptive_avg_pool2d(x[0], 1), F.group_norm(y, 2)\n"
     "def get_inputs(): return [torch.randn(1, 2, 5, 4, 6), torch.randn(2, 4, 6)]\n",
     nullptr},
    {"recurrent",
     "class Model(nn.Module):\n"
     "    def __init__(self):\n"
     "        super().__init__()\n"
     "        self.gru = nn.GRU(3, 4, batch_first=True)\n"
     "    def forward(self, x): return self.gru(x)[0]\n"
     "def get_inputs(): return [torch.randn(2, 3, 3)]\n",
     nullptr},
};

// What PyTorch gives, in f64, for random numbers: {"arguments": {name: tensor}, "results": [tensor]}.
constexpr std::string_view kRun = R"(
import importlib.util, json, sys
import torch
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
spec = importlib.util.spec_from_file_location('program', sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
inputs = program.get_inputs()
arguments = {}
if hasattr(program, 'Model'):
    model = program.Model(*(program.get_init_inputs() if hasattr(program, 'get_init_inputs') else [])).eval()
    names = model.forward.__code__.co_varnames[1:]
    for name, t in [*model.named_parameters(), *model.named_buffers()]:
        if t.is_floating_point():
            torch.nn.init.uniform_(t, 0.2, 1.2)
            arguments[name.replace('.', '_')] = t
else:
    model = program.model
    names = model.__code__.co_varnames
arguments |= dict(zip(names, inputs))
with torch.no_grad():
    copies = [t.clone() for t in inputs]
    results = model(*copies)
    results = [results] if isinstance(results, torch.Tensor) else list(results)
tensor = lambda t: {'shape': list(t.shape), 'values': t.detach().reshape(-1).tolist()}
print(json.dumps({'arguments': {n: tensor(t) for n, t in arguments.items()}, 'results': [tensor(t) for t in results]}))
)";

class GraphTorch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "PyTorch takes long to load under sanitizers";
    static const Finished needs = run_program("/usr/bin/python3", {"-c", "import torch"});
    if (needs.status != 0) GTEST_SKIP() << "no program was traced: " << needs.err;
  }
  std::string write(const std::string& name, std::string_view text) {
    write_file(folder_.file(name), std::string(kHead) + std::string(text));
    return folder_.file(name);
  }
  Finished trace(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "graph");
    return run_program(ASSAY_PROGRAM, arguments);
  }
  TemporaryFolder folder_;
};

std::string operators_of(const Graph& graph) {
  std::string all;
  for (const GraphNode& n : graph.nodes) all += (all.empty() ? "" : " ") + std::string(n.schema().name);
  return all;
}

TensorData tensor_of(const json& t) {
  TensorData data(Dtype::f64, t["shape"].get<Shape>());
  for (std::int64_t n = 0; n < data.numel(); ++n)
    data.set(n, t["values"][static_cast<std::size_t>(n)].get<double>());
  return data;
}

TEST_F(GraphTorch, ComputesWhatPyTorchDoes) {
  for (const Program& p : kPrograms) {
    SCOPED_TRACE(p.name);
    const std::string file = write(std::string(p.name) + ".py", p.text);
    const std::string document = folder_.file(std::string(p.name) + ".json");
    const Finished f = trace({file, "-o", document, "--name", std::string("traced_") + p.name});
    ASSERT_EQ(f.status, 0) << f.err;
    const std::vector<std::string> texts = graphs_of_json(read_file(document));
    ASSERT_EQ(texts.size(), 1u);
    const Operator& op = enrol_graph(texts[0]);
    if (p.nodes != nullptr) {
      EXPECT_EQ(operators_of(*op.graph), p.nodes);
    }

    const Finished ran = run_program("/usr/bin/python3", {"-c", std::string(kRun), file});
    ASSERT_EQ(ran.status, 0) << ran.err;
    const json expected = json::parse(ran.out);
    Call call;
    call.op = &op;
    for (const Argument& a : op.schema.arguments())
      call.arguments.emplace_back(tensor_of(expected["arguments"].at(std::string(a.name))));
    const Arguments arguments(call);
    const Checked checked = check_arguments(op, arguments.values());
    ASSERT_TRUE(checked.ok()) << checked.error << "\n" << texts[0];
    ASSERT_EQ(checked.outputs.size(), expected["results"].size());
    const auto evaluation = find_reference(op.schema.name)->evaluate(arguments.values(), checked.outputs);
    for (std::size_t r = 0; r < checked.outputs.size(); ++r) {
      const json& result = expected["results"][r];
      ASSERT_EQ(checked.outputs[r].shape, result["shape"].get<Shape>()) << "result " << r << "\n" << texts[0];
      std::vector<double> values(result["values"].size());
      evaluation->values(static_cast<int>(r), values);
      for (std::size_t n = 0; n < values.size(); ++n) {
        const double theirs = result["values"][n].get<double>();
        EXPECT_NEAR(values[n], theirs, 1e-9 * (1 + std::fabs(theirs))) << "result " << r << " element " << n;
      }
    }
  }
}

TEST_F(GraphTorch, SaysWhichShapesItHoldsFor) {
  const std::string file = write("heads.py", kPrograms[2].text);
  const Finished f = trace({file});
  ASSERT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(json::parse(f.out)["shapes"], "q=[N,2,3,K] k=[N,2,5,K] v=[N,2,5,6] -> [N,2,3,6]");
  EXPECT_FALSE(json::parse(trace({write("mlp.py", kPrograms[0].text)}).out).contains("shapes"));
}

TEST_F(GraphTorch, NamesEverythingThatAGraphCannotHave) {
  const std::string file = write("program.py",
                                 "def f(x):\n"
                                 "    y = torch.tan(x) + torch.cumprod(x, 0)\n"
                                 "    return torch.tan(y), y.sort()[0]\n"
                                 "def decides(x): return x * x.sum().item()\n"
                                 "def fails(x): return x @ x\n"
                                 "def partly(x):\n"
                                 "    y = x * 2\n"
                                 "    y[0] = 1\n"
                                 "    return y\n");
  const auto error = [&](const std::string& name) {
    const Finished f = trace({file + ":" + name, "--input", "f32[3x4]"});
    EXPECT_EQ(f.status, 2) << f.err;
    EXPECT_EQ(f.out, "");
    return f.err;
  };
  EXPECT_THAT(error("f"),
              ::testing::MatchesRegex(
                  "assay: .*program.py: a graph cannot have cumprod \\([^ ]*program.py:5\\), sort \\([^ ]*program.py:6\\), tan \\(2 calls: "
                  "[^ ]*program.py:5, [^ ]*program.py:6\\)\n"));
  EXPECT_THAT(error("decides"), HasSubstr("program.py:7: the program needs the numbers of a tensor"));
  EXPECT_THAT(error("fails"),
              HasSubstr("program.py:8: RuntimeError: mat1 and mat2 shapes cannot be multiplied"));
  EXPECT_THAT(error("partly"), HasSubstr("on a part of a tensor"));
  EXPECT_THAT(error("none"), HasSubstr("has no none; it has decides, f, fails, partly"));
}

TEST_F(GraphTorch, WrongUsage) {
  const std::string file = write("one.py", "def one(x): return torch.relu(x)\n");
  EXPECT_THAT(trace({file}).err, HasSubstr("has no get_inputs(): say the inputs"));
  EXPECT_THAT(trace({file, "--input", "f3[2]"}).err,
              HasSubstr("--input f3[2]: write a dtype and a shape, such as f32[2x3]"));
  EXPECT_EQ(trace({file, "--input", "f32[2]", "--name", "a b"}).status, 2);
  EXPECT_EQ(trace({folder_.file("nothing.py")}).status, 2);
  EXPECT_EQ(trace({file, "--input", "f32[2]", "-o", file}).status, 2);
  const Finished relu = trace({file, "--input", "f32[2]"});
  EXPECT_EQ(relu.status, 0) << relu.err;
  const Finished lacks = run_program("/usr/bin/env", {"ASSAY_TORCH_PYTHON=/nowhere/python3", ASSAY_PROGRAM,
                                                      "graph", file, "--input", "f32[2]"});
  EXPECT_EQ(lacks.status, 3);
  EXPECT_THAT(lacks.err, HasSubstr("tracing needs PyTorch"));
}

}  // namespace
}  // namespace assay
