// `assay bisect` on dumps that have less than the engine had, or other things than it should have given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "recorded_example.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class BisectDump : public RecordedExample {
 protected:
  // The dump, all of it or its results alone, as another dtype: bf16 in 32 bits first, as NumPy has none.
  static void narrow(const std::vector<std::string>& faults, const std::string& dtype, bool results_alone) {
    run_engine(faults);
    const std::string program =
        "import json, numpy, struct, sys\n"
        "d, w = dict(numpy.load(sys.argv[1])), set(numpy.load(sys.argv[2]))\n"
        "head, data = {}, b''\n"
        "for n, t in d.items():\n"
        "    name, raw = 'F32', t.tobytes()\n"
        "    bits = t.view(numpy.uint32)\n"
        "    if n in w and sys.argv[5] == 'results': pass\n"
        "    elif sys.argv[4] == 'f16': name, raw = 'F16', t.astype(numpy.float16).tobytes()\n"
        "    elif sys.argv[4] == 'bf16':\n"
        "        name, raw = 'BF16', (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(numpy.uint16).tobytes()\n"
        "    else: name, raw = 'BF16', (bits >> 16).astype(numpy.uint16).tobytes()\n"
        "    head[n] = {'dtype': name, 'shape': t.shape, 'data_offsets': [len(data), len(data) + len(raw)]}\n"
        "    data += raw\n"
        "head = json.dumps(head).encode()\n"
        "open(sys.argv[3], 'wb').write(struct.pack('<Q', len(head)) + head + data)\n";
    const Finished f = run_program(
        "/usr/bin/python3", {"-c", program, file("dump.npz"), file("weights.npz"), file("narrow.safetensors"),
                             dtype, results_alone ? "results" : "all"});
    ASSERT_EQ(f.status, 0) << f.err;
  }
  static Finished bisect_narrow(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"bisect", file("trace.h5"), file("narrow.safetensors"), "--time", "1"});
    return run_program(ASSAY_PROGRAM, more);
  }
};

// An engine that computes in f32 and writes its results down in fewer bits, by rounding or by cutting them off.
TEST_F(BisectDump, ANarrowDumpIsNotTheKernelsFault) {
  for (const char* dtype : {"f16", "bf16", "bf16 cut off"})
    for (const bool results_alone : {false, true}) {
      narrow({}, dtype, results_alone);
      const Finished f = bisect_narrow();
      EXPECT_EQ(f.status, 0) << dtype << f.out << f.err;
      EXPECT_THAT(f.out, HasSubstr("The dump is rounded: it has the results of 8 calls as "));
      EXPECT_THAT(f.out, HasSubstr("No call is at fault, of 8 that the dump has."));
    }
}

TEST_F(BisectDump, FaultsShowInANarrowDump) {
  const struct {
    const char *fault, *call, *status, *says;
  } kFaults[] = {
      {"slope_axis", "act/prelu", "wrong", "formula.slope_of_the_last_dimension"},
      {"slope_order", "act/prelu", "wrong", "weight.dimension_0_reversed"},
      {"slope_maximum", "act/prelu", "wrong", "formula.larger_product"},
      {"nhwc", "norm/native_layer_norm", "changed", "order_0231"},
      {"overwritten", "norm/native_layer_norm", "changed",
       "elements 0 to 39 are those of head.weight from element 0"},
      {"padding", "conv/convolution", "wrong", "padding."},
      {"slopes_overwritten", "act/prelu", "changed", "elements 0 to 4 are those of bn.bias from element 0"},
  };
  for (const char* dtype : {"f16", "bf16"})
    for (const auto& [fault, name, status, says] : kFaults) {
      narrow({fault}, dtype, fault == std::string("overwritten") && dtype == std::string("bf16"));
      const json b = json::parse(bisect_narrow({"--json", "-"}).out);
      EXPECT_EQ(b["first"], name) << fault << dtype;
      EXPECT_EQ(call(b, name)["status"], status) << fault << dtype;
      EXPECT_EQ(call(b, name)["stored_as"], dtype);
      EXPECT_THAT(call(b, name).dump(), HasSubstr(says)) << fault << dtype;
    }
}

