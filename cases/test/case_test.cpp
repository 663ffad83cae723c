#include "vocabulary/case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ops/binary.h"
#include "ops/mm.h"
#include "ops/prelu.h"
#include "ops/softmax.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The grammar's own example: every kind of argument.
constexpr Operator convolution{
    .schema =
        parse_schema("convolution(Tensor input, Tensor weight, Tensor? bias, int[2] stride=1, int groups=1, "
                     "bool transposed=False, str mode='none', float eps=1e-05, ScalarType? dtype=None, "
                     "MemoryFormat? memory_format=None) -> Tensor"),
    .shapes = "input=[N,C] weight=[C] -> [N]"};

constexpr Operator masked{.schema = parse_schema("masked(Tensor mask, Tensor self) -> Tensor"),
                          .shapes = "mask=[*] self=[*] -> [*]",
                          .domains = "mask: boolean"};

class CaseText : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const Operator* op :
         {&ops::add_tensor, &ops::mm, &ops::prelu, &ops::softmax_int, &convolution, &masked})
      enrol_operator(*op);
  }
  static void round_trip(std::string_view written, std::string_view canonical = {}) {
    const Case c = parse_case(written);
    EXPECT_EQ(text(c), canonical.empty() ? written : canonical);
    EXPECT_EQ(parse_case(text(c)), c) << written;
  }
  static void error(std::string_view written, std::string_view part) {
    EXPECT_THAT([&] { parse_case(written); }, ThrowsMessage<CaseError>(HasSubstr(std::string(part))))
        << written;
  }
};

TEST_F(CaseText, RoundTrips) {
  round_trip("prelu:f32:self=2x6x5x7,weight=6:data=normal:seed=42");
  round_trip("prelu:f32:self=2x6x5x7,weight=6", "prelu:f32:self=2x6x5x7,weight=6:data=normal:seed=0");
  round_trip("mm:self=f32[2x3]@step2,mat2=f32[3x4]", "mm:f32:self=[2x3]@step2,mat2=3x4:data=normal:seed=0");
  round_trip("add.Tensor:self=bf16[2x3],other=f32[],alpha=2:data=edge:seed=18446744073709551615");
  round_trip("add.Tensor:f16:self=2,other=2,alpha=2.0:data=edge:seed=1");
  round_trip("add.Tensor:f16:self=2,other=2,alpha=1", "add.Tensor:f16:self=2,other=2:data=normal:seed=0");
  round_trip("add.Tensor:f16:self=2,other=2,alpha=-1e-30:data=edge:seed=1");
  round_trip("softmax.int:f32:self=0x3,dim=-1,dtype=f64:data=normal:seed=0");
  round_trip("prelu:f64:self=[2x3x4x5]@permuted(3,1,0,2),weight=[3]@offset(1):data=ones:seed=1");
  round_trip("prelu:f64:self=[2x3x4x5]@channels_last,weight=[3]@expanded(0):data=ones:seed=1");
  round_trip("prelu:f64:self=[2x3]@strides(9,2),weight=1:data=ones:seed=1");
  round_trip("prelu:f32:self=[],weight=1:data=ones:seed=1");
  round_trip("masked:f32:mask=3,self=3:data=ones:seed=1");
  round_trip("masked:mask=bool[3],self=f32[3]:data=ones:seed=1", "masked:f32:mask=3,self=3:data=ones:seed=1");
  round_trip("masked:mask=f32[3],self=f32[3]:data=ones:seed=1");
  round_trip(
      "convolution:input=f32[2x3]@step2,weight=f32[3],bias=none,stride=[2,1],groups=3,transposed=true,mode='same',"
      "eps=0.5,dtype=bf16:data=normal:seed=1",
      "convolution:f32:input=[2x3]@step2,weight=3,bias=none,stride=[2,1],groups=3,transposed=true,mode=same,eps=0.5,"
      "dtype=bf16:data=normal:seed=1");
  round_trip("convolution:f32:input=2x3,weight=3,bias=none,memory_format=channels_last_3d:data=ones:seed=1");
  // "none" is a string, too, where None is no choice: gelu's approximate.
  EXPECT_EQ(std::get<std::string>(parse_case("convolution:f32:input=2x3,weight=3,mode=none")
                                      .arguments.at(static_cast<std::size_t>(
                                          operator_named("convolution").schema.find("mode")))),
            "none");
  round_trip("convolution:f32:input=2x3,weight=3,bias=none,stride=2",
             "convolution:f32:input=2x3,weight=3,bias=none,stride=[2,2]:data=normal:seed=0");
}

