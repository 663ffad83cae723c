// `assay bisect` on the dump of an engine that names its tensors as it likes, and says what its nodes are (assay.engine/1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/trace/engine_nodes.h"
#include "harness/trace/node_kinds.h"
#include "recorded_example.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two convolutions with the same kind of module, a residual, and a linear layer whose weight the engine keeps the other way round.
constexpr const char* kProgram = R"(
import json
torch.manual_seed(0)
F = torch.nn.functional
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.act = torch.nn.Conv2d(3, 4, 3), torch.nn.LeakyReLU(0.1)
        self.again, self.fc = torch.nn.Conv2d(4, 4, 3, padding=1), torch.nn.Linear(4 * 6 * 6, 5)
    def forward(self, x):
        x = self.act(self.conv(x))
        x = self.again(x) + x
        return self.fc(x.flatten(1))
net, x = Net().eval(), torch.randn(2, 3, 8, 8)
with torch.no_grad():
    if recording:
        net(x)
    else:
        w0, b0, w1, b1, wt, b2 = (p.clone() for p in net.parameters())
        wt = wt.t().contiguous()
        v0, slope, order = x.clone(), 0.1, (0, 1, 2, 3)
        # FAULT
        v1 = F.conv2d(v0, w0, b0); v2 = F.leaky_relu(v1, slope)
        v3 = F.conv2d(v2, w1, b1, padding=1); added = v2
        # RESIDUAL
        v4 = v3 + added; v5 = v4.permute(order).flatten(1); v6 = v5 @ wt; v7 = v6 + b2
        dump(**{n: globals()[n] for n in "v0 v1 v2 v3 v4 v5 v6 v7 w0 b0 w1 b1 wt b2".split()})
        node = lambda op, given, out: {"name": "n" + out, "op": op, "inputs": given.split(), "outputs": [out]}
        nodes = [node("Conv", "v0 w0 b0", "v1"), node("LeakyRelu", "v1", "v2"), node("Conv", "v2 w1 b1", "v3"),
                 node("Add", "v3 v2" if added is v2 else "v3 v1", "v4"), node("Reshape", "v4", "v5"), node("MatMul", "v5 wt", "v6"),
                 node("Add", "v6 b2", "v7")]
        names = lambda all: [{"tensor": n} for n in all.split()]
        json.dump({"format": "assay.engine/1", "engine": "own 1", "settings": {"threads": 2}, "inputs": names("v0"), "outputs": names("v7"),
                   "parameters": names("w0 b0 w1 b1 wt b2"), "nodes": nodes}, open(sys.argv[1].replace(".npz", ".nodes.json"), "w"))
)";

class BisectNodes : public RecordedExample {
 protected:
  static json with_fault(const std::string& lines, const std::string& residual = "") {
    return json_of(with(with(kProgram, "# FAULT", lines), "# RESIDUAL", residual));
  }
  static std::string status(const json& b, const std::string& name) { return call(b, name)["status"]; }
};

TEST_F(BisectNodes, NamesAreFoundByTheGraphAlone) {
  const Finished f = bisect_program(kProgram);
  EXPECT_EQ(f.status, 0) << f.out << f.err;
  EXPECT_THAT(f.out, HasSubstr("Engine: own 1, threads = 2."));
  EXPECT_THAT(f.out, HasSubstr("Judged: 5 of 5 calls"));
  EXPECT_THAT(f.out, HasSubstr("No call is at fault, of 5 that the dump has."));
  const json b = with_fault("");
  EXPECT_EQ(call(b, "fc/addmm")["dumped_as"], "v7");
  EXPECT_EQ(call(b, "again/convolution")["dumped_as"], "v3");
  EXPECT_THAT(b["unused"], testing::Contains("v6"));
}

TEST_F(BisectNodes, AWrongLayerIsFoundAmongItsNeighbours) {
  const json b = with_fault("slope = 0.3");
  EXPECT_EQ(b["first"], "act/leaky_relu") << b.dump(1).substr(0, 3000);
  EXPECT_EQ(status(b, "act/leaky_relu"), "wrong");
  EXPECT_EQ(status(b, "again/convolution"), "inherited");
  EXPECT_EQ(status(b, "fc/addmm"), "inherited");
}

TEST_F(BisectNodes, AnotherInputIsSaidBeforeAnyLayerIsBlamed) {
  const json b = with_fault("v0 = v0.flip(1)");
  EXPECT_EQ(b["first"], "conv/convolution");
  EXPECT_EQ(status(b, "conv/convolution"), "changed");
  EXPECT_THAT(call(b, "conv/convolution").dump(), HasSubstr("what the program gave it"));
  EXPECT_EQ(status(b, "act/leaky_relu"), "inherited");
}

