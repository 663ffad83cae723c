#include "../files/case_file.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "../files/fuzz/edit.h"
#include "vocabulary/operators.h"

// HDF5 1.10 loses a few bytes for each damaged object that it meets.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }
#endif

namespace assay {
namespace {

namespace fs = std::filesystem;

template <class T>
RecordedTensor tensor(Dtype dtype, Shape shape, const std::vector<T>& values) {
  RecordedTensor t{dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(t.data.data(), values.data(), t.data.size());
  return t;
}

RecordedCall sample_call() {
  RecordedCall call;
  call.op = "prelu";
  call.case_text = "prelu:f32:self=2x3,weight=3:data=wide:seed=42";
  call.seed = 18446744073709551615u;
  call.impl = "cpu.avx2";
  call.contract = "f32: ftz=yes -- src/prelu.c:40\nf16: compute=f16 -- the same";
  call.verdict = "diverged";
  call.detail = "out[0,1] is 2, allowed is 1 to 1 (\u00B1)";
  call.name = "layers.0.act";
  call.plugin = "/opt/libmine.so";
  call.program = {"/usr/bin/assay", "worker", "--plugin", "/opt/libmine.so", ""};
  call.variables = {"OMP_NUM_THREADS=1"};
  call.attempts = 100;
  call.failed_attempts = 37;
  call.notes = {{"engine", "mine 3.1"}};
  call.inputs["self"] = tensor<float>(Dtype::f32, {2, 3}, {1, -2, 0.0f, -0.0f, INFINITY, 1e-45f});
  call.inputs["weight"] = tensor<float>(Dtype::f32, {3}, {0.25f, 0.5f, -1});
  RecordedOutput out;
  out.shape = {2, 3};
  out.value = {1, 2, 3, 4, 5, std::numeric_limits<double>::quiet_NaN()};
  out.lower = {0, 1, 2, 3, 4, 1};
  out.upper = {2, 3, 4, 5, 6, -1};
  out.special = {0, 0, 0, kZeroSignDecided, kAdmitsPositiveInfinity, kAdmitsNan};
  out.actual = tensor<float>(Dtype::f32, {2, 3}, {1, 2, 3, 4, 5, NAN});
  call.outputs["out"] = out;
  call.stages["input after pack"] = tensor<std::uint16_t>(Dtype::bf16, {2, 2}, {1, 0x7FC1, 0x8000, 0xFF80});
  return call;
}

CaseFile sample_file() {
  CaseFile file;
  file.creator = "assay 0.1.0";
  file.cpu = "Xeon";
  file.isa = {"avx2", "avx512"};
  file.libraries = {{"dnnl", "2.7.5"}, {"odd", "=a=b"}};
  file.calls = {sample_call(), sample_call()};
  file.calls[1].op = "unheard_of";  // no operator of this program: the case text stays unread
  file.calls[1].case_text = "unheard_of:whatever";
  file.calls[1].inputs["tensors/0"] = tensor<std::int64_t>(Dtype::i64, {}, {-5});
  file.calls[1].inputs["tensors/1"] = tensor<std::int64_t>(Dtype::i64, {0, 3}, {});
  file.calls[1].stages.clear();
  return file;
}

std::string encoded(const CaseFile& file) { return encode_case_file(file, "t.h5"); }
CaseFile decoded(const std::string& bytes) { return decode_case_file(std::as_bytes(std::span(bytes)), "t.h5"); }

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

void expect_same(const RecordedCall& a, const RecordedCall& b) {
  EXPECT_EQ(a.op, b.op);
  EXPECT_EQ(a.case_text, b.case_text);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.impl, b.impl);
  EXPECT_EQ(a.contract, b.contract);
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.detail, b.detail);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.plugin, b.plugin);
  EXPECT_EQ(a.program, b.program);
  EXPECT_EQ(a.variables, b.variables);
  EXPECT_EQ(a.attempts, b.attempts);
  EXPECT_EQ(a.failed_attempts, b.failed_attempts);
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.stages, b.stages);
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (const auto& [name, out] : a.outputs) {
    const RecordedOutput& other = b.outputs.at(name);
    EXPECT_EQ(out.shape, other.shape);
    EXPECT_TRUE(same_bits(out.value, other.value));
    EXPECT_TRUE(same_bits(out.lower, other.lower));
    EXPECT_TRUE(same_bits(out.upper, other.upper));
    EXPECT_EQ(out.special, other.special);
    EXPECT_EQ(out.actual, other.actual);
  }
}

