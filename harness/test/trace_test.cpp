// A PyTorch program is recorded, and compared with an engine that has one fault after the other (cases/example).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/files/case_file.h"
#include "recorded_example.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST_F(Trace, HasCallsWithWhereTheyAndTheirInputsComeFrom) {
  const CaseFile trace = read_case_file(file("trace.h5"));
  const auto act = std::ranges::find(trace.calls, "act/prelu", &RecordedCall::name);
  ASSERT_NE(act, trace.calls.end());
  EXPECT_EQ(act->op, "prelu");
  EXPECT_EQ(act->notes.at("parameter.weight"), "act.weight");
  EXPECT_THAT(act->notes.at("from.self"), HasSubstr(":out0"));
  EXPECT_THAT(act->notes.at("source"), HasSubstr("model.py:"));
  const auto head = std::ranges::find(trace.calls, "head/addmm", &RecordedCall::name);
  ASSERT_NE(head, trace.calls.end());
  EXPECT_THAT(head->case_text, HasSubstr("mat2=f32[128x10]@strides(1,128)"));
  const auto softmax = std::ranges::find(trace.calls, "softmax.int", &RecordedCall::op);
  ASSERT_NE(softmax, trace.calls.end());
  EXPECT_EQ(softmax->notes.at("called"), "_softmax");
}

TEST_F(Trace, SaysNothingOfItsOwn) {
  EXPECT_EQ(recorded_.err.find("Exception"), std::string::npos) << recorded_.err;
}

// PyTorch 2 calls _prelu_kernel with a weight of [1, C, 1, 1].
TEST_F(Trace, KnowsThePReluOfPyTorch2) {
  std::ofstream(file("one.json"))
      << R"json([{"op": "prelu", "arguments": ["self", "weight"], "results": ["out"],
      "aliases": "_prelu_kernel(self=self, weight=weight)", "contract": ""}])json";
  const std::string program =
      "import sys; sys.path.insert(0, sys.argv[1]); import recorded_operators, torch\n"
      "entry, taken = recorded_operators.Operators(sys.argv[2]).find('_prelu_kernel', {'self': torch.zeros(2, 3, 4, 5), "
      "'weight': torch.tensor([1., 2., 3.]).view(1, 3, 1, 1)})\n"
      "print(entry['op'], taken['weight'].tolist(), list(taken['self'].shape))";
  const Finished f = run_program("/usr/bin/python3",
                                 {"-B", "-c", program, kExample + "../../harness/python", file("one.json")});
  EXPECT_EQ(f.out, "prelu [1.0, 2.0, 3.0] [2, 3, 4, 5]\n") << f.err;
}

// As an h5py has it whose HDF5 is newer than the one that Assay reads with: what is its latest format is no matter.
TEST_F(Trace, IsOfTheNewestFormatThatAssayReads) {
  const std::string program =
      "import sys; sys.path.insert(0, sys.argv[1]); import h5py; h5py.h5f.LIBVER_LATEST = 99\n"
      "import case_file, torch\n"
      "f = case_file.create_file(sys.argv[2]); case_file.write_tensor(f, 'x', torch.ones(3)); f.close()\n"
      "print(case_file.newest_format() == h5py.h5f.LIBVER_V110)";
  const Finished f = run_program("/usr/bin/python3",
                                 {"-B", "-c", program, kExample + "../../harness/python", file("new.h5")});
  EXPECT_EQ(f.out, "True\n") << f.err;
  const Finished same = run_program(ASSAY_PROGRAM, {"diff", file("new.h5"), file("new.h5")});
  EXPECT_EQ(same.status, 0) << same.out << same.err;
}

// A square weight lies in a dump as the module has it; of more than two dimensions, a module's result has others than its
// operator's; and what was written into a result has no part in a fault.
TEST_F(Trace, ARightEngineIsNotBlamed) {
  std::ofstream(file("right.py")) << R"(
import sys, numpy, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU())
x = torch.randn(2, 3, 16)
with torch.no_grad():
    made = {'0': net[0](x), '1': net(x)}
    y = torch.relu(x)
    y[:, 1] = 7
    made['sigmoid'] = torch.sigmoid(y / 4)
made |= {n: p.detach() for n, p in net.named_parameters()}
numpy.savez(sys.argv[1], **{n: t.numpy() * numpy.float32(1 + 1e-7) if '.' not in n else t.numpy() for n, t in made.items()})
)";
  ASSERT_EQ(run_program(ASSAY_PROGRAM,
                        {"record", file("right.py"), "-o", file("right.h5"), "--", file("right.npz")})
                .status,
            0);
  const Finished f = run_program(ASSAY_PROGRAM, {"bisect", file("right.h5"), file("right.npz")});
  EXPECT_EQ(f.status, 0) << f.out << f.err;
  EXPECT_THAT(f.out, HasSubstr("No call is at fault"));
  const CaseFile trace = read_case_file(file("right.h5"));
  const auto div = std::ranges::find(trace.calls, "div.Tensor", &RecordedCall::op);
  ASSERT_NE(div, trace.calls.end());
  EXPECT_THAT(div->notes.at("from.self"), HasSubstr(":out"));
  EXPECT_THAT(div->case_text, HasSubstr("other=f32[]"));
  // What is written by a call that is not recorded is no result that is known.
  ASSERT_EQ(run_program(ASSAY_PROGRAM, {"record", file("right.py"), "-o", file("some.h5"), "--ops",
                                        "relu,div", "--", file("right.npz")})
                .status,
            0);
  const CaseFile some = read_case_file(file("some.h5"));
  const auto after = std::ranges::find(some.calls, "div.Tensor", &RecordedCall::op);
  ASSERT_NE(after, some.calls.end());
  EXPECT_FALSE(after->notes.contains("from.self"));
}

