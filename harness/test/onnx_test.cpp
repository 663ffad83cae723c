// The tests of ONNX as fixtures: their files, and their operators as ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "files_sample.h"
#include "harness/onnx/map.h"
#include "harness/onnx/protobuf.h"
#include "harness/recorded/onnx_tests.h"
#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"

namespace assay::onnx {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// Fields of a message: of bytes, or of a number below 128.
std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + content;
}
std::string field(int number, int value) {
  return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string floats(std::vector<float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}
std::string f32_tensor(const std::vector<float>& values) {
  return field(1, static_cast<int>(values.size())) + field(2, 1) + field(9, floats(values));
}

TEST(Onnx, TensorsAreReadInEveryFormThatTheyAreWritten) {
  const RecordedTensor raw = read_tensor(f32_tensor({1, -2}));
  EXPECT_EQ(raw.dtype, Dtype::f32);
  EXPECT_EQ(raw.shape, Shape{2});
  EXPECT_EQ(raw.data, tensor<float>(Dtype::f32, {2}, {1, -2}).data);
  const RecordedTensor listed = read_tensor(field(1, 2) + field(2, 1) + field(4, floats({1, -2})));
  EXPECT_EQ(listed.data, raw.data);
  const RecordedTensor packed = read_tensor(field(1, std::string("\1\3")) + field(2, 7) + field(7, "\1\2\3"));
  EXPECT_EQ(packed.shape, (Shape{1, 3}));
  EXPECT_EQ(packed.data, tensor<std::int64_t>(Dtype::i64, {1, 3}, {1, 2, 3}).data);
  // 0x3c00 is 1 in f16, as the number 15360: two bytes of seven bits each, and one of one.
  const RecordedTensor half = read_tensor(field(1, 1) + field(2, 10) + field(5, std::string("\x80\x78", 2)));
  EXPECT_EQ(load(half.data.data(), Dtype::f16), 1);
}

TEST(Onnx, TensorsThatAreBrokenOrStrangeSaySo) {
  const auto message = [](const std::string& bytes) -> std::string {
    try {
      read_tensor(bytes);
    } catch (const ProtobufError& e) {
      return e.what();
    } catch (const Unsupported& e) {
      return std::string("unsupported: ") + e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(message(field(1, 3) + field(2, 1) + field(9, floats({1, 2}))),
              HasSubstr("needs 12 bytes, and there are 8"));
  const std::string whole = f32_tensor({1, 2});
  EXPECT_THAT(message(whole.substr(0, whole.size() - 1)), HasSubstr("truncated"));
  EXPECT_THAT(message(field(1, 0) + field(2, 8)), HasSubstr("unsupported: a tensor of string"));
}

Example example(const std::string& op_type, std::vector<RecordedTensor> inputs, RecordedTensor output) {
  Example e;
  e.node.op_type = op_type;
  e.opset = 16;
  for (RecordedTensor& t : inputs) {
    e.node.inputs.push_back("x");
    e.inputs.emplace_back(std::move(t));
  }
  e.node.outputs = {"y"};
  e.outputs = {std::move(output)};
  return e;
}
Attribute real(float f) {
  Attribute a;
  a.f = f;
  return a;
}
Attribute integer(std::int64_t i) {
  Attribute a;
  a.i = i;
  return a;
}
Attribute word(std::string s) {
  Attribute a;
  a.s = std::move(s);
  return a;
}

std::string why_not(const Example& e) {
  try {
    call_of(e);
  } catch (const Unmapped& reason) {
    return reason.what();
  }
  return "it is mapped";
}
Verdict verdict(const Example& e) {
  RecordedCall call = call_of(e);
  call.impl = "onnx";
  return judge_fixture(fixture_of(call, "here")).verdict;
}

const RecordedTensor kPair = tensor<float>(Dtype::f32, {1, 2}, {3, 4});

TEST(Onnx, AnOperatorIsOursWithItsResult) {
  const RecordedTensor x = tensor<float>(Dtype::f32, {2}, {-1, 2});
  EXPECT_EQ(verdict(example("Relu", {x}, tensor<float>(Dtype::f32, {2}, {0, 2}))), Verdict::pass);
  EXPECT_EQ(verdict(example("Relu", {x}, tensor<float>(Dtype::f32, {2}, {0, 3}))), Verdict::diverged);
  EXPECT_EQ(why_not(example("Cosh", {x}, x)), "of an operator that Assay has not");
}

TEST(Onnx, OperandsOfGemmAreTransposed) {
  Example e = example(
      "Gemm", {tensor<float>(Dtype::f32, {2, 1}, {1, 10}), tensor<float>(Dtype::f32, {2, 2}, {1, 2, 3, 4})},
      tensor<float>(Dtype::f32, {1, 2}, {21, 43}));
  e.node.attributes = {{"transA", integer(1)}, {"transB", integer(1)}};
  EXPECT_EQ(call_of(e).op, "mm");
  EXPECT_EQ(verdict(e), Verdict::pass);
  e.node.attributes["alpha"] = real(2);
  EXPECT_EQ(why_not(e), "Gemm with alpha and without C");
}

TEST(Onnx, ContractsAreThoseOfWhoComputed) {
  Example e =
      example("Exp", {tensor<float>(Dtype::f32, {1}, {0.5f})}, tensor<float>(Dtype::f32, {1}, {1.64872145f}));
  EXPECT_THAT(call_of(e).contract, HasSubstr("exp=3ulp"));
  EXPECT_EQ(verdict(e), Verdict::pass);
  e.by_numpy = false;
  EXPECT_THAT(call_of(e).contract, HasSubstr("exp=1ulp"));
  EXPECT_EQ(call_of(example("Relu", {kPair}, kPair)).contract, "");
}

TEST(Onnx, NumbersOutOfRangeAreNotMapped) {
  Example norm = example("LayerNormalization", {kPair, tensor<float>(Dtype::f32, {2}, {1, 1})}, kPair);
  for (const std::int64_t axis : {-3, 2, 1 << 30}) {
    norm.node.attributes["axis"] = integer(axis);
    EXPECT_EQ(why_not(norm), "LayerNormalization along an axis that its input has not") << axis;
  }
  EXPECT_EQ(why_not(example("CumSum", {kPair, tensor<float>(Dtype::f32, {1}, {NAN})}, kPair)),
            "CumSum with real numbers where integers belong");
  EXPECT_EQ(why_not(example("ReduceSum", {kPair, tensor<float>(Dtype::f32, {1}, {1e30f})}, kPair)),
            "ReduceSum with real numbers where integers belong");
  for (const float scale : {-1.0f, 1e30f, NAN, INFINITY})
    EXPECT_EQ(why_not(example("Upsample",
                              {tensor<float>(Dtype::f32, {1, 1, 1, 2}, {3, 4}),
                               tensor<float>(Dtype::f32, {4}, {1, 1, 1, scale})},
                              kPair)),
              "Upsample to a length that no tensor has")
        << scale;
}

TEST(Onnx, OtherMeaningsAreNotMapped) {
  EXPECT_THAT(why_not(example("HardSwish", {kPair}, kPair)), HasSubstr("where ATen divides by 6"));
  Example softmax = example("Softmax", {tensor<float>(Dtype::f32, {1, 1, 2}, {0, 0})},
                            tensor<float>(Dtype::f32, {1, 1, 2}, {0.5, 0.5}));
  EXPECT_EQ(verdict(softmax), Verdict::pass);
  softmax.opset = 12;
  EXPECT_EQ(why_not(softmax), "Softmax of opset 12 over several dimensions");
  const auto resized = [](float scale, std::int64_t size) {
    Example e = example(
        "Resize",
        {tensor<float>(Dtype::f32, {1, 1, 1, 4}, {1, 2, 3, 4}), RecordedTensor{Dtype::f32, {0}, {}},
         tensor<float>(Dtype::f32, {4}, {1, 1, 1, scale})},
        tensor<float>(Dtype::f32, {1, 1, 1, size}, std::vector<float>(static_cast<std::size_t>(size))));
    e.node.attributes = {{"mode", word("linear")}, {"coordinate_transformation_mode", word("align_corners")}};
    return e;
  };
  EXPECT_EQ(why_not(resized(0.5, 2)), "it is mapped");
  EXPECT_EQ(why_not(resized(0.6f, 2)), "Resize by align_corners to a length that is no integer");
}

class OnnxFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_.path() / "test_relu/test_data_set_0");
    const std::string node = field(1, "x") + field(2, "y") + field(4, "Relu");
    const std::string graph = field(1, node) + field(11, field(1, "x")) + field(12, field(1, "y"));
    write("model.onnx", field(7, graph) + field(8, field(2, 16)));
    write("test_data_set_0/input_0.pb", f32_tensor({-1, 2}));
    write("test_data_set_0/output_0.pb", f32_tensor({0, 2}));
  }
  void write(const std::string& file, const std::string& bytes) const {
    write_file(folder_.file("test_relu/" + file), bytes);
  }
  int verify() const {
    return run_program(ASSAY_PROGRAM, {"verify", "--fixtures", folder_.path().string(), "--impl", "cpu.*",
                                       "--out", folder_.file("out")})
        .status;
  }

  TemporaryFolder folder_;
};