TEST(CaseFile, KeepsEverything) {
  const CaseFile file = sample_file();
  const CaseFile back = decoded(encoded(file));
  EXPECT_EQ(back.creator, file.creator);
  EXPECT_EQ(back.cpu, file.cpu);
  EXPECT_EQ(back.isa, file.isa);
  EXPECT_EQ(back.libraries, file.libraries);
  ASSERT_EQ(back.calls.size(), 2u);
  expect_same(back.calls[0], file.calls[0]);
  expect_same(back.calls[1], file.calls[1]);
}

TEST(CaseFile, KeepsTheOrderOfManyCalls) {
  CaseFile file;
  for (int i = 0; i < 120; ++i) {
    RecordedCall call;
    call.op = "unheard_of";
    call.name = std::to_string(i);
    file.calls.push_back(call);
  }
  const CaseFile back = decoded(encoded(file));
  ASSERT_EQ(back.calls.size(), 120u);
  for (int i = 0; i < 120; ++i) EXPECT_EQ(back.calls[static_cast<std::size_t>(i)].name, std::to_string(i));
}

TEST(CaseFile, HasTheSameBytesForTheSameContent) { EXPECT_EQ(encoded(sample_file()), encoded(sample_file())); }

TEST(CaseFile, KeepsLargeTextsAndTensors) {
  CaseFile file = sample_file();
  file.calls[0].detail = std::string(200'000, 'd') + "\n\0inside" + std::string(3, 'e');
  std::vector<std::uint8_t> values(20'000'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 31 >> 3);
  file.calls[1].inputs["large"] = tensor(Dtype::u8, {20, 1000, 1000}, values);
  file.calls[1].inputs["one row"] = tensor(Dtype::u8, {1, 20'000'000}, values);
  const CaseFile back = decoded(encoded(file));
  EXPECT_EQ(back.calls[0].detail, file.calls[0].detail);
  EXPECT_TRUE(back.calls[1].inputs == file.calls[1].inputs);
}

// Any tensor of any dtype comes back bit for bit: NaN payloads, -0, zero-dimensional and empty ones.
TEST(CaseFile, RoundTripsAnyTensor) {
  const bool ok = rc::check([] {
    CaseFile file;
    file.calls.resize(1);
    RecordedCall& call = file.calls[0];
    call.op = "unheard_of";
    const auto count = *rc::gen::inRange(0, 4);
    for (int i = 0; i < count; ++i) {
      RecordedTensor t;
      t.dtype = static_cast<Dtype>(*rc::gen::inRange(0, kDtypes));
      t.shape = *rc::gen::resize(4, rc::gen::container<Shape>(rc::gen::inRange<std::int64_t>(0, 5)));
      std::size_t size = static_cast<std::size_t>(bytes(t.dtype));
      for (const std::int64_t extent : t.shape) size *= static_cast<std::size_t>(extent);
      for (const std::uint8_t byte : *rc::gen::container<std::vector<std::uint8_t>>(size, rc::gen::arbitrary<std::uint8_t>()))
        t.data.push_back(static_cast<std::byte>(byte));
      RecordedOutput output;
      output.shape = t.shape;
      output.actual = t;
      if (*rc::gen::arbitrary<bool>()) {
        const std::size_t elements = size / static_cast<std::size_t>(bytes(t.dtype));
        for (const std::uint64_t bits : *rc::gen::container<std::vector<std::uint64_t>>(elements, rc::gen::arbitrary<std::uint64_t>()))
          output.value.push_back(std::bit_cast<double>(bits | 0x7FF0'0000'0000'0000));
        output.lower = output.upper = output.value;
        output.special.assign(elements, 15);
      }
      call.inputs["in" + std::to_string(i)] = t;
      call.stages["list/" + std::to_string(i)] = t;
      call.outputs["out" + std::to_string(i)] = output;
    }
    const RecordedCall back = decoded(encoded(file)).calls.at(0);
    RC_ASSERT(back.inputs == call.inputs);
    RC_ASSERT(back.stages == call.stages);
    RC_ASSERT(back.outputs.size() == call.outputs.size());
    for (const auto& [name, output] : call.outputs) {
      const RecordedOutput& other = back.outputs.at(name);
      RC_ASSERT(other.shape == output.shape);
      RC_ASSERT(other.actual == output.actual);
      RC_ASSERT(same_bits(other.value, output.value));
      RC_ASSERT(same_bits(other.upper, output.upper));
      RC_ASSERT(other.special == output.special);
    }
  });
  EXPECT_TRUE(ok);
}

// ---- What other programs see ----------------------------------------------------------------------------------

TEST(CaseFile, LiesInTheFileAsDocumented) {
  const std::string bytes = encoded(sample_file());
  const hdf5::Session session;
  const hdf5::Handle file = hdf5::open_image(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(hdf5::read_text(file, "format"), "assay.case/1");
  const hdf5::Handle call = hdf5::open_group(file, "calls/0");
  for (const char* name : {"op", "case", "seed", "impl", "contract"}) EXPECT_TRUE(hdf5::has_attribute(call, name)) << name;
  for (const char* name : {"inputs/self", "inputs/weight", "expected/out/value", "expected/out/lower", "expected/out/upper",
                           "actual/out", "stages/input after pack"})
    EXPECT_FALSE(hdf5::read_dataset(call, name).data.empty()) << name;
  const hdf5::Handle packed(H5Dopen2(call, "stages/input after pack", H5P_DEFAULT), H5Dclose, "open");
  EXPECT_EQ(hdf5::read_text(packed, "dtype"), "bf16");
  const hdf5::Handle type(H5Dget_type(packed), H5Tclose, "type");
  EXPECT_GT(H5Tequal(type, H5T_STD_U16LE), 0);
}

TEST(CaseFile, StoresHalfAsANumberThatOthersCanRead) {
  CaseFile file;
  file.calls.resize(1);
  file.calls[0].op = "unheard_of";
  file.calls[0].inputs["x"] = tensor<std::uint16_t>(Dtype::f16, {4}, {0x3C00, 0xC000, 0x0001, 0x7BFF});  // 1, -2, 2^-24, 65504
  const std::string bytes = encoded(file);
  const hdf5::Session session;
  const hdf5::Handle root = hdf5::open_image(std::as_bytes(std::span(bytes)));
  const hdf5::Handle dataset(H5Dopen2(root, "calls/0/inputs/x", H5P_DEFAULT), H5Dclose, "open");
  float values[4] = {};
  ASSERT_GE(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], -2.0f);
  EXPECT_EQ(values[2], std::ldexp(1.0f, -24));
  EXPECT_EQ(values[3], 65504.0f);
}

// ---- Files --------------------------------------------------------------------------------------------------------

class CaseFileOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-case-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  fs::path folder_;
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(CaseFileOnDisk, IsWrittenWholeAndReadBack) {
  const std::string name = path("new/folder/a.h5");
  write_case_file(name, sample_file());
  expect_same(read_case_file(name).calls.at(0), sample_call());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "new/folder"), fs::directory_iterator()), 1);
}