TEST_F(CaseText, AnOperatorIsNamedWithItsNamespaceOrWithoutItsOverload) {
  const std::string right = "add.Tensor:f32:self=2,other=2:data=normal:seed=1";
  for (const char* name : {"add", "add.Tensor", "aten::add", "aten::add.Tensor"}) {
    EXPECT_EQ(text(parse_case(std::string(name) + ":f32:self=2,other=2:seed=1")), right) << name;
    EXPECT_EQ(find_spelled(name), &ops::add_tensor) << name;
    EXPECT_EQ(operator_in(std::string(name) + ":f32:self=2"), name);
  }
  for (const char* name : {"aten::", "::add", "add.", "add.Scalar", "assay::add", ""})
    EXPECT_EQ(find_spelled(name), nullptr) << name;
  // Of two with one base, the message has both.
  enrol_operator(ops::div_tensor);
  enrol_operator(ops::div_tensor_mode);
  error("div:f32:self=2,other=2",
        "there is no operator \"div\"; did you mean \"div.Tensor\" or \"div.Tensor_mode\"?");
}

// What torch.nn.functional, torch.nn and ONNX call by another name.
TEST_F(CaseText, OperatorsAreKnownByTheNamesOfOthers) {
  for (const char* name : {"conv2d", "Conv", "torch.nn.functional.conv2d", "nn.ConvTranspose2d"})
    EXPECT_THAT(no_operator(name), HasSubstr("; did you mean \"convolution\"?")) << name;
  enrol_operator(ops::bmm);
  EXPECT_THAT(no_operator("MatMul"), HasSubstr("\"mm\" or \"bmm\""));
  EXPECT_THAT(no_operator("mat_mul"), HasSubstr("\"mm\" or \"bmm\""));
  EXPECT_THAT(known_elsewhere_as("nosuch"), ::testing::IsEmpty());
  // An operator that is not there is not proposed.
  EXPECT_THAT(known_elsewhere_as("QLinearConv"), ::testing::IsEmpty());
}

// What nobody can have meant is not proposed.
TEST_F(CaseText, OnlyNamesThatAreNearAreNamed) {
  EXPECT_EQ(nearest_operator("MM"), "mm");
  EXPECT_EQ(nearest_operator("soft"), "softmax.int");  // which it is the beginning of
  EXPECT_EQ(nearest_operator("nosuch"), "");
  EXPECT_EQ(nearest_operator(""), "");
  EXPECT_EQ(nearest_operator_hint("nosuch"), " (`assay ops` lists them)");
  EXPECT_EQ(nearest_operator_hint("ADD"), "; did you mean \"add.Tensor\"?");
  EXPECT_EQ(nearest_operator_hint("aten::ADD"), "; did you mean \"add.Tensor\"?");
}

TEST_F(CaseText, ErrorsNameTheField) {
  error("prelo:f32:self=2,weight=1", "did you mean \"prelu\"?");
  error("addd:f32:self=2,other=2", "there is no operator \"addd\"; did you mean \"add.Tensor\"?");
  error("nosuch::add:f32:self=2,other=2", "there is no operator \"nosuch\"");
  error("PReLU:f32:self=2,weight=1", "did you mean \"prelu\"?");
  error("prelu:f32:self=2x,weight=1", "self is \"2x\"");
  error("prelu:f32:self=2xq,weight=1", "self is \"2xq\": sizes are whole numbers");
  error("prelu:f32:self=-2,weight=1", "sizes are whole numbers");
  error("prelu:self=2,weight=1", "it has no dtype");
  error("prelu:f32:self=[2]@sideways,weight=1", "not a layout");
  error("prelu:f32:self=[2]@channels_last,weight=1", "channels_last needs 4 or 5 dimensions");
  error("prelu:f32:self=[2x3]@permuted(0,0),weight=1", "permuted does not name each dimension once");
  error("prelu:f32:self=[2x3]@permuted,weight=1", "needs parameters");
  error("prelu:f32:self=[2x3]@strides(-1,1),weight=1", "stride -1 is negative");
  error("prelu:f32:self=f23[2],weight=1", "\"f23\" is not a dtype");
  error("prelu:f32:self=2", "argument \"weight\" is missing");
  error("prelu:f32:self=2,weight=1,bias=1", "has no such argument");
  error("prelu:f32:self=2,self=2,weight=1", "given twice");
  error("prelu:f32:self=2,weight=1:colour=red", "keys are");
  error("prelu:f32:self=2,weight=1:seed=1:seed=2", "seed is \"2\": given twice");
  error("prelu:f32:self=2,weight=1:data=ones:seed=1:data=normal", "data is \"normal\": given twice");
  error("prelu:f32:self=2,weight=1:seed=x", "seed is \"x\"");
  error("prelu:f32:self=2,weight=none", "weight is \"none\"");
  error("softmax.int:f32:self=2,dim=1.5", "dim is \"1.5\": not an integer");
  error("softmax.int:f32:self=2,dim=0,dtype=f99", "dtype is \"f99\"");
  error(
      "convolution:f32:input=2x3,weight=3,bias=none,memory_format=rows_last",
      "memory_format is \"rows_last\": not a memory format (contiguous_format, preserve_format, channels_last, "
      "channels_last_3d)");
  error("prelu:f32:", "is missing");
  error("prelu:f32:self=9223372036854775807x3,weight=1", "too many elements");
  error("prelu:f32:self=[2]@offset(9223372036854775807),weight=1", "reach too far");
  error("prelu:f32:self=2,weight=1:data=a b", "data is \"a b\"");
  error("prelu:what", "neither a dtype nor name=value");
  error("", "there is no operator");
}

