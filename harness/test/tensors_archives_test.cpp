// Tensors that others wrote, many in a file: safetensors and .npz; and files of every format cut short or damaged anywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files_sample.h"
#include "harness/tensors/safetensors.h"
#include "tensors_bytes.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// ---- safetensors ------------------------------------------------------------------------------------------

std::string safetensors(const std::string& header, const std::string& data) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> 8 * i);
  return length + header + data;
}
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"w\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
}

TEST(Safetensors, EveryDtypeIsReadInPlace) {
  for (const auto& [text, dtype] : std::vector<std::pair<std::string, Dtype>>{{"F64", Dtype::f64},
                                                                              {"F32", Dtype::f32},
                                                                              {"F16", Dtype::f16},
                                                                              {"BF16", Dtype::bf16},
                                                                              {"F8_E4M3", Dtype::f8e4m3},
                                                                              {"F8_E5M2", Dtype::f8e5m2},
                                                                              {"I64", Dtype::i64},
                                                                              {"I32", Dtype::i32},
                                                                              {"I16", Dtype::i16},
                                                                              {"I8", Dtype::i8},
                                                                              {"U8", Dtype::u8},
                                                                              {"BOOL", Dtype::boolean}}) {
    const std::string data(static_cast<std::size_t>(2 * bytes(dtype)), '\xFF');
    const RecordedTensor t = only_tensor(
        safetensors(one('"' + text + '"', "[2,1]", "[0," + std::to_string(data.size()) + "]"), data));
    EXPECT_EQ(t.dtype, dtype);
    EXPECT_EQ(t.shape, (Shape{2, 1}));
    EXPECT_EQ(raw(t.data), data);
  }
}

TEST(Safetensors, TensorsLieInAnyOrderAndOthersAreNamed) {
  const auto file = open(
      safetensors(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I16","shape":[],"data_offsets":[4,6]},)"
                  R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"e":{"dtype":"U8","shape":[0],)"
                  R"("data_offsets":[6,6]},"u":{"dtype":"U64","shape":[1],"data_offsets":[6,14]}}  )",
                  raw<float>({1}) + raw<std::int16_t>({-3}) + std::string(8, 'x')),
      "m.safetensors");
  EXPECT_EQ(file->entries().size(), 3u);
  EXPECT_EQ(file->read(file->entry("b")), tensor<std::int16_t>(Dtype::i16, {}, {-3}));
  EXPECT_EQ(file->read(file->entry("a")), tensor<float>(Dtype::f32, {1}, {1}));
  EXPECT_TRUE(file->read(file->entry("e")).data.empty());
  ASSERT_EQ(file->unsupported().size(), 1u);
  EXPECT_EQ(error_of([&] { file->entry("u"); }),
            "cannot read m.safetensors: tensor \"u\": dtype is \"U64\", which Assay has not");
  EXPECT_THAT(error_of([&] { file->entry("x"); }),
              AllOf(HasSubstr("tensor \"x\""), HasSubstr("\"a\", \"b\", \"e\"")));
}

TEST(Safetensors, DamageIsNamed) {
  const std::string four(4, 'x');
  for (
      const auto& [header, why] : std::vector<std::pair<std::string, std::string>>{
          {one("\"F32\"", "[1]", "[0,5]"), "tensor \"w\": data_offsets is [0,5], and there are 4 bytes"},
          {one("\"F32\"", "[1]", "[2,1]"), "data_offsets is [2,1], and not [begin, end]"},
          {one("\"F32\"", "[1]", "[0]"), "data_offsets is [0], and not"},
          {one("\"F32\"", "[1]", "[-1,3]"), "data_offsets has -1"},
          {one("\"F32\"", "[1]", "[0,18446744073709551615]"), "data_offsets has 18446744073709551615"},
          {one("\"F32\"", "[2]", "[0,4]"), "shape [2] of F32 needs 8 bytes, and data_offsets [0,4] are 4"},
          {one("\"F32\"", "[-1]", "[0,4]"), "shape has -1"},
          {one("\"F32\"", "[1.0]", "[0,4]"), "shape has 1.0"},
          {one("\"F32\"", "[4611686018427387904,4]", "[0,4]"), "more than any memory holds"},
          {one("\"F32\"", "\"1\"", "[0,4]"), "shape is \"1\", and no list"},
          {one("7", "[1]", "[0,4]"), "dtype is 7, and no text"},
          {one("\"F32\"", "[]", "[0,4]").replace(2, 1, "w\",\"w"), "its header is no JSON"},
          {"{\"w\":3}", "tensor \"w\": its header is 3"},
          {"{\"w\":{}}", "data_offsets is missing"},
          {"{}", "there are 4 bytes of data, and its tensors end at 0"},
          {"{\"w\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]}", "nested more than"},
          {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
           "tensor \"b\": data_offsets [2,4] overlap those of \"a\", [0,3]"},
          {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
           "tensor \"b\": data_offsets [2,4] leave a gap"},
          {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
           "has the name \"a\" twice"}})
    EXPECT_THAT(opening_error(safetensors(header, four)), AllOf(HasSubstr("dir/w.npy"), HasSubstr(why)))
        << header;
  const auto direct = [](const std::string& bytes) {
    return error_of([&] { tensors::open_safetensors(in_memory(bytes, "m")); });
  };
  EXPECT_THAT(direct("1234567"), HasSubstr("7 bytes are no header"));
  EXPECT_THAT(direct(std::string(8, '\xFF')),
              HasSubstr("length is 18446744073709551615; safetensors allows 100000000"));
}