TEST_F(CaseFileOnDisk, SaysWhichFileCannotBeReadOrWritten) {
  EXPECT_EQ(error_of([&] { read_case_file(path("missing.h5")); }),
            "cannot read " + path("missing.h5") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { write_case_file("/proc/none/a.h5", sample_file()); }),
            "cannot create the folder /proc/none: No such file or directory");
  EXPECT_EQ(error_of([&] { write_case_file("/dev/full", sample_file()); }),
            "cannot write /dev/full: No space left on device: free some space, or choose another place");
}

TEST_F(CaseFileOnDisk, SaysThatAForeignFileIsForeign) {
  const auto error = [&](const std::string& bytes) { return error_of([&] { read_case_file(put("f.h5", bytes)); }); };
  const std::string start = "cannot read the case file " + path("f.h5") + ": ";
  EXPECT_EQ(error(""), start + "it is empty");
  EXPECT_EQ(error("PK\x03\x04"), start + "it is not an HDF5 file");
  EXPECT_EQ(error("\x89HDF"), start + "it is truncated");
  EXPECT_EQ(error(std::string("\x89HDF\r\n\x1a\n\0\0\0\0", 12)),
            start + "it is in HDF5's older file format, which has no checksums; write it in the newer one (libver=\"latest\" in h5py)");
}