TEST_F(Trace, ATraceIsNoDump) {
  const Finished f = run_program(ASSAY_PROGRAM, {"bisect", file("trace.h5"), file("trace.h5")});
  EXPECT_EQ(f.status, 2) << f.out;
  EXPECT_THAT(f.err, HasSubstr("is a trace itself"));
}

TEST_F(Trace, TheProgramIsNotOverwritten) {
  std::ofstream(file("own.py")) << "print(1)\n";
  const Finished f = run_program(ASSAY_PROGRAM, {"record", file("own.py"), "-o", file("own.py")});
  EXPECT_EQ(f.status, 2);
  EXPECT_THAT(f.err, HasSubstr("is the program itself"));
}

TEST_F(Trace, PyTorchsOwnResultsAreRight) {
  const Finished f = run_program(ASSAY_PROGRAM, {"diagnose", file("trace.h5")});
  EXPECT_EQ(f.status, 0) << f.out;
  const auto calls = read_case_file(file("trace.h5")).calls.size();
  EXPECT_THAT(f.out, HasSubstr("\nOf " + std::to_string(calls) + " calls "));
  EXPECT_THAT(f.out, HasSubstr(" right, 0 at fault"));
}

TEST_F(Trace, AnEngineWithoutAFaultHasNone) {
  run_engine({});
  const Finished f = bisect();
  EXPECT_EQ(f.status, 0) << f.out;
  EXPECT_THAT(f.out, HasSubstr("No call is at fault, of 8 that the dump has."));
}

TEST_F(Trace, EachFaultIsFoundWhereItIs) {
  const struct {
    const char *fault, *call, *status, *says;
  } kFaults[] = {
      {"slope_axis", "act/prelu", "wrong", "formula.slope_of_the_last_dimension"},
      {"slope_order", "act/prelu", "wrong", "weight.dimension_0_reversed"},
      {"slope_maximum", "act/prelu", "wrong", "formula.larger_product"},
      {"nhwc", "norm/native_layer_norm", "changed", "order_0231"},
      {"weights_bf16", "conv/convolution", "parameters", "as_bf16"},
      {"overwritten", "norm/native_layer_norm", "changed", "below 40"},
      {"unbiased", "norm/native_layer_norm", "wrong", "formula.unbiased_variance"},
      {"gelu_tanh", "gelu", "wrong", "approximate.always_tanh"},
      {"padding", "conv/convolution", "wrong", "padding."},
      {"slopes_packed", "act/prelu", "packing", "as_bf16"},
      {"slopes_overwritten", "act/prelu", "changed", "elements 0 to 4 are those of bn.bias from element 0"},
  };
  for (const auto& [fault, name, status, says] : kFaults) {
    run_engine({fault});
    const json b = bisected();
    EXPECT_EQ(b["first"], name) << fault;
    EXPECT_EQ(call(b, name)["status"], status) << fault;
    EXPECT_THAT(call(b, name).dump(), HasSubstr(says)) << fault;
    for (const json& c : b["calls"]) {
      const std::string status_of_other = c["status"];
      const bool fault_free =
          status_of_other != "wrong" && status_of_other != "parameters" && status_of_other != "changed";
      EXPECT_TRUE(c["name"] == name || fault_free) << fault << " " << c["name"];
    }
  }
}

TEST_F(Trace, StackedFaultsAreAllFound) {
  run_engine({"slope_order", "unbiased", "gelu_tanh"});
  const json b = bisected();
  EXPECT_EQ(b["first"], "act/prelu");
  for (const char* name : {"act/prelu", "norm/native_layer_norm", "gelu"})
    EXPECT_EQ(call(b, name)["status"], "wrong") << name;
  EXPECT_EQ(call(b, "head/addmm")["status"], "inherited");
}

