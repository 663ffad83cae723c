// Requests of `assay serve`, as text: what is taken, and what is turned down in which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "harness/serve/judged.h"
#include "harness/serve/operands.h"
#include "harness/serve/request.h"

namespace assay::serve {
namespace {

using ::testing::HasSubstr;

// Memory with 0, 1, 2, .. as f32.
class Floats {
 public:
  explicit Floats(std::size_t n) : numbers_(n) { std::iota(numbers_.begin(), numbers_.end(), 0.0f); }
  std::uint64_t size() const { return numbers_.size() * sizeof(float); }
  ReadMemory reader() const {
    return [this](std::uint64_t offset, std::span<std::byte> into) {
      ASSERT_LE(offset + into.size(), size());
      if (!into.empty())
        std::memcpy(into.data(), reinterpret_cast<const std::byte*>(numbers_.data()) + offset, into.size());
    };
  }

 private:
  std::vector<float> numbers_;
};

std::string error_of(const std::string& text, std::uint64_t memory = 64) {
  try {
    parse_request(text, memory);
  } catch (const RequestError& e) {
    return e.kind + ": " + e.what();
  }
  return "";
}

// One tensor, as the argument of relu.
std::string of_tensor(const std::string& tensor) {
  return R"({"do": "judge", "op": "relu", "arguments": [{"tensor": )" + tensor + "}]}";
}

TEST(ServeRequest, HasWhatTheTextSays) {
  const Request r = parse_request(
      R"({"do": "judge", "op": "add.Tensor", "contract": "strict", "sample": 7, "first": 2, "seconds": 1.5,
          "arguments": [{"tensor": {"dtype": "f32", "shape": [2, 3], "offset": 8}}, null, true, 2, 2.5, "tanh", [1, [2]]],
          "keywords": {"alpha": {"number": "-inf"}, "dtype": {"dtype": "bf16"}, "f": {"format": "channels_last"}},
          "results": [null, {"tensor": {"dtype": "u8", "shape": [], "strides": []}}]})",
      64);
  EXPECT_EQ(r.asked, Asked::judge);
  EXPECT_EQ(r.op, "add.Tensor");
  EXPECT_EQ(r.sample, 7u);
  EXPECT_EQ(r.first, 2u);
  EXPECT_EQ(r.seconds, 1.5);
  ASSERT_EQ(r.arguments.size(), 7u);
  const auto& t = std::get<TensorPlace>(r.arguments[0].is);
  EXPECT_EQ(t.shape, (Shape{2, 3}));
  EXPECT_EQ(t.strides, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(t.span, 6);
  EXPECT_EQ(t.offset, 8u);
  EXPECT_EQ(std::get<bool>(r.arguments[2].is), true);
  EXPECT_EQ(std::get<std::int64_t>(r.arguments[3].is), 2);
  EXPECT_EQ(std::get<RequestList>(r.arguments[6].is).size(), 2u);
  EXPECT_EQ(std::get<double>(r.keywords[0].second.is), -HUGE_VAL);
  EXPECT_EQ(std::get<Dtype>(r.keywords[1].second.is), Dtype::bf16);
  EXPECT_EQ(std::get<MemoryFormat>(r.keywords[2].second.is), MemoryFormat::channels_last);
  EXPECT_EQ(std::get<TensorPlace>(r.results[1].is).span, 1);
  EXPECT_EQ(parse_request(R"({"do": "judge", "sample": "all"})", 0).sample, kAllElements);
}

TEST(ServeRequest, WhatIsNoRequestIsTurnedDown) {
  EXPECT_THAT(error_of("{\"do\": \"judge\""), HasSubstr("protocol: a request is no JSON"));
  EXPECT_THAT(error_of(""), HasSubstr("no JSON"));
  EXPECT_THAT(error_of("[1, 2]"), HasSubstr("a request is an object, not [1,2]"));
  EXPECT_THAT(error_of(R"({"do": "guess"})"), HasSubstr("there is no request \"guess\""));
  EXPECT_THAT(error_of(R"({"do": 3})"), HasSubstr("do is 3, but must be a text"));
  EXPECT_THAT(error_of(R"({"do": "judge", "arguments": 3})"),
              HasSubstr("arguments is 3, but must be a list"));
  EXPECT_THAT(error_of(R"({"do": "judge", "keywords": [3]})"),
              HasSubstr("keywords is [3], but must be an object"));
  EXPECT_THAT(error_of(R"({"do": "judge", "arguments": [{"x": 1}]})"),
              HasSubstr("argument 0: {\"x\":1} is no value"));
  EXPECT_THAT(error_of(R"({"do": "judge", "arguments": [18446744073709551615]})"),
              HasSubstr("too large for 64 bits"));
  EXPECT_THAT(error_of(R"({"do": "judge", "arguments": [{"dtype": "f33"}]})"),
              HasSubstr("\"f33\" is not a dtype"));
  EXPECT_THAT(error_of(R"({"do": "judge", "results": [3]})"),
              HasSubstr("result 0 is neither a tensor nor None"));
  EXPECT_THAT(error_of(R"({"do": "judge", "sample": 0})"),
              HasSubstr("sample is 0: it must be a whole number from 1"));
  EXPECT_THAT(error_of(R"({"do": "judge", "seconds": -1})"), HasSubstr("seconds is -1"));
  EXPECT_THAT(error_of(R"({"do": "judge", "arguments": [[[[[[1]]]]]]})"), HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(R"({"do": "judge", "arguments": )" + std::string(1'000'000, '[')),
              HasSubstr("nested too deeply"));
}

TEST(ServeRequest, TensorsLieInTheMemory) {
  EXPECT_EQ(error_of(of_tensor(R"({"dtype": "f32", "shape": [4, 4]})")), "");
  EXPECT_THAT(
      error_of(of_tensor(R"({"dtype": "f32", "shape": [4, 5]})")),
      HasSubstr(
          "tensor: argument 0: f32[4x5] at byte 0 does not lie in the 64 bytes that came with the request"));
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32", "shape": [4, 4], "offset": 1})")),
              HasSubstr("at byte 1 does not lie"));
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32", "shape": [1], "offset": 9223372036854775807})")),
              HasSubstr("does not lie"));
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32", "shape": [2], "strides": [16]})")),
              HasSubstr("does not lie"));
  EXPECT_EQ(error_of(of_tensor(R"({"dtype": "f32", "shape": [1000, 1000], "strides": [0, 0]})")), "");
  EXPECT_EQ(error_of(of_tensor(R"({"dtype": "f32", "shape": [0], "offset": 4096})")), "");
  for (const char* shape : {"[4611686018427387904, 4]", "[9223372036854775807]", "[3037000500, 3037000500]",
                            "[0, 9223372036854775807]"})
    EXPECT_THAT(error_of(of_tensor(std::string(R"({"dtype": "f32", "shape": )") + shape + "}")),
                HasSubstr("more elements than any memory"))
        << shape;
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32", "shape": [2], "strides": [9223372036854775807]})")),
              HasSubstr("any memory"));
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32", "shape": [-2]})")), HasSubstr("-2 is no size"));
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32", "shape": [2.5]})")), HasSubstr("2.5 is no size"));
  EXPECT_THAT(
      error_of(of_tensor(R"({"dtype": "f32", "shape": [2], "strides": [-1]})")),
      HasSubstr(
          "-1 is no stride: it must be a whole number from 0 (a tensor that runs backwards must be copied first)"));
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32", "shape": [2, 2], "strides": [1]})")),
              HasSubstr("1 strides for 2 dimensions"));
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32", "shape": [2], "offset": -8})")),
              HasSubstr("its offset is -8"));
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "c64", "shape": [2]})")),
              HasSubstr("its dtype is \"c64\", which is none"));
  EXPECT_THAT(error_of(of_tensor(R"({"shape": [2]})")), HasSubstr("its dtype is missing"));
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32"})")), HasSubstr("its shape is missing"));
  std::string many = "[1";
  for (int i = 0; i < 64; ++i) many += ", 1";
  EXPECT_THAT(error_of(of_tensor(R"({"dtype": "f32", "shape": )" + many + "]}")),
              HasSubstr("65 dimensions, and a tensor has up to 64"));
}