TEST_F(OnnxFolder, IsVerified) {
  EXPECT_EQ(verify(), 0);
  write("test_data_set_0/output_0.pb", f32_tensor({0, 3}));
  EXPECT_EQ(verify(), 1);
}

TEST_F(OnnxFolder, WithADamagedFileIsAnErrorThatNamesIt) {
  write("test_data_set_0/input_0.pb", f32_tensor({-1, 2}).substr(0, 5));
  try {
    read_fixtures(folder_.path().string());
    FAIL() << "nothing was thrown";
  } catch (const FileError& e) {
    EXPECT_THAT(e.what(), HasSubstr("test_relu/test_data_set_0/input_0.pb as ONNX: it is truncated"));
  }
}

// What stands in docs/recorded.md.
TEST(OnnxPackage, ResultsOfItsTestsAreRight) {
  if (!fs::exists(kTests)) GTEST_SKIP() << "libonnx-testdata is not installed";
  const Fixtures all = read_fixtures("onnx");
  EXPECT_GE(all.found, 1000u);
  EXPECT_GE(all.fixtures.size(), 250u);
  std::uint64_t left_out = 0;
  for (const auto& [reason, count] : all.left_out) left_out += count;
  EXPECT_EQ(all.fixtures.size() + left_out, all.found);
  for (const Fixture& f : all.fixtures) {
    const Judgement judgement = judge_fixture(f);
    EXPECT_EQ(judgement.verdict, Verdict::pass) << f.origin << ": " << judgement.detail;
  }
}

}  // namespace
}  // namespace assay::onnx
