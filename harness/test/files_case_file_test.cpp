#include "../files/case_file.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "../files/hdf5.h"
#include "files_sample.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

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

TEST(CaseFile, KeepsCallsBesideACall) {
  CaseFile file = sample_file();
  file.calls.push_back(sample_sequence());
  const CaseFile back = decoded(encoded(file));
  ASSERT_EQ(back.calls.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) expect_same(back.calls[i], file.calls[i]);
  file.calls[2].after[0].inputs.erase("weight");
  EXPECT_NE(error_of([&] { encoded(file); }).find("call 2: dataset inputs/weight is missing"), std::string::npos)
      << error_of([&] { encoded(file); });
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

TEST(CaseFile, HasTheSameBytesForTheSameContent) {
  EXPECT_EQ(encoded(sample_file()), encoded(sample_file()));
}

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
      for (const std::uint8_t byte :
           *rc::gen::container<std::vector<std::uint8_t>>(size, rc::gen::arbitrary<std::uint8_t>()))
        t.data.push_back(static_cast<std::byte>(byte));
      RecordedOutput output;
      output.shape = t.shape;
      output.actual = t;
      if (*rc::gen::arbitrary<bool>()) {
        const std::size_t elements = size / static_cast<std::size_t>(bytes(t.dtype));
        for (const std::uint64_t bits :
             *rc::gen::container<std::vector<std::uint64_t>>(elements, rc::gen::arbitrary<std::uint64_t>()))
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

// ---- What other programs see ------------------------------------------------------------------------------

TEST(CaseFile, LiesInTheFileAsDocumented) {
  const std::string bytes = encoded(sample_file());
  const hdf5::Session session;
  const hdf5::Handle file = hdf5::open_image(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(hdf5::read_text(file, "format"), "assay.case/1");
  const hdf5::Handle call = hdf5::open_group(file, "calls/0");
  for (const char* name : {"op", "case", "seed", "impl", "contract"})
    EXPECT_TRUE(hdf5::has_attribute(call, name)) << name;
  for (const char* name : {"inputs/self", "inputs/weight", "expected/out/value", "expected/out/lower",
                           "expected/out/upper", "actual/out", "stages/input after pack"})
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
  file.calls[0].inputs["x"] =
      tensor<std::uint16_t>(Dtype::f16, {4}, {0x3C00, 0xC000, 0x0001, 0x7BFF});  // 1, -2, 2^-24, 65504
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

// ---- Files ------------------------------------------------------------------------------------------------

class CaseFileOnDisk : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  TemporaryFolder folder_;
};

TEST_F(CaseFileOnDisk, IsWrittenWholeAndReadBack) {
  const std::string name = path("new/folder/a.h5");
  write_case_file(name, sample_file());
  expect_same(read_case_file(name).calls.at(0), sample_call());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() / "new/folder"), fs::directory_iterator()),
            1);
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
  const auto error = [&](const std::string& bytes) {
    return error_of([&] { read_case_file(put("f.h5", bytes)); });
  };
  const std::string start = "cannot read the case file " + path("f.h5") + ": ";
  EXPECT_EQ(error(""), start + "it is empty");
  EXPECT_EQ(error("PK\x03\x04"), start + "it is not an HDF5 file");
  EXPECT_EQ(error("\x89HDF"), start + "it is truncated");
  EXPECT_EQ(
      error(std::string("\x89HDF\r\n\x1a\n\0\0\0\0", 12)),
      start +
          "it is in HDF5's older file format, which has no checksums; write it in the newer one (libver=\"latest\" in h5py)");
}

// ---- What cannot be written -------------------------------------------------------------------------------

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
  EXPECT_EQ(write_error([](RecordedCall& c) {
              c.inputs["x"] = {Dtype::f32, {2}, std::vector<std::byte>(7)};
            }),
            start + "x has 7 bytes of data, which is not f32[2]");
  EXPECT_EQ(write_error([](RecordedCall& c) {
              c.inputs["x"] = {Dtype::u8, Shape(33, 1), std::vector<std::byte>(1)};
            }),
            start + "x has 33 dimensions; HDF5 allows 32");
  EXPECT_EQ(write_error([](RecordedCall& c) {
              c.inputs["x"] = {Dtype::u8, {-1, -1}, std::vector<std::byte>(1)};
            }),
            start + "x has 1 bytes of data, which is not u8[-1x-1]");
  for (const char* name : {"", ".", "..", "a/b/c", "/a", "a/", "a\nb"})
    EXPECT_EQ(write_error([&](RecordedCall& c) {
                c.stages[name] = {Dtype::u8, {}, std::vector<std::byte>(1)};
              }).find(start + "stage name \""),
              0u)
        << name;
  EXPECT_EQ(write_error([](RecordedCall& c) { c.notes["op"] = "x"; }),
            start + "note op is an attribute of every call");
  const auto output = [&](RecordedOutput out) {
    return write_error([&](RecordedCall& c) { c.outputs["out"] = out; });
  };
  EXPECT_EQ(output({{2, 3}, {1, 2}, {}, {}, {}, {}}),
            start + "expected/out/value has 2 numbers, its shape [2x3] needs 6");
  EXPECT_EQ(output({{2}, {1, 2}, {1}, {1, 2}, {}, {}}),
            start + "expected/out/lower has 1 numbers, its shape [2] needs 2");
  EXPECT_EQ(output({{2}, {1, 2}, {1, 2}, {}, {}, {}}),
            start + "expected/out has only one of lower and upper");
  EXPECT_EQ(output({{2}, {1, 2}, {}, {}, {1}, {}}),
            start + "expected/out/special has 1 numbers, its shape [2] needs 2");
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