// ---- Damage -----------------------------------------------------------------------------------------------------

TEST(CaseFileDamage, TruncationIsAlwaysFoundAndNamesTheFile) {
  CaseFile file = sample_file();
  std::vector<std::uint32_t> values(20'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u);
  file.calls[1].inputs["large"] = tensor(Dtype::i32, {20'000}, values);
  const std::string bytes = encoded(file);
  for (std::size_t n = 0; n < bytes.size(); n += 64) {
    const std::string error = error_of([&] { decoded(bytes.substr(0, n)); });
    EXPECT_EQ(error.find("cannot read the case file t.h5: "), 0u) << n << ": " << error;
  }
  EXPECT_NE(error_of([&] { decoded(bytes.substr(0, bytes.size() - 1)); }), "no error");
}

TEST(CaseFileDamage, AFlippedBitNeverGivesOtherNumbers) {
  CaseFile file = sample_file();
  std::vector<std::uint32_t> values(20'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u);
  file.calls[1].inputs["large"] = tensor(Dtype::i32, {20'000}, values);
  const std::string bytes = encoded(file);
  int found = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 61) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    try {
      // Bytes that belong to nothing may change.
      const CaseFile back = decoded(damaged);
      expect_same(back.calls.at(0), file.calls[0]);
      expect_same(back.calls.at(1), file.calls[1]);
    } catch (const FileError& error) {
      ++found;
      EXPECT_EQ(std::string(error.what()).find("cannot read the case file t.h5: "), 0u);
    }
  }
  EXPECT_GT(found * 61, static_cast<int>(bytes.size()) * 3 / 4) << bytes.size();
}

TEST(CaseFileDamage, HDF5PrintsNothing) {
  const std::string bytes = encoded(sample_file());
  testing::internal::CaptureStderr();
  EXPECT_NE(error_of([&] { decoded(bytes.substr(0, bytes.size() / 2)); }), "no error");
  std::string damaged = bytes;
  damaged[damaged.size() / 2] ^= 1;
  error_of([&] { decoded(damaged); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// ---- Files that HDF5 finds in order -----------------------------------------------------------------------------

// The message for the sample file after an edit.
std::string error_after(const std::function<void(hid_t root)>& edit) {
  const std::string bytes = hdf5::edited(encoded(sample_file()), edit);
  const std::string error = error_of([&] { decoded(bytes); });
  const std::string start = "cannot read the case file t.h5: ";
  return error.starts_with(start) ? error.substr(start.size()) : error;
}

void remove_link(hid_t root, const char* name) { hdf5::checked(H5Ldelete(root, name, H5P_DEFAULT), name); }
void remove_attribute(hid_t root, const char* object, const char* name) {
  hdf5::checked(H5Adelete_by_name(root, object, name, H5P_DEFAULT), name);
}
void set_text(hid_t root, const char* object, const char* name, const char* value) {
  const hdf5::Handle id(H5Oopen(root, object, H5P_DEFAULT), H5Oclose, object);
  if (hdf5::has_attribute(id, name)) H5Adelete(id, name);
  hdf5::write_text(id, name, value);
}
void set_number(hid_t root, const char* object, const char* name, hid_t type, const void* value) {
  const hdf5::Handle id(H5Oopen(root, object, H5P_DEFAULT), H5Oclose, object);
  if (hdf5::has_attribute(id, name)) H5Adelete(id, name);
  const hdf5::Handle space(H5Screate(H5S_SCALAR), H5Sclose, "space");
  const hdf5::Handle attribute(H5Acreate2(id, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name);
  H5Awrite(attribute, type, value);
}
void replace(hid_t root, const char* name, Dtype dtype, const Shape& shape, std::size_t bytes) {
  remove_link(root, name);
  hdf5::write_dataset(root, name, dtype, shape, std::vector<std::byte>(bytes), true);
}

TEST(CaseFileContent, AnUnchangedCopyIsRead) { EXPECT_EQ(error_after([](hid_t) {}), "no error"); }

TEST(CaseFileContent, FormatIsChecked) {
  EXPECT_EQ(error_after([](hid_t root) { remove_attribute(root, ".", "format"); }),
            "it is HDF5, but not a case file: the attribute format is missing");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, ".", "format", "model"); }),
            "it is HDF5, but not a case file: its format is \"model\", not assay.case/1");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, ".", "format", "assay.case/2"); }),
            "its format is assay.case/2, and this program reads assay.case/1: use a newer Assay");
  const std::int64_t one = 1;
  EXPECT_EQ(error_after([&](hid_t root) { set_number(root, ".", "format", H5T_NATIVE_INT64, &one); }),
            "attribute format is not text");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, ".", "libraries", "dnnl 2.7"); }),
            "attribute libraries has \"dnnl 2.7\", which is not NAME=VERSION");
}