Operands operands(const std::string& text, const Floats& memory) {
  const Request r = parse_request(text, memory.size());
  return operands_of(operator_of(r), r, kMostUnasked, memory.reader());
}

std::string refusal(const std::string& text, const Floats& memory) {
  try {
    operands(text, memory);
  } catch (const RequestError& e) {
    return e.kind + ": " + e.what();
  }
  return "";
}

std::string f32(const std::string& shape, const std::string& more = "") {
  return R"({"tensor": {"dtype": "f32", "shape": )" + shape + more + "}}";
}

TEST(ServeOperands, AreThoseOfTheSchema) {
  const Floats memory(12);
  const std::string x = f32("[2, 3]");
  const Operands by_place =
      operands(R"({"do": "judge", "op": "add", "arguments": [)" + x + "," + x + ", 2]}", memory);
  EXPECT_EQ(by_place.call.op->schema.name, "add.Tensor");
  EXPECT_EQ(std::get<std::int64_t>(by_place.call.arguments[2]), 2);
  EXPECT_EQ(std::get<TensorData>(by_place.call.arguments[1]).get(5), 5);
  const Operands by_name = operands(R"({"do": "judge", "op": "aten::add.Tensor", "arguments": [)" + x +
                                        R"(], "keywords": {"other": )" + x + "}}",
                                    memory);
  EXPECT_EQ(std::get<std::int64_t>(by_name.call.arguments[2]), 1) << "the default";
  // A number of a program yields to tensors, and so does a tensor without dimensions where a number is wanted.
  const Operands number =
      operands(R"({"do": "judge", "op": "add", "arguments": [)" + x + R"(, 0.1], "keywords": {"alpha": )" +
                   f32("[]", R"(, "offset": 8)") + "}}",
               memory);
  EXPECT_EQ(number.call.outputs[0].dtype, Dtype::f32);
  EXPECT_EQ(std::get<TensorData>(number.call.arguments[1]).get(0), 0.1);
  EXPECT_EQ(std::get<double>(number.call.arguments[2]), 2);
  // One number stands for all of a list whose length the schema knows.
  const Operands repeated = operands(R"({"do": "judge", "op": "sum", "arguments": [)" + x + ", 1]}", memory);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(repeated.call.arguments[1]), (std::vector<std::int64_t>{1}));
}

