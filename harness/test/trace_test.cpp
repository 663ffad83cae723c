// A PyTorch program is recorded, and compared with an engine that has one fault after the other (cases/example).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
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

class Trace : public RecordedExample {};

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
    torch.sigmoid(y / 4)
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

// 40 results of 4 MiB, of which the program needs one at a time.
TEST_F(Trace, KeepsNoResultAliveThatTheProgramDrops) {
  std::ofstream(file("drops.py"))
      << "import resource, torch\n"
         "most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
         "x = torch.relu(torch.ones(1 << 20))\n"
         "before = most()\n"
         "for _ in range(40): x = torch.relu(x)\n"
         "raise SystemExit(min(most() - before, 255))\n";
  const Finished f = run_program(ASSAY_PROGRAM, {"record", file("drops.py"), "-o", file("drops.h5")});
  EXPECT_EQ(read_case_file(file("drops.h5")).calls.size(), 41u) << f.err;
  const auto said = f.err.find("ended with ");
  const int mebibytes = said == std::string::npos ? 0 : std::stoi(f.err.substr(said + 11));
  EXPECT_LT(mebibytes, 60) << f.err;
}

// A program that changes its folder, and goes on in two processes, of which the trace is the first one's.
TEST_F(Trace, IsOfTheProgramsFirstProcess) {
  std::ofstream(file("forks.py")) << "import os, torch\n"
                                     "os.chdir('/')\n"
                                     "torch.relu(torch.ones(3))\n"
                                     "child = os.fork()\n"
                                     "torch.relu(torch.ones(4))\n"
                                     "if child: os.waitpid(child, 0); raise SystemExit('that was all')\n";
  const Finished f = run_program(ASSAY_PROGRAM, {"record", file("forks.py"), "-o", file("forks.h5")});
  EXPECT_EQ(f.status, 2);
  EXPECT_THAT(f.err, HasSubstr("that was all"));
  EXPECT_EQ(read_case_file(file("forks.h5")).calls.size(), 2u) << f.err;
}

// What a program may do beside calling operators, and what that does to its trace.
TEST_F(Trace, TakesProgramsAsTheyAre) {
  const auto record = [](const std::string& text) {
    std::ofstream(file("program.py")) << "import os, signal, sys, threading, torch\n" << text;
    fs::remove(file("program.h5"));
    const Finished f = run_program(ASSAY_PROGRAM, {"record", file("program.py"), "-o", file("program.h5")});
    EXPECT_FALSE(fs::exists(file("program.h5.part"))) << text;
    return f;
  };
  const auto calls = [] { return read_case_file(file("program.h5")).calls.size(); };

  const Finished meta = record(
      "torch.relu(torch.ones(3))\n"
      "torch.relu(torch.ones(3, device='meta'))\n"
      "torch.nn.Linear(2, 3, device='meta')(torch.ones(4, 2, device='meta'))\n");
  EXPECT_EQ(meta.status, 0) << meta.err;
  EXPECT_THAT(
      meta.err,
      HasSubstr("2 not recorded: tensors without numbers of their own, such as those on the device meta."));
  EXPECT_EQ(calls(), 1u);

  const Finished threads = record(
      "from concurrent.futures import ThreadPoolExecutor\n"
      "late = threading.Thread(target=lambda: (late_start.wait(), torch.relu(torch.ones(2))))\n"
      "late_start = threading.Event()\n"
      "late.start()\n"
      "model = torch.nn.PReLU()\n"
      "with ThreadPoolExecutor(2) as pool: list(pool.map(lambda x: model(x), [torch.ones(n) for n in range(1, 9)]))\n"
      "threading.Timer(0.2, late_start.set).start()\n");
  EXPECT_EQ(threads.status, 0) << threads.err;
  EXPECT_EQ(calls(), 9u);
  EXPECT_THAT(read_case_file(file("program.h5")).calls[0].notes.at("source"), HasSubstr("program.py:7"));

  const struct {
    const char* text;
    int status;
    bool kept;
    const char* says;
  } kEnds[] = {
      {"os._exit(0)", 0, true, "1 call"},
      {"os._exit(3)", 2, true, "ended with 3; the trace has what it did before"},
      {"os.abort()", 2, false, "ended with 134 (signal 6) and took the trace with it"},
      {"os.kill(os.getpid(), signal.SIGINT)", 130, true, "was interrupted; the trace has what it did before"},
      {"os.kill(os.getpid(), signal.SIGTERM)", 130, true,
       "was interrupted; the trace has what it did before"},
      {"os.kill(os.getpid(), signal.SIGHUP)", 130, true, "was interrupted; the trace has what it did before"},
      {"signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); os.kill(os.getpid(), signal.SIGTERM)", 0, true,
       "1 call"},
      {"signal.signal(signal.SIGTERM, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGTERM)", 2, false,
       "took the trace with it"},
      {"signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)", 130, false,
       "took the trace with it"},
      {"sys.exit(0)", 0, true, "1 call"},
  };
  for (const auto& [text, status, kept, says] : kEnds) {
    const Finished f = record("torch.relu(torch.ones(3))\n" + std::string(text) + "\n");
    EXPECT_EQ(f.status, status) << text << f.err;
    EXPECT_EQ(fs::exists(file("program.h5")), kept) << text;
    EXPECT_THAT(f.err, HasSubstr(says)) << text;
  }

  const Finished nothing = record("");
  EXPECT_EQ(nothing.status, 0);
  EXPECT_THAT(nothing.err, HasSubstr("Nothing was recorded: the program called no operator that Assay has"));
  EXPECT_EQ(calls(), 0u);
  run_engine({});
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"diagnose", file("program.h5")},
        std::vector<std::string>{"replay", file("program.h5")},
        std::vector<std::string>{"bisect", file("program.h5"), file("dump.npz")}}) {
    const Finished f = run_program(ASSAY_PROGRAM, command);
    EXPECT_EQ(f.status, 2) << command[0];
    EXPECT_THAT(f.err, HasSubstr("has no calls")) << command[0];
  }
}