// A parameter in fewer bits is one of the dump's only if the results are.
TEST_F(BisectDump, AParameterInFewerBitsThanTheResultsIsAnother) {
  edit_dump("d['act.weight'] = d['act.weight'].astype(numpy.float16)");
  const json b = bisected();
  EXPECT_EQ(call(b, "act/prelu")["status"], "parameters");
}

// Where no name of a cause is in the cause's list, nobody finds it: a weight that nobody transposed, a window that is off in one
// direction alone, and a result that belongs elsewhere.
TEST_F(BisectDump, NamesWhatIsOffInOneWayAlone) {
  const std::string model = R"(
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3, padding=1)
        self.pool = torch.nn.AvgPool2d(3, 2, padding=1)
        self.act = torch.nn.Tanh()
        self.head = torch.nn.Linear(48, 20)
    def forward(self, x):
        return self.head(self.act(self.pool(self.conv(x))).flatten(1))
net, x = Net().eval(), torch.randn(3, 2, 8, 8)
pad, f = torch.nn.functional.pad, torch.nn.functional
if recording:
    net(x)
else:
    d = dict(net.named_parameters())
    d['conv'] = net.conv(x)
    d['pool'] = net.pool(d['conv'])
    d['act'] = net.act(d['pool'])
    d['head'] = net.head(d['act'].flatten(1))
FAULT
    dump(**d)
)";
  const struct {
    const char *fault, *call, *says;
  } kFaults[] = {
      {"d['head'] = d['act'].flatten(1) @ net.head.weight.reshape(48, 20) + net.head.bias", "head/addmm",
       "mat2.memory_of_reversed_order"},
      {"d['conv'] = f.conv2d(pad(x, (1, 1, 0, 2)), net.conv.weight, net.conv.bias)", "conv/convolution",
       "padding.0_in_dimension_0"},
      {"d['conv'] = f.conv2d(pad(x, (2, 0, 1, 1)), net.conv.weight, net.conv.bias)", "conv/convolution",
       "padding.plus_one_in_dimension_1"},
      {"d['act'] = d['pool']", "act/tanh", "has the result of pool/avg_pool2d in place of its own"},
      {"d['pool'] = d['act']", "pool/avg_pool2d", "what stands there is the result of act/tanh"},
  };
  for (const auto& [fault, name, says] : kFaults) {
    std::string program = model;
    program.replace(program.find("FAULT"), 5, "    " + std::string(fault));
    const Finished f = bisect_program(program, {"--json", "-"});
    const json b = json::parse(f.out, nullptr, false);
    ASSERT_TRUE(b.is_object()) << f.err;
    EXPECT_EQ(b["first"], name) << fault;
    EXPECT_THAT(call(b, name).dump(), HasSubstr(says)) << fault << call(b, name).dump(2).substr(0, 3000);
  }
}

// Of 4,096 terms a bound that takes sums in any order acquits tf32, and the call is not called right.
TEST_F(BisectDump, WhatABoundDoesNotDecideIsSaidSo) {
  const std::string model = R"(
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4096, 24, bias=False)
    def forward(self, x):
        return self.head(x)
net, x = Net().eval(), torch.randn(6, 4096)
def tf32(t):
    return ((t.contiguous().view(torch.int32) + 0x1000) & ~0x1fff).view(torch.float32)
if recording:
    net(x)