TEST_F(BisectNodes, AWeightThatIsKeptTheOtherWayRoundIsCompared) {
  const json b = with_fault("wt[3] = wt[2]");
  EXPECT_EQ(b["first"], "fc/addmm");
  EXPECT_EQ(status(b, "fc/addmm"), "parameters") << call(b, "fc/addmm").dump(1).substr(0, 2000);
}

TEST_F(BisectNodes, AnotherResultAndAnotherOrderAreChangesInBetween) {
  const json residual = with_fault("", "added = v1");
  EXPECT_EQ(residual["first"], "add.Tensor");
  EXPECT_EQ(status(residual, "add.Tensor"), "changed");
  const json flat = with_fault("order = (0, 2, 3, 1)");
  EXPECT_EQ(flat["first"], "fc/addmm");
  EXPECT_EQ(status(flat, "fc/addmm"), "changed");
  EXPECT_THAT(call(flat, "fc/addmm").dump(), HasSubstr("order_0231"));
}

TEST_F(BisectNodes, TheFileOfNodesMayBeNamed) {
  ASSERT_EQ(bisect_program(kProgram).status, 0);
  std::filesystem::rename(file("program.nodes.json"), file("named.json"));
  const auto with_nodes = [](const std::string& path) {
    return run_program(ASSAY_PROGRAM, {"bisect", file("program.h5"), file("program.npz"), "--nodes", path});
  };
  EXPECT_THAT(with_nodes(file("named.json")).out, HasSubstr("Engine: own 1"));
  const Finished absent = with_nodes(file("absent.json"));
  EXPECT_EQ(absent.status, 2) << absent.out;
  EXPECT_THAT(absent.err, HasSubstr("absent.json"));
  write_file(file("broken.json"), R"({"format": "assay.engine/1", "nodes": [{"op": 3}]})");
  const Finished broken = with_nodes(file("broken.json"));
  EXPECT_EQ(broken.status, 2) << broken.out;
  EXPECT_THAT(broken.err, HasSubstr("broken.json: nodes[0]: \"op\" is no text"));
}

TEST_F(BisectNodes, LittleThatIsJudgedIsNoAcquittal) {
  const std::string little = with(kProgram, "\"v0 v1 v2 v3 v4 v5 v6 v7 w0 b0 w1 b1 wt b2\"", "\"v0 v1 w0 b0\"");
  const Finished f = bisect_program(little);
  EXPECT_EQ(f.status, 1) << f.out;
  EXPECT_THAT(f.out, HasSubstr("less than half of the program was judged"));
  const Finished nothing = bisect_program(with(kProgram, "torch.randn(2, 3, 8, 8)", "torch.randn(0, 3, 8, 8)"));
  EXPECT_EQ(nothing.status, 1) << nothing.out;
  EXPECT_THAT(nothing.out, HasSubstr("0 of 0 elements"));
}

TEST(EngineNodes, SaysWhatIsWrongAndWhere) {
  const auto complaint = [](const char* text) {
    try {
      parse_engine_nodes(text);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(complaint("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(complaint("{}"), HasSubstr("its format is \"\""));
  EXPECT_THAT(complaint(R"({"format": "assay.engine/1", "inputs": [{"name": "x"}]})"),
              HasSubstr("inputs[0]: \"tensor\" is missing"));
  EXPECT_THAT(complaint(R"({"format": "assay.engine/1", "nodes": [{"op": "Conv", "inputs": ["x", 3]}]})"),
              HasSubstr("nodes[0].inputs[1]: is no text"));
  EXPECT_THAT(complaint(R"({"format": "assay.engine/1", "nodes": [{"op": "Conv", "inputs": ["x", ""]}]})"), IsEmpty());
}

TEST(NodeKinds, OfOnnxOpenVinoAndNcnn) {
  EXPECT_EQ(fit_of("convolution", "GroupConvolution"), Fit::yes);
  EXPECT_EQ(fit_of("convolution", "ConvolutionDepthWise"), Fit::yes);
  EXPECT_EQ(fit_of("softmax.int", "SoftMax"), Fit::yes);
  EXPECT_EQ(fit_of("addmm", "MatMul"), Fit::part);
  EXPECT_EQ(fit_of("relu", "Conv"), Fit::no);
  EXPECT_EQ(fit_of("relu", "com.example.Own"), Fit::unknown);
  EXPECT_EQ(input_of("addmm", "self", "Gemm"), 2);
  EXPECT_EQ(input_of("addmm", "self", "MatMul"), -1);
  EXPECT_TRUE(hands_on("Transpose"));
  EXPECT_TRUE(rounds("DequantizeLinear"));
  EXPECT_FALSE(rounds("Transpose"));
}

}  // namespace
}  // namespace assay