TEST(CaseFileContent, MissingPartsAreNamed) {
  EXPECT_EQ(error_after([](hid_t root) { remove_link(root, "calls"); }), "calls is missing");
  EXPECT_EQ(error_after([](hid_t root) { remove_link(root, "calls/0"); }), "call 0: 0 is missing");
  EXPECT_EQ(error_after([](hid_t root) { remove_link(root, "calls/0/inputs"); }), "call 0: inputs is missing");
  EXPECT_EQ(error_after([](hid_t root) { remove_link(root, "calls/0/expected/out/value"); }),
            "call 0: expected/out: value is missing");
  EXPECT_EQ(error_after([](hid_t root) { remove_link(root, "calls/0/expected/out/upper"); }),
            "call 0: expected/out: upper is missing");
  for (const char* name : {"op", "case", "seed", "impl", "contract"})
    EXPECT_EQ(error_after([&](hid_t root) { remove_attribute(root, "calls/0", name); }),
              std::string("call 0: attribute ") + name + " is missing");
}

TEST(CaseFileContent, WhatMayBeMissingIsEmpty) {
  EXPECT_EQ(error_after([](hid_t root) {
    for (const char* name : {"verdict", "detail", "name", "plugin", "program", "variables", "attempts", "failed_attempts", "engine"})
      remove_attribute(root, "calls/0", name);
    for (const char* name : {"expected", "actual", "stages"}) remove_link(root, (std::string("calls/0/") + name).c_str());
    for (const char* name : {"creator", "cpu", "isa", "libraries"}) remove_attribute(root, ".", name);
  }), "no error");
}