else:
    w = net.head.weight.detach()
    d = dict(net.named_parameters())
    d['head'] = (ROUND(x).double() @ ROUND(w).double().t()).float()
    dump(**d)
)";
  const auto bisected_with = [&](const std::string& round, std::vector<std::string> more) {
    std::string program = model;
    for (std::size_t at = 0; (at = program.find("ROUND")) != std::string::npos;)
      program.replace(at, 5, round);
    return bisect_program(program, std::move(more));
  };
  const Finished doubtful = bisected_with("tf32", {"--json", file("doubtful.json")});
  EXPECT_EQ(doubtful.status, 1) << doubtful.out << doubtful.err;
  EXPECT_THAT(doubtful.out, HasSubstr("as_tf32"));
  EXPECT_THAT(doubtful.out, HasSubstr("No call is at fault for certain"));
  std::ifstream written(file("doubtful.json"));
  const json b = json::parse(written);
  EXPECT_EQ(b["first"], nullptr);
  EXPECT_THAT(b["calls"].dump(), HasSubstr("\"status\":\"undecided\""));
  const Finished right = bisected_with("", {});
  EXPECT_EQ(right.status, 0) << right.out << right.err;
}

// What stands between two calls that Assay knows, without a module around it, is compared by what PyTorch gave.
TEST_F(BisectDump, OperatorsWithoutAReferenceAreComparedWithPyTorch) {
  const std::string model = R"(
torch.manual_seed(0)
x = torch.randn(4, 30)
a = torch.relu(x)
b = torch.tan(a) SIN
c = torch.sigmoid(b)
d = torch.cat([c, a]) CAT
e = torch.tanh(d)
if not recording: dump(**{'relu': a, 'tan': b, 'sigmoid': c, 'cat': d, 'tanh': e})
)";
  const auto bisected_with = [&](const std::string& sin, const std::string& cat) {
    std::string program = model;
    program.replace(program.find("SIN"), 3, sin);
    program.replace(program.find("CAT"), 3, cat);
    return bisect_program(program);
  };
  const Finished right = bisected_with("", "* (1 if recording else 1 + 1e-7)");
  EXPECT_EQ(right.status, 0) << right.out << right.err;
  EXPECT_THAT(right.out,
              HasSubstr("2 calls of operators without a reference, compared with PyTorch's results: 2 nearly "
                        "the same (tan, cat)."));
  const Finished wrong = bisected_with("if recording else torch.cosh(a)", "");
  EXPECT_THAT(wrong.out, HasSubstr("out differs from PyTorch's, and its inputs do not"));
  EXPECT_THAT(wrong.out, HasSubstr("out differs from PyTorch's, as do its inputs"));
  EXPECT_THAT(wrong.out, HasSubstr("2 differ (tan, cat)"));
  EXPECT_THAT(wrong.out, HasSubstr("2 calls without a reference have other results than PyTorch's."));
}

// PyTorch 1.13 updates them where they are, which no schema says.
TEST_F(BisectDump, RunningStatisticsInTrainingAreJudged) {
  const std::string model = R"(
torch.manual_seed(0)
net, x = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3)), torch.randn(4, 2, 6, 6)
net[1].running_mean += 1
if recording:
    net(net[0](x).mean() + x)
else:
    made = {'0': net[0](net[0](x).mean() + x)}
    made['1'] = net[1](made['0'])
    made |= {'1:running_mean_out': net[1].running_mean FACTOR, '1:running_var_out': net[1].running_var}
    dump(**made, **dict(net.named_parameters()))
)";
  const auto bisected_with = [&](const std::string& factor) {
    std::string program = model;
    program.replace(program.find("FACTOR"), 6, factor);
    return bisect_program(program, {"--json", "-"});
  };
  const json right = json::parse(bisected_with("").out, nullptr, false),
             bn = call(right, "1/_native_batch_norm_legit_functional");
  EXPECT_EQ(bn["status"], "right") << right.dump(1).substr(0, 3000);
  const json wrong = json::parse(bisected_with("* 1.01").out, nullptr, false);
  EXPECT_EQ(call(wrong, "1/_native_batch_norm_legit_functional")["status"], "wrong");
  const Finished own = run_program(ASSAY_PROGRAM, {"diagnose", file("program.h5")});
  EXPECT_EQ(own.status, 0) << own.out;
}

}  // namespace
}  // namespace assay
