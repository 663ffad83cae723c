// Tensors that others wrote, each in a file of its own: .npy in every dtype and layout, raw bytes, ONNX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "files_sample.h"
#include "harness/tensors/single.h"
#include "tensors_bytes.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// ---- .npy -------------------------------------------------------------------------------------------------

TEST(Npy, EveryDtypeIsReadToTheBit) {
  for (const auto& [descr, dtype] :
       std::vector<std::pair<std::string, Dtype>>{{"<f8", Dtype::f64},
                                                  {"<f4", Dtype::f32},
                                                  {"<f2", Dtype::f16},
                                                  {"<V2", Dtype::bf16},
                                                  {"|V2", Dtype::bf16},
                                                  {"bfloat16", Dtype::bf16},
                                                  {"<f1", Dtype::f8e5m2},
                                                  {"float8_e4m3fn", Dtype::f8e4m3},
                                                  {"<i8", Dtype::i64},
                                                  {"=i4", Dtype::i32},
                                                  {"<i2", Dtype::i16},
                                                  {"|i1", Dtype::i8},
                                                  {"|u1", Dtype::u8},
                                                  {"|b1", Dtype::boolean}}) {
    SCOPED_TRACE(descr);
    const std::string data =
        std::string("\x01\x80\xC1\x7F\xFF\xFF\x00\x02\x03\x04\x05\x06\x07\x08\x09\x0A", 16)
            .substr(0, static_cast<std::size_t>(2 * bytes(dtype)));
    const RecordedTensor t = only_tensor(npy(descr, "(2, 1)", data, false));
    EXPECT_EQ(t.dtype, dtype);
    EXPECT_EQ(t.shape, (Shape{2, 1}));
    EXPECT_EQ(raw(t.data), data);
  }
}

TEST(Npy, AllVersionsAndShapesAreRead) {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  for (const int version : {1, 2, 3})
    EXPECT_EQ(only_tensor(npy(dict, raw<float>({1, -2}), version)), tensor<float>(Dtype::f32, {2}, {1, -2}));
  EXPECT_EQ(only_tensor(npy("<f4", "()", raw<float>({7}), false)), tensor<float>(Dtype::f32, {}, {7}));
  EXPECT_EQ(only_tensor(npy("<f4", "(3, 0)", "", false)), tensor<float>(Dtype::f32, {3, 0}, {}));
  // As Python 2 wrote it, keys in another order, nothing between them.
  EXPECT_EQ(
      only_tensor(npy("{\"shape\":(2L,),\"fortran_order\":True,\"descr\":\"<f4\"}", raw<float>({1, 2}))),
      tensor<float>(Dtype::f32, {2}, {1, 2}));
}