// ---- .npz -------------------------------------------------------------------------------------------------

// numpy.savez_compressed of w, three f32 from 0; deep/x, [[1, 2], [3, 4]] as '>i2' in Fortran's order; s, a text.
constexpr char kNpz[] =
    "PK\003\004\024\000\000\000\010\000\000\000!\000\266\214\206SK\000\000\000\214\000\000\000\005\000"
    "\024\000w.npy\001\000\020\000\214\000\000\000\000\000\000\000K\000\000\000\000\000\000\000\233\354"
    "\027\352\033\020\311\310P\306P\255\236\222Z\234\134\244n\245\240n\223f\242\256\243\240\236\226_TR"
    "\224\230\027\237_\224\222\012\022wK\314)N\005\212\027g$\026\244\002\371\032\306:\232:\012\265\012"
    "\024\000.\0060h\260\007\022\016\000PK\003\004\024\000\000\000\010\000\000\000!\000\327\265\354\253M"
    "\000\000\000\210\000\000\000\012\000\024\000deep/x.npy\001\000\020\000\210\000\000\000\000\000\000"
    "\000M\000\000\000\000\000\000\000\233\354\027\352\033\020\311\310P\306P\255\236\222Z\234\134\244n"
    "\245\240n\227i\244\256\243\240\236\226_TR\224\230\027\237_\224\222\012\022\017)*M\005\012\027g$\026"
    "\244\002\271\032F:\012F\232:\012\265\012\344\003.\006F\006f\006&\006\026\000PK\003\004\024\000\000"
    "\000\010\000\000\000!\000\077\2749\033H\000\000\000\204\000\000\000\005\000\024\000s.npy\001\000"
    "\020\000\204\000\000\000\000\000\000\000H\000\000\000\000\000\000\000\233\354\027\352\033\020\311"
    "\310P\306P\255\236\222Z\234\134\244n\245\240n\023j\250\256\243\240\236\226_TR\224\230\027\237_\224"
    "\222\012\022wK\314)N\005\212\027g$\026\244\002\371\032\206:\232:\012\265\012\024\000\256\012\006"
    "\006\006\000PK\001\002\024\003\024\000\000\000\010\000\000\000!\000\266\214\206SK\000\000\000\214"
    "\000\000\000\005\000\000\000\000\000\000\000\000\000\000\000\200\001\000\000\000\000w.npyPK\001\002"
    "\024\003\024\000\000\000\010\000\000\000!\000\327\265\354\253M\000\000\000\210\000\000\000\012\000"
    "\000\000\000\000\000\000\000\000\000\000\200\001\202\000\000\000deep/x.npyPK\001\002\024\003\024"
    "\000\000\000\010\000\000\000!\000\077\2749\033H\000\000\000\204\000\000\000\005\000\000\000\000\000"
    "\000\000\000\000\000\000\200\001\013\001\000\000s.npyPK\005\006\000\000\000\000\003\000\003\000\236"
    "\000\000\000\212\001\000\000\000\000";
const std::string npz_bytes(kNpz, sizeof kNpz - 1);