// A tensor that PyTorch hands to a mode cannot become one of another class.
TEST_F(Trace, TensorsBecomeThoseOfASubclass) {
  write_file(file("classes.py"),
             "import torch\n"
             "class T(torch.Tensor): pass\n"
             "x = torch.randn(3)\n"
             "made = [x.as_subclass(T), T(x), T([1.0, 2.0]), torch.Tensor(x), torch.Tensor(T(x))]\n"
             "assert [type(m).__name__ for m in made] == ['T', 'T', 'T', 'Tensor', 'Tensor']\n"
             "assert type(torch.relu(made[0])) is T\n");
  const Finished f = run_program(ASSAY_PROGRAM, {"record", file("classes.py"), "-o", file("classes.h5")});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_EQ(read_case_file(file("classes.h5")).calls.size(), 1u);
}

// Where the disk is full, or files may be no larger: no trace, and no fault of the program's.
TEST_F(Trace, AFileThatCannotBeWrittenIsSaidAndNoTrace) {
  for (const char* loop :
       {"range(40): torch.relu(torch.randn(100000))", "range(4): torch.relu(torch.randn(1 << 20))",
        "range(9000): torch.relu(torch.randn(100))"}) {
    write_file(file("large.py"),
               "import torch\nprint('begun')\nfor _ in " + std::string(loop) + "\nprint('ended')\n");
    const Finished f = run_program("/bin/bash", {"-c", "ulimit -f 2000; exec \"$0\" record \"$1\" -o \"$2\"",
                                                 ASSAY_PROGRAM, file("large.py"), file("large.h5")});
    EXPECT_EQ(f.status, 2) << loop;
    EXPECT_EQ(f.out, "begun\nended\n") << f.err;
    EXPECT_EQ(f.err, "assay: cannot write " + file("large.h5") + ": File too large\n");
    EXPECT_FALSE(fs::exists(file("large.h5")) || fs::exists(file("large.h5.part"))) << loop;
  }
}

// A signal to `assay record` alone, as a script or a scheduler sends it, reaches the program.
TEST_F(Trace, ASignalToItAloneEndsTheProgram) {
  write_file(
      file("waits.py"),
      "import sys, time, torch\ntorch.relu(torch.ones(3))\nopen(sys.argv[1], 'w').close()\ntime.sleep(60)\n");
  const std::string program =
      "import os, subprocess, sys, time\n"
      "p = subprocess.Popen([sys.argv[1], 'record', sys.argv[2], '-o', sys.argv[3], '--', sys.argv[4]])\n"
      "while not os.path.exists(sys.argv[4]) and p.poll() is None: time.sleep(0.02)\n"
      "begin = time.monotonic()\n"
      "p.send_signal(int(sys.argv[5]))\n"
      "code = p.wait()\n"
      "sys.exit(code if time.monotonic() - begin < 30 else 99)\n";
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    fs::remove(file("begun"));
    fs::remove(file("waits.h5"));
    const Finished f =
        run_program("/usr/bin/python3", {"-c", program, ASSAY_PROGRAM, file("waits.py"), file("waits.h5"),
                                         file("begun"), std::to_string(number)});
    EXPECT_EQ(f.status, 130) << number << f.err;
    ASSERT_TRUE(fs::exists(file("waits.h5"))) << number << f.err;
    EXPECT_EQ(read_case_file(file("waits.h5")).calls.size(), 1u);
    EXPECT_FALSE(fs::exists(file("waits.h5.part")));
  }
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