TEST(Npy, OrderOfBytesAndElementsIsUndone) {
  EXPECT_EQ(only_tensor(npy(">i2", "(2,)", std::string("\0\1\xFF\xFE", 4), false)),
            tensor<std::int16_t>(Dtype::i16, {2}, {1, -2}));
  EXPECT_EQ(only_tensor(npy(">f8", "(1,)", std::string("\x3F\xF8\0\0\0\0\0\0", 8), false)),
            tensor<double>(Dtype::f64, {1}, {1.5}));
  EXPECT_EQ(only_tensor(npy("<i4", "(2, 3)", raw<std::int32_t>({0, 3, 1, 4, 2, 5}), true)),
            tensor<std::int32_t>(Dtype::i32, {2, 3}, {0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(only_tensor(npy("<i8", "(2, 1, 2, 2)", raw<std::int64_t>({0, 4, 2, 6, 1, 5, 3, 7}), true)),
            tensor<std::int64_t>(Dtype::i64, {2, 1, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(only_tensor(npy("|u1", "(2, 2)", std::string("\0\2\1\3", 4), true)),
            tensor<std::uint8_t>(Dtype::u8, {2, 2}, {0, 1, 2, 3}));
  EXPECT_EQ(only_tensor(npy(">f2", "(2, 2)", std::string("\x3C\0\xC2\0\x40\0\x44\0", 8), true)),
            tensor<std::uint16_t>(Dtype::f16, {2, 2}, {0x3C00, 0x4000, 0xC200, 0x4400}));
}

TEST(Npy, WhatLiesAsInMemoryIsNotCopied) {
  const std::string plain = npy("<f4", "(2, 2)", raw<float>({1, 2, 3, 4}), false);
  const auto file = open_tensors(in_memory(plain, "w.npy"));
  const auto view = file->view(file->entries()[0]);
  ASSERT_TRUE(view);
  EXPECT_EQ(static_cast<const void*>(view->data()), plain.data() + plain.size() - 16);
  const auto viewed = [](const std::string& bytes) {
    const auto f = open(bytes);
    return f->view(f->entries()[0]).has_value();
  };
  EXPECT_FALSE(viewed(npy(">f4", "(2, 2)", std::string(16, 'x'), false)));
  EXPECT_FALSE(viewed(npy("<f4", "(2, 2)", std::string(16, 'x'), true)));
  EXPECT_TRUE(viewed(npy("<f4", "(1, 4)", std::string(16, 'x'), true)));
}

TEST(Npy, RefusalsNameFileTensorFieldAndValue) {
  for (const auto& [descr, why] : std::vector<std::pair<std::string, std::string>>{{"<c8", "complex"},
                                                                                   {"|O", "Python objects"},
                                                                                   {"<u4", "astype('i8')"},
                                                                                   {"<U3", "texts"},
                                                                                   {"<M8[ns]", "times"},
                                                                                   {"|V1", "8 bits"},
                                                                                   {">V2", "without a type"},
                                                                                   {"<f16", "astype()"},
                                                                                   {"", "no dtype"}})
    EXPECT_THAT(opening_error(npy(descr, "(1,)", "", false)),
                AllOf(HasSubstr("dir/w.npy: tensor \"w\": descr is \"" + descr + "\""), HasSubstr(why)));
  EXPECT_THAT(
      opening_error(
          npy("{'descr': [('a]', '<f4'), ('b', '<i4', (2,))], 'fortran_order': False, 'shape': (2,), }", "")),
      HasSubstr("descr is \"[('a]', '<f4'), ('b', '<i4', (2,))]\": a structured dtype"));
}

TEST(Npy, DamagedHeadersAreErrors) {
  const std::string data = raw<float>({1, 2});
  for (const auto& [shape, why] : std::vector<std::pair<std::string, std::string>>{
           {"(-1,)", "shape is [-1], with a size below 0"},
           {"(4611686018427387904, 4)", "more than any memory holds"},
           {"(0, 4611686018427387904, 4)", "more than any memory holds"},
           {"(9223372036854775808,)", "the size 9223372036854775808"},
           {"(2)", "a shape that is no tuple"},
           {"2", "a shape that is no tuple"},
           {"(2.0,)", "without ','"},
           {"(True,)", "no whole number"},
           {"(1 2)", "without ','"},
           {"(3,)", "it is cut short: shape [3] of f32 needs 12 bytes, and there are 8"},
           {"(1,)", "needs 4 bytes, and there are 8; save several arrays"}})
    EXPECT_THAT(opening_error(npy("<f4", shape, data, false)),
                AllOf(HasSubstr("dir/w.npy: tensor \"w\""), HasSubstr(why)));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  EXPECT_THAT(opening_error(npy("<f4", many + ")", data, false)), HasSubstr("65 dimensions"));
  for (const auto& [dict, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "no '{'"},
           {"{}", "no descr"},
           {"{'descr': '<f4', 'fortran_order': False}", "no shape"},
           {"{'descr': '<f4', 'descr': '<f4'}", "descr twice"},
           {"{'shape': (1,), 'x': 1}", "the key \"x\""},
           {"{'descr': '<f4', 'fortran_order': 0}", "neither True nor False"},
           {"{'descr': '\\x3cf4'}", "an escape"},
           {"{'descr': [[[", "without end"},
           {"{'descr': '<f4' 'shape': (1,)}", "neither ',' nor '}'"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} + f()", "text after its end"},
           {"__import__('os').system('x')", "no '{'"}})
    EXPECT_THAT(opening_error(npy(dict, data)), AllOf(HasSubstr("dir/w.npy"), HasSubstr(why)));
  EXPECT_THAT(opening_error(npy("{}", "", 4)), HasSubstr("version of .npy is 4.0"));
  EXPECT_THAT(opening_error(std::string("\x93NUMPY\2\0\xFF\xFF\xFF\xFF{}", 14)),
              HasSubstr("length is 4294967295"));
  EXPECT_THAT(
      opening_error(std::string("\x93NUMPY\2\0\0\0\x20\0", 12) + std::string(std::size_t{2} << 20, ' ')),
      HasSubstr("the header's length is 2097152, which no array needs"));
}

// ---- Others -----------------------------------------------------------------------------------------------

TEST(Tensors, RawBytesAreReadAsTheyAreDescribed) {
  const std::string bytes = raw<float>({1, 2, 3, 4, 5, 6});
  const FileBytes file = in_memory(bytes, "dir/w.bin");
  const auto whole = tensors::open_raw(file, "raw:f32[2x3]");
  EXPECT_EQ(whole->read(whole->entry("w")), tensor<float>(Dtype::f32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(error_of([&] { tensors::open_raw(file, "raw:f32[2x2]"); }),
              HasSubstr("dir/w.bin: tensor \"w\": shape [2x2] of f32 needs 16 bytes, and the file has 24"));
  for (const char* wrong : {"raw:", "raw:f32", "raw:f32[2x3", "raw:f32[2x]", "raw:f32[-2x3]", "raw:f32[2,3]",
                            "raw:u4[2x3]", "raw:f32[99999999999999999999]"})
    EXPECT_THAT(error_of([&] { tensors::open_raw(file, wrong); }), HasSubstr("write raw:DTYPE[SHAPE]@PATH"))
        << wrong;
  EXPECT_THAT(error_of([&] { open_tensors(std::string("raw:f32[2]")); }), HasSubstr("it names no file"));
}

TEST(Tensors, OnnxTensorsHaveTheirNameOrThatOfTheFile) {
  const std::string unnamed = std::string("\x08\x02\x10\x01\x4A\x08", 6) + raw<float>({1, 2});
  EXPECT_EQ(open(unnamed, "set/input_0.pb")->entries().at(0).name, "input_0");
  const auto named = open(unnamed + "\x42\x01x", "set/input_0.pb");
  EXPECT_EQ(named->read(named->entry("x")), tensor<float>(Dtype::f32, {2}, {1, 2}));
  EXPECT_THAT(error_of([&] { open("\x08\x02\x10\x08", "set/input_0.pb"); }),
              AllOf(HasSubstr("set/input_0.pb"), HasSubstr("a tensor of string")));
}

TEST(Tensors, UnknownBytesAreAnErrorThatSaysWhatIsRead) {
  EXPECT_THAT(opening_error("hello"),
              HasSubstr("dir/w.npy: its bytes are those of no .npy, .npz, safetensors"));
  EXPECT_THAT(opening_error(""), HasSubstr("it is empty"));
}

}  // namespace
}  // namespace assay