std::string edited(std::string bytes, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = bytes.find(what, at)) != std::string::npos; at += with.size())
    bytes.replace(at, what.size(), with);
  return bytes;
}

TEST(Npz, EntriesAreUnpacked) {
  const auto file = open(npz_bytes, "m.npz");
  ASSERT_EQ(file->entries().size(), 2u);
  EXPECT_EQ(file->read(file->entry("w")), tensor<float>(Dtype::f32, {3}, {0, 1, 2}));
  EXPECT_EQ(file->read(file->entry("deep/x")), tensor<std::int16_t>(Dtype::i16, {2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(file->read(file->entry("w")), tensor<float>(Dtype::f32, {3}, {0, 1, 2}));
  EXPECT_FALSE(file->view(file->entry("w")));
  EXPECT_EQ(error_of([&] { file->entry("s"); }), "cannot read m.npz: tensor \"s\": descr is \"<U1\": texts");
}

TEST(Npz, DamagedEntriesAreErrors) {
  // Central directory: signature (4), two versions, flags, method (at 10), time, date, checksum (16), sizes (20, 24).
  const std::size_t central = npz_bytes.find("PK\x01\x02");
  const auto with = [&](std::size_t at, const std::string& value) {
    return std::string(npz_bytes).replace(central + at, value.size(), value);
  };
  EXPECT_THAT(opening_error(with(24, "\xFF\xFF\xFF\x7F")),
              AllOf(HasSubstr("tensor \"w\": size is 2147483647"), HasSubstr("cannot come of")));
  EXPECT_THAT(opening_error(with(20, "\xFF\xFF\xFF\x7F")),
              HasSubstr("tensor \"w\": compressed size is 2147483647"));
  const auto bzip = open(with(10, "\x0C"));
  ASSERT_EQ(bzip->unsupported().size(), 2u);
  EXPECT_THAT(bzip->unsupported()[0].reason, HasSubstr("tensor \"w\": compression method is 12"));
  const std::string wrong_sum = with(16, "abcd");
  EXPECT_THAT(error_of([&] {
                const auto file = open(wrong_sum);
                file->read(file->entry("w"));
              }),
              AllOf(HasSubstr("dir/w.npy: tensor \"w\""), HasSubstr("damaged (zip: CRC")));
  EXPECT_THAT(opening_error("PK\x03\x04 and nothing of a zip archive"), HasSubstr("damaged zip archive"));
  EXPECT_TRUE(open(std::string("PK\5\6", 4) + std::string(18, '\0'))->entries().empty());
}

TEST(Npz, TwoEntriesOfOneNameAreAnError) {
  // "s.npy" takes the name of "w.npy", in both places that have it.
  EXPECT_THAT(opening_error(edited(npz_bytes, "s.npy", "w.npy")),
              HasSubstr("tensor \"w\": the zip archive has two entries of this name"));
}

// ---- Damage -----------------------------------------------------------------------------------------------

// Every beginning of a file is an error; never another tensor, and never a crash.
TEST(Tensors, FilesThatAreCutShortAreErrors) {
  const std::vector<std::string> files{
      npy("<f4", "(2, 3)", std::string(24, 'x'), false),
      npy("{'descr': '>f8', 'fortran_order': True, 'shape': (2, 2)}", std::string(32, 'x'), 3),
      safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],)"
                  R"("data_offsets":[4,6]}})",
                  "123456"),
      npz_bytes};
  for (const std::string& whole : files)
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_THAT(opening_error(whole.substr(0, size)), HasSubstr("cannot read dir/w.npy")) << size;
}

// Any byte another one: an error, or tensors whose data are as large as their shape.
TEST(Tensors, DamagedBytesNeverGiveDataOfAnotherSize) {
  for (const std::string& whole :
       {npy("<f4", "(2, 3)", std::string(24, 'x'), true), npz_bytes,
        safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234")})
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const int flip : {1, 0x10, 0x80, 0xFF}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        try {
          const auto file = open(damaged);
          for (const TensorEntry& entry : file->entries())
            EXPECT_EQ(file->read(entry).data.size(), entry.size);
        } catch (const FileError& e) {
          EXPECT_THAT(e.what(), HasSubstr("dir/w.npy"));
        }
      }
}

}  // namespace
}  // namespace assay