TEST(CaseFileContent, AttributesOfAnotherKindAreNamed) {
  const std::int64_t negative = -1;
  const double real = 1;
  EXPECT_EQ(error_after([&](hid_t root) { set_number(root, "calls/0", "seed", H5T_NATIVE_INT64, &negative); }),
            "call 0: attribute seed is -1, below 0");
  EXPECT_EQ(error_after([&](hid_t root) { set_number(root, "calls/0", "seed", H5T_NATIVE_DOUBLE, &real); }),
            "call 0: attribute seed is not an integer");
  EXPECT_EQ(error_after([&](hid_t root) { set_text(root, "calls/0", "seed", "1"); }), "call 0: attribute seed is not an integer");
  EXPECT_EQ(error_after([](hid_t root) {
    const hdf5::Handle call = hdf5::open_group(root, "calls/0");
    H5Adelete(call, "op");
    hdf5::write_texts(call, "op", {"a", "b"});
  }), "call 0: attribute op is not one text but 2");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, "calls/0", "op", ""); }), "call 0: attribute op is empty");
  EXPECT_EQ(error_after([](hid_t root) {
    const char* text = "prelu";
    const hdf5::Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "type");
    H5Tset_size(type, H5T_VARIABLE);
    set_number(root, "calls/0", "op", type, &text);
  }), "call 0: attribute op is text of variable length, which HDF5 keeps without a checksum; write it with a fixed length "
      "(numpy.bytes_ in h5py)");
}

TEST(CaseFileContent, OtherIntegersAndUnknownAttributesAreFine) {
  EXPECT_EQ(error_after([&](hid_t root) {
    const std::int16_t seed = 7;
    set_number(root, "calls/0", "seed", H5T_NATIVE_INT16, &seed);
    set_number(root, "calls/0", "extra", H5T_NATIVE_INT16, &seed);
  }), "no error");
}

TEST(CaseFileContent, DatasetsThatDoNotFitAreNamed) {
  const auto shape = [](const char* name, const Shape& s, std::size_t bytes) {
    return error_after([=](hid_t root) { replace(root, name, Dtype::f64, s, bytes); });
  };
  EXPECT_EQ(shape("calls/0/expected/out/lower", {6}, 48), "call 0: expected/out: dataset lower is [6], but value is [2x3]");
  EXPECT_EQ(shape("calls/0/expected/out/special", {2, 3}, 48), "call 0: expected/out: dataset special is f64, not u8");
  EXPECT_EQ(shape("calls/0/actual/out", {3, 2}, 48), "call 0: actual/out is [3x2], but expected is [2x3]");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, "calls/0/inputs/self", "dtype", "float"); }),
            "call 0: dataset self: attribute dtype is \"float\", which is no dtype");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, "calls/0/inputs/self", "dtype", "bf16"); }),
            "call 0: dataset self: its HDF5 type does not hold bf16, which its attribute dtype says");
  EXPECT_EQ(error_after([](hid_t root) { remove_attribute(root, "calls/0/inputs/self", "dtype"); }), "no error");
  EXPECT_EQ(error_after([](hid_t root) { remove_attribute(root, "calls/0/stages/input after pack", "dtype"); }),
            "call 0: dataset input after pack: its HDF5 type is that of no dtype, and it has no attribute dtype");
}

TEST(CaseFileContent, ObjectsOfAnotherKindAreNamed) {
  EXPECT_EQ(error_after([](hid_t root) {
    remove_link(root, "calls/0/inputs");
    hdf5::write_dataset(root, "calls/0/inputs", Dtype::u8, {}, std::vector<std::byte>(1), true);
  }), "call 0: inputs is not a group");
  EXPECT_EQ(error_after([](hid_t root) {
    remove_link(root, "calls/0/actual/out");
    hdf5::create_group(root, "calls/0/actual/out");
  }), "call 0: out is a group, not a dataset");
  EXPECT_EQ(error_after([](hid_t root) {
    remove_link(root, "calls/0/inputs/self");
    H5Lcreate_soft("/calls/1/inputs/self", root, "calls/0/inputs/self", H5P_DEFAULT, H5P_DEFAULT);
  }), "call 0: self is a link to another place");
  EXPECT_EQ(error_after([](hid_t root) {
    remove_link(root, "calls/0");
    H5Lcreate_external("/etc/passwd", "/", root, "calls/0", H5P_DEFAULT, H5P_DEFAULT);
  }), "call 0: 0 is a link to another place");
}