// A tensor of another shape is a finding, and says whether its numbers are the right ones elsewhere.
TEST_F(Trace, AnotherShapeIsAFinding) {
  const struct {
    const char *edit, *call, *status, *says;
  } kShapes[] = {
      {"d['act'] = d['act'].transpose(1, 2, 3, 0)", "act/prelu", "wrong",
       "out: its shape is [8x8x8x4] instead of [4x8x8x8]; rearranged: its dimensions in the order (1, 2, 3, 0)"},
      {"d['act'] = d['act'].reshape(32, 8, 8)", "act/prelu", "wrong",
       "rearranged: the same numbers in the same order, as shape [32x8x8]"},
      {"d['act'] = numpy.sort(d['act'].reshape(-1))", "act/prelu", "wrong",
       "no permutation or reshape that is known gives its numbers"},
      {"d['act'] = d['act'][:, :5]", "act/prelu", "wrong", "its shape is [4x5x8x8] instead of [4x8x8x8]"},
      {"d['act.weight'] = d['act.weight'][:5]", "act/prelu", "parameters",
       "act.weight of the dump: its shape is [5] instead of [8]"},
      {"d['conv:input'] = numpy.zeros((2, 3, 5, 5), 'f')", "conv/convolution", "changed",
       "conv:input of the dump: its shape is [2x3x5x5] instead of [4x3x8x8]"},
  };
  for (const auto& [edit, name, status, says] : kShapes) {
    edit_dump(edit);
    const Finished f = bisect({"--json", "-"});
    EXPECT_EQ(f.status, 1) << edit;
    const json b = json::parse(f.out);
    EXPECT_EQ(b["first"], name) << edit;
    EXPECT_EQ(call(b, name)["status"], status) << edit;
    EXPECT_THAT(call(b, name)["says"].dump(), HasSubstr(says)) << edit;
  }
  edit_dump("d = {'act': numpy.full(d['act'].shape, 0.1)}");
  const Finished f = bisect();
  EXPECT_EQ(f.status, 2) << f.out;
  EXPECT_THAT(f.err, HasSubstr("nothing was compared: act/prelu: act of the dump is f64"));
}

TEST_F(Trace, SaysWhatIsWrongWithItsFiles) {
  std::ofstream(file("empty.py")) << "\n";
  const Finished device = run_program(ASSAY_PROGRAM, {"record", file("empty.py"), "-o", "/dev/null"});
  EXPECT_EQ(device.status, 2);
  EXPECT_THAT(device.err, HasSubstr("-o /dev/null"));
  const Finished output = run_program(ASSAY_PROGRAM, {"record", file("empty.py"), "-o", "-"});
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.err, HasSubstr("-o -: a trace cannot be written to standard output"));
  std::ofstream(file("calls.py")) << "import torch\ntorch.relu(torch.ones(3))\n";
  const Finished others =
      run_program(ASSAY_PROGRAM, {"record", file("calls.py"), "-o", file("calls.h5"), "--ops", "nosuch*"});
  EXPECT_EQ(others.status, 0);
  EXPECT_THAT(others.err, HasSubstr("Nothing was recorded: no call is of the operators of --ops (nosuch*)"));
  const Finished misspelt =
      run_program(ASSAY_PROGRAM, {"record", file("calls.py"), "-o", file("calls.h5"), "--ops", "rellu"});
  EXPECT_EQ(misspelt.status, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("--ops rellu: there is no operator \"rellu\"; did you mean \"relu\"?"));
  for (const char* op : {"relu", "aten::relu", "aten::r*"}) {
    const Finished f =
        run_program(ASSAY_PROGRAM, {"record", file("calls.py"), "-o", file("calls.h5"), "--ops", op});
    EXPECT_EQ(f.status, 0) << f.err;
    EXPECT_THAT(f.err, HasSubstr("calls.h5: 1 call")) << op;
  }
  run_engine({});
  std::ofstream(file("map.txt")) << "act act\nnothing conv\n";
  const Finished unknown = bisect({"--map", file("map.txt")});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("\"nothing\" is no call"));
  EXPECT_EQ(run_program(ASSAY_PROGRAM, {"bisect", file("dump.npz"), file("dump.npz")}).status, 2);
  const std::string foreign =
      "raw:u8[" + std::to_string(fs::file_size(file("weights.npz"))) + "]@" + file("weights.npz");
  const Finished nothing = run_program(ASSAY_PROGRAM, {"bisect", file("trace.h5"), foreign});
  EXPECT_EQ(nothing.status, 2) << "nothing compared is no success";
  EXPECT_THAT(nothing.err, HasSubstr("nothing was compared"));
  EXPECT_EQ(run_program(ASSAY_PROGRAM, {"bisect", file("trace.h5"), file("none.npz")}).status, 2);
  const Finished none = run_program(ASSAY_PROGRAM, {"record", file("none.py")});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("none.py is no file"));
  std::ofstream(file("fails.py")) << "import torch\ntorch.relu(torch.ones(3))\nraise SystemExit(7)\n";
  const Finished fails = run_program(ASSAY_PROGRAM, {"record", file("fails.py"), "-o", file("fails.h5")});
  EXPECT_EQ(fails.status, 2);
  EXPECT_THAT(fails.err, HasSubstr("ended with 7"));
  EXPECT_EQ(read_case_file(file("fails.h5")).calls.size(), 1u);
}

}  // namespace
}  // namespace assay
