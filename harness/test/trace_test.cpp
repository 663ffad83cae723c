// A PyTorch program is recorded, and compared with an engine that has one fault after the other (cases/example).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/files/case_file.h"
#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kExample = std::string(ASSAY_FIXTURES) + "/../example/";

class Trace : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const Finished needs = run_program("/usr/bin/python3", {"-c", "import torch, h5py"});
    missing_ = needs.status == 0 ? "" : "needs python3-torch and python3-h5py: " + needs.err;
    if (!missing_.empty()) return;
    recorded_ = run_program(
        ASSAY_PROGRAM, {"record", kExample + "model.py", "-o", file("trace.h5"), "--", file("weights.npz")});
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    if (!missing_.empty()) GTEST_SKIP() << missing_;
    ASSERT_EQ(recorded_.status, 0) << recorded_.err;
  }

  static std::string file(const std::string& name) { return folder_->file(name); }
  static void run_engine(const std::vector<std::string>& faults) {
    std::vector<std::string> arguments{"ASSAY_KERNELS=" ASSAY_CPU_PLUGIN,
                                       "/usr/bin/python3",
                                       "-B",
                                       kExample + "engine.py",
                                       file("weights.npz"),
                                       file("dump.npz")};
    arguments.insert(arguments.end(), faults.begin(), faults.end());
    const Finished f = run_program("/usr/bin/env", arguments);
    ASSERT_EQ(f.status, 0) << f.err;
  }
  static Finished bisect(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"bisect", file("trace.h5"), file("dump.npz"), "--time", "1"});
    return run_program(ASSAY_PROGRAM, more);
  }
  static json bisected() { return json::parse(bisect({"--json", "-"}).out); }
  static json call(const json& b, const std::string& name) {
    for (const json& c : b["calls"])
      if (c["name"] == name) return c;
    return {};
  }

  static inline std::unique_ptr<TemporaryFolder> folder_;
  static inline std::string missing_;
  static inline Finished recorded_;
};

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

TEST_F(Trace, PyTorchsOwnResultsAreRight) {
  const Finished f = run_program(ASSAY_PROGRAM, {"diagnose", file("trace.h5")});
  EXPECT_EQ(f.status, 0) << f.out;
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

TEST_F(Trace, SaysWhatIsWrongWithItsFiles) {
  const Finished device = run_program(ASSAY_PROGRAM, {"record", __FILE__, "-o", "/dev/null"});
  EXPECT_EQ(device.status, 2);
  EXPECT_THAT(device.err, HasSubstr("-o /dev/null"));
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