// A dataset of a shape that the file cannot hold.
void claim(hid_t root, std::vector<hsize_t> sizes, bool chunked) {
  remove_link(root, "calls/0/inputs/self");
  const hdf5::Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose, "space");
  const hdf5::Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "plan");
  if (chunked) {
    const std::vector<hsize_t> chunk(sizes.size(), 1);
    H5Pset_chunk(plan, static_cast<int>(chunk.size()), chunk.data());
  } else {
    H5Pset_alloc_time(plan, H5D_ALLOC_TIME_LATE);
  }
  const hdf5::Handle dataset(
      H5Dcreate2(root, "calls/0/inputs/self", H5T_IEEE_F32LE, space, H5P_DEFAULT, plan, H5P_DEFAULT), H5Dclose, "create");
}

TEST(CaseFileContent, ClaimsThatTheFileCannotHoldTakeNoMemory) {
  EXPECT_EQ(error_after([](hid_t root) { claim(root, {1'000'000'000'000}, false); }),
            "call 0: dataset self: its shape needs 4000000000000 bytes, but only 0 are stored");
  EXPECT_EQ(error_after([](hid_t root) { claim(root, {1ull << 31, 1ull << 31, 1ull << 31}, true); }),
            "call 0: dataset self: its shape 2147483648x2147483648x2147483648 is too large");
  EXPECT_EQ(error_after([](hid_t root) { claim(root, {2, 3}, true); }),
            "call 0: dataset self: its shape needs 24 bytes, but only 0 are stored");
  EXPECT_EQ(error_after([](hid_t root) {
    remove_link(root, "calls/0/inputs/self");
    const hdf5::Handle space(H5Screate(H5S_NULL), H5Sclose, "space");
    H5Dclose(H5Dcreate2(root, "calls/0/inputs/self", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }), "call 0: dataset self: it has no elements and no shape");
}

TEST(CaseFileContent, DataInAnotherFileIsRefused) {
  EXPECT_EQ(error_after([](hid_t root) {
    remove_link(root, "calls/0/inputs/self");
    const hsize_t sizes[] = {2, 3};
    const hdf5::Handle space(H5Screate_simple(2, sizes, nullptr), H5Sclose, "space");
    const hdf5::Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "plan");
    H5Pset_external(plan, "/etc/passwd", 0, 24);
    H5Dclose(H5Dcreate2(root, "calls/0/inputs/self", H5T_IEEE_F32LE, space, H5P_DEFAULT, plan, H5P_DEFAULT));
  }), "call 0: dataset self: its data is kept in another file");
}

// ---- The case text ----------------------------------------------------------------------------------------------

TEST(CaseFileContent, DatasetsMustBeThoseOfTheCaseText) {
  ASSERT_NE(find_operator("prelu"), nullptr);
  EXPECT_EQ(error_after([](hid_t root) { remove_link(root, "calls/0/inputs/weight"); }),
            "call 0: dataset inputs/weight is missing: the case text has that tensor");
  EXPECT_EQ(error_after([](hid_t root) { replace(root, "calls/0/inputs/weight", Dtype::f32, {4}, 16); }),
            "call 0: dataset inputs/weight is f32[4], but the case text says f32[3]");
  EXPECT_EQ(error_after([](hid_t root) { replace(root, "calls/0/inputs/weight", Dtype::f64, {3}, 24); }),
            "call 0: dataset inputs/weight is f64[3], but the case text says f32[3]");
  EXPECT_EQ(error_after([](hid_t root) {
    hdf5::write_dataset(root, "calls/0/inputs/bias", Dtype::f32, {}, std::vector<std::byte>(4), true);
  }), "call 0: dataset inputs/bias is there, but the case text has no such tensor");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, "calls/0", "case", "prelu:f32:self=2y3,weight=3"); })
                .find("call 0: attribute case: bad case text: "), 0u);
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, "calls/0", "case", "relu:f32:self=2x3"); }),
            "call 0: attribute op is prelu, but the case text is of relu");
}

constexpr Operator kStack{.schema = parse_schema("assay::files_test_stack(Tensor[] tensors, int dim=0) -> Tensor")};