// Whatever is typed: an error that says so, or a case whose text reads back the same.
TEST_F(CaseText, SurvivesRandomText) {
  const std::string_view seeds[] = {
      "prelu:f32:self=[2x6x5x7]@permuted(3,1,0,2),weight=6:data=normal:seed=42",
      "add.Tensor:self=bf16[2x3]@strides(9,2),other=f32[]@offset(3),alpha=-1e-30:seed=1",
      "convolution:f32:input=2x3,weight=3,bias=none,stride=[2,1],eps=0.5,dtype=bf16,mode='x'"};
  const std::string_view pieces[] = {"[",
                                     "]",
                                     "(",
                                     ")",
                                     ":",
                                     ",",
                                     "=",
                                     "x",
                                     "@",
                                     "none",
                                     "f32",
                                     "-1",
                                     "9223372036854775808",
                                     "1e999",
                                     "nan",
                                     "\"",
                                     "'",
                                     " ",
                                     "seed=",
                                     "data=",
                                     "0",
                                     "step2"};
  std::mt19937_64 random(1);
  int parsed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string s(seeds[random() % std::size(seeds)]);
    for (std::uint64_t edits = 1 + random() % 4; edits > 0 && !s.empty(); --edits) {
      const std::size_t at = random() % s.size();
      switch (random() % 4) {
        case 0:
          s.erase(at, 1 + random() % 5);
          break;
        case 1:
          s.insert(at, pieces[random() % std::size(pieces)]);
          break;
        case 2:
          s[at] = static_cast<char>(random() % 256);
          break;
        default:
          s.insert(at, s.substr(random() % s.size(), random() % 12));
          break;
      }
    }
    try {
      const Case c = parse_case(s);
      ++parsed;
      ASSERT_EQ(text(parse_case(text(c))), text(c)) << s;
    } catch (const CaseError&) {
    }
  }
  EXPECT_GT(parsed, 100);
}

TEST_F(CaseText, IsOfOneCaseWhateverItsNumbersAre) {
  const auto same = [](std::string_view a, std::string_view b) {
    const std::string add = "add.Tensor:f32:self=2,other=2,alpha=";
    return parse_case(add + std::string(a)) == parse_case(add + std::string(b));
  };
  EXPECT_TRUE(same("nan", "nan"));
  EXPECT_FALSE(same("nan", "inf"));
  EXPECT_FALSE(same("0.0", "-0.0"));
  EXPECT_FALSE(same("2", "2.0"));
}

TEST(Layouts, GiveTheStridesTheyName) {
  const auto strides = [](const Shape& s, Layout::Kind k, std::vector<std::int64_t> p = {}) {
    return strided(s, {k, std::move(p)}).strides;
  };
  using K = Layout::Kind;
  EXPECT_EQ(strides({2, 3, 4, 5}, K::contiguous), (std::vector<std::int64_t>{60, 20, 5, 1}));
  EXPECT_EQ(strides({2, 3, 4, 5}, K::channels_last), (std::vector<std::int64_t>{60, 1, 15, 3}));
  EXPECT_EQ(strides({2, 3}, K::permuted, {1, 0}), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(strides({2, 3}, K::step2), (std::vector<std::int64_t>{6, 2}));
  EXPECT_EQ(strides({2, 3}, K::expanded, {0}), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(strided({2, 3}, {K::offset, {7}}).offset, 7);
  EXPECT_EQ(strided({2, 3}, {K::step2, {}}).span, 1 + 6 + 4);
  EXPECT_EQ(strided({2, 0, 3}, {K::contiguous, {}}).span, 0);
  EXPECT_EQ(strided({}, {K::contiguous, {}}).span, 1);
}

}  // namespace
}  // namespace assay