TEST(ServeOperands, AreReadWhereTheyLie) {
  const Floats memory(12);
  const auto read = [&](const std::string& tensor) {
    const Operands o = operands(R"({"do": "judge", "op": "relu", "arguments": [)" + tensor + "]}", memory);
    const auto& t = std::get<TensorData>(o.call.arguments[0]);
    std::vector<double> all;
    for (std::int64_t i = 0; i < t.numel(); ++i) all.push_back(t.get(i));
    return all;
  };
  EXPECT_EQ(read(f32("[2, 3]", R"(, "strides": [1, 2], "offset": 4)")),
            (std::vector<double>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(read(f32("[2, 2]", R"(, "strides": [0, 3])")), (std::vector<double>{0, 3, 0, 3}));
  EXPECT_EQ(read(f32("[2, 2]", R"(, "strides": [1, 1])")), (std::vector<double>{0, 1, 1, 2}))
      << "windows overlap";
  EXPECT_EQ(read(f32("[0, 3]")), (std::vector<double>{}));
}

TEST(ServeOperands, WhatTheOperatorDoesNotTakeIsSaid) {
  const Floats memory(12);
  const std::string x = f32("[2, 3]");
  const auto of = [&](const std::string& op, const std::string& arguments, const std::string& more = "") {
    return refusal(R"({"do": "judge", "op": ")" + op + R"(", "arguments": [)" + arguments + "]" + more + "}",
                   memory);
  };
  EXPECT_THAT(of("rellu", x), HasSubstr("operator: there is no operator \"rellu\"; did you mean \"relu\"?"));
  EXPECT_THAT(of("div", x), HasSubstr("operator: "));
  EXPECT_THAT(of("mm", x),
              HasSubstr("the argument \"mat2\" is missing: mm(Tensor self, Tensor mat2) -> Tensor"));
  EXPECT_THAT(of("mm", x + "," + x), HasSubstr("argument: mm: "));
  EXPECT_THAT(of("relu", x + ",1"), HasSubstr("relu takes 1 arguments, and 2 were given"));
  EXPECT_THAT(of("relu", "2.5"),
              HasSubstr("relu: self is 2.5, but must be a tensor: relu(Tensor self) -> Tensor"));
  EXPECT_THAT(of("relu", "null"), HasSubstr("relu: self is None, but must be a tensor"));
  EXPECT_THAT(of("relu", x, R"(, "keywords": {"self": 1})"),
              HasSubstr("given twice, by its place and by its name"));
  EXPECT_THAT(of("relu", x, R"(, "keywords": {"slope": 1})"), HasSubstr("relu has no argument \"slope\""));
  EXPECT_THAT(of("softmax", x + ",\"1\""),
              HasSubstr("softmax.int: dim is \"1\", but must be a whole number"));
  EXPECT_THAT(of("softmax", x + ",7"), HasSubstr("argument: softmax.int: dim"));
  EXPECT_THAT(of("softmax", x + ",1,\"f33\""), HasSubstr("must be a dtype or None"));
  EXPECT_THAT(of("embedding", x + R"(,{"tensor": {"dtype": "i64", "shape": [1]}})", ""),
              HasSubstr("embedding: indices"));
  EXPECT_THAT(of("relu", f32("[1000000, 1000000]", R"(, "strides": [0, 0])")),
              HasSubstr("memory: the result out is f32[1000000x1000000]"));
}

TEST(ServeOperands, GraphsAreOperators) {
  const Floats memory(12);
  const std::string x = f32("[2, 3]");
  const std::string graph = "assay::served_twice(Tensor a) -> Tensor { relu(a) + relu(a) }";
  const Operands o =
      operands(R"({"do": "judge", "graph": ")" + graph + R"(", "arguments": [)" + x + "]}", memory);
  EXPECT_EQ(o.call.outputs[0].shape, (Shape{2, 3}));
  EXPECT_THAT(
      refusal(R"({"do": "judge", "graph": "assay::wrong(Tensor a) -> Tensor { rellu(a) }", "arguments": []})",
              memory),
      HasSubstr("operator: the graph: "));
}

TEST(ServeOperands, ResultsOfAnotherShapeAreNoErrors) {
  const Floats memory(12);
  const auto of = [&](const std::string& results) {
    return operands(R"({"do": "judge", "op": "relu", "arguments": [)" + f32("[2, 3]") + R"(], "results": [)" +
                        results + "]}",
                    memory)
        .misfit;
  };
  EXPECT_EQ(of(f32("[2, 3]")), "");
  EXPECT_EQ(of(f32("[3, 2]")), "out is f32[3x2], but relu gives f32[2x3] for these arguments");
  EXPECT_EQ(of(R"({"tensor": {"dtype": "i32", "shape": [2, 3]}})"),
            "out is i32[2x3], but relu gives f32[2x3] for these arguments");
  EXPECT_EQ(of(f32("[2, 3]") + "," + f32("[2, 3]")), "2 results were given, but relu has 1");
}

// What is not looked at is said, and what is looked at is what is farthest.
TEST(ServeJudged, LooksAtTheFarthestFirst) {
  const Floats memory(1000);
  const std::string x = f32("[1000]");
  const Request r =
      parse_request(R"({"do": "judge", "op": "relu", "arguments": [)" + x + "]}", memory.size());
  const Operands o = operands_of(operator_of(r), r, kMostUnasked, memory.reader());
  Expectation expectation(o.call);
  std::vector<float> wrong(1000);
  std::iota(wrong.begin(), wrong.end(), 0.0f);
  for (std::size_t i = 100; i < 900; ++i) wrong[i] *= 1.5f;
  wrong[40] = -40;
  wrong[777] = std::nanf("");
  const auto* bytes = reinterpret_cast<const std::byte*>(wrong.data());
  const ExpectedOutputs results{std::vector<std::byte>(bytes, bytes + 4000)};
  const JudgedOutput all = judge_results(expectation, {}, results, {}, 3).outputs[0];
  EXPECT_EQ(all.mismatched, 801u);
  EXPECT_EQ(all.as_reference, 199u);
  EXPECT_EQ(all.not_looked_at, 0u);
  ASSERT_EQ(all.first.size(), 3u);
  EXPECT_EQ(all.first[0].at, 40);
  EXPECT_EQ(all.first[1].at, 100);
  EXPECT_EQ(all.farthest->at, 777);
  EXPECT_EQ(all.first[0].text, "out[40] is -40, but must be 40");
  EXPECT_EQ(all.most_relative, 2);
  const JudgedOutput some = judge_results(expectation, {}, results, {.most = 8}, 3).outputs[0];
  EXPECT_EQ(some.by_interval, 8u);
  EXPECT_EQ(some.mismatched, 8u);
  EXPECT_EQ(some.not_looked_at, 793u);
  EXPECT_EQ(some.first[0].at, 40);
  EXPECT_EQ(some.farthest->at, 777);
}

}  // namespace
}  // namespace assay::serve