// In a process of its own: the operator must not reach other tests.
TEST(CaseFileContent, EntriesOfListsAreInputsToo) {
  EXPECT_EXIT({
    enrol_operator(kStack);
    CaseFile file;
    file.calls.resize(1);
    RecordedCall& call = file.calls[0];
    call.op = kStack.schema.name;
    call.case_text = call.op + ":f32:tensors=[[2],[3]]";
    call.inputs["tensors/0"] = tensor<float>(Dtype::f32, {2}, {1, 2});
    call.inputs["tensors/1"] = tensor<float>(Dtype::f32, {3}, {1, 2, 3});
    std::string error = error_of([&] { EXPECT_EQ(decoded(encoded(file)).calls.at(0).inputs, call.inputs); });
    if (error == "no error") {
      call.inputs.erase("tensors/1");
      error = error_of([&] { encoded(file); });
    }
    std::fputs(error.c_str(), stderr);
    std::_Exit(0);
  }, testing::ExitedWithCode(0), "cannot write t.h5: call 0: dataset inputs/tensors/1 is missing: the case text has that tensor");
}

// ---- What cannot be written ---------------------------------------------------------------------------------------

std::string write_error(const std::function<void(RecordedCall&)>& change) {
  CaseFile file;
  file.calls.resize(1);
  file.calls[0].op = "unheard_of";
  change(file.calls[0]);
  return error_of([&] { encoded(file); });
}

TEST(CaseFileWriting, SaysWhatIsWrongWithACall) {
  const std::string start = "cannot write t.h5: call 0: ";
  EXPECT_EQ(write_error([](RecordedCall& c) { c.op.clear(); }), start + "attribute op is empty");
  EXPECT_EQ(write_error([](RecordedCall& c) { c.inputs["x"] = {Dtype::f32, {2}, std::vector<std::byte>(7)}; }),
            start + "x has 7 bytes of data, which is not f32[2]");
  EXPECT_EQ(write_error([](RecordedCall& c) { c.inputs["x"] = {Dtype::u8, Shape(33, 1), std::vector<std::byte>(1)}; }),
            start + "x has 33 dimensions; HDF5 allows 32");
  EXPECT_EQ(write_error([](RecordedCall& c) { c.inputs["x"] = {Dtype::u8, {-1, -1}, std::vector<std::byte>(1)}; }),
            start + "x has 1 bytes of data, which is not u8[-1x-1]");
  for (const char* name : {"", ".", "..", "a/b/c", "/a", "a/", "a\nb"})
    EXPECT_EQ(write_error([&](RecordedCall& c) { c.stages[name] = {Dtype::u8, {}, std::vector<std::byte>(1)}; })
                  .find(start + "stage name \""), 0u) << name;
  EXPECT_EQ(write_error([](RecordedCall& c) { c.notes["op"] = "x"; }), start + "note op is an attribute of every call");
  const auto output = [&](RecordedOutput out) { return write_error([&](RecordedCall& c) { c.outputs["out"] = out; }); };
  EXPECT_EQ(output({{2, 3}, {1, 2}, {}, {}, {}, {}}), start + "expected/out/value has 2 numbers, its shape [2x3] needs 6");
  EXPECT_EQ(output({{2}, {1, 2}, {1}, {1, 2}, {}, {}}), start + "expected/out/lower has 1 numbers, its shape [2] needs 2");
  EXPECT_EQ(output({{2}, {1, 2}, {1, 2}, {}, {}, {}}), start + "expected/out has only one of lower and upper");
  EXPECT_EQ(output({{2}, {1, 2}, {}, {}, {1}, {}}), start + "expected/out/special has 1 numbers, its shape [2] needs 2");
  EXPECT_EQ(output({{2}, {1, 2}, {}, {}, {}, RecordedTensor{Dtype::u8, {1}, std::vector<std::byte>(1)}}),
            start + "actual/out is [1], but expected is [2]");
}

TEST(CaseFileWriting, IsSafeFromManyThreads) {
  const std::string expected = encoded(sample_file());
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) good[t] += encoded(decoded(expected)) == expected ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 10));
}

}  // namespace
}  // namespace assay
