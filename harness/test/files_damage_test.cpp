// Case files that are damaged, or that HDF5 finds in order but Assay does not.
#include <gtest/gtest.h>

#include <cstdlib>

#include "../files/fuzz/edit.h"
#include "files_sample.h"
#include "vocabulary/operators.h"

// HDF5 1.10 loses a few bytes for each damaged object that it meets.
#if defined(ASSAY_SANITIZE_ADDRESS)
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }
#endif

namespace assay {
namespace {

// ---- Damage -----------------------------------------------------------------------------------------------

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

// ---- Files that HDF5 finds in order -----------------------------------------------------------------------

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

TEST(CaseFileContent, AnUnchangedCopyIsRead) {
  EXPECT_EQ(error_after([](hid_t) {}), "no error");
}

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
  EXPECT_EQ(error_after([](hid_t root) { remove_link(root, "calls/0/inputs"); }),
            "call 0: inputs is missing");
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
              for (const char* name : {"verdict", "detail", "name", "plugin", "program", "variables",
                                       "attempts", "failed_attempts", "engine"})
                remove_attribute(root, "calls/0", name);
              for (const char* name : {"expected", "actual", "stages"})
                remove_link(root, (std::string("calls/0/") + name).c_str());
              for (const char* name : {"creator", "cpu", "isa", "libraries"})
                remove_attribute(root, ".", name);
            }),
            "no error");
}

TEST(CaseFileContent, AttributesOfAnotherKindAreNamed) {
  const std::int64_t negative = -1;
  const double real = 1;
  EXPECT_EQ(
      error_after([&](hid_t root) { set_number(root, "calls/0", "seed", H5T_NATIVE_INT64, &negative); }),
      "call 0: attribute seed is -1, below 0");
  EXPECT_EQ(error_after([&](hid_t root) { set_number(root, "calls/0", "seed", H5T_NATIVE_DOUBLE, &real); }),
            "call 0: attribute seed is not an integer");
  EXPECT_EQ(error_after([&](hid_t root) { set_text(root, "calls/0", "seed", "1"); }),
            "call 0: attribute seed is not an integer");
  EXPECT_EQ(error_after([](hid_t root) {
              const hdf5::Handle call = hdf5::open_group(root, "calls/0");
              H5Adelete(call, "op");
              hdf5::write_texts(call, "op", {"a", "b"});
            }),
            "call 0: attribute op is not one text but 2");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, "calls/0", "op", ""); }),
            "call 0: attribute op is empty");
  EXPECT_EQ(
      error_after([](hid_t root) {
        const char* text = "prelu";
        const hdf5::Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "type");
        H5Tset_size(type, H5T_VARIABLE);
        set_number(root, "calls/0", "op", type, &text);
      }),
      "call 0: attribute op is text of variable length, which HDF5 keeps without a checksum; write it with a fixed length "
      "(numpy.bytes_ in h5py)");
}

TEST(CaseFileContent, OtherIntegersAndUnknownAttributesAreFine) {
  EXPECT_EQ(error_after([&](hid_t root) {
              const std::int16_t seed = 7;
              set_number(root, "calls/0", "seed", H5T_NATIVE_INT16, &seed);
              set_number(root, "calls/0", "extra", H5T_NATIVE_INT16, &seed);
            }),
            "no error");
}

TEST(CaseFileContent, DatasetsThatDoNotFitAreNamed) {
  const auto shape = [](const char* name, const Shape& s, std::size_t bytes) {
    return error_after([=](hid_t root) { replace(root, name, Dtype::f64, s, bytes); });
  };
  EXPECT_EQ(shape("calls/0/expected/out/lower", {6}, 48),
            "call 0: expected/out: dataset lower is [6], but value is [2x3]");
  EXPECT_EQ(shape("calls/0/expected/out/special", {2, 3}, 48),
            "call 0: expected/out: dataset special is f64, not u8");
  EXPECT_EQ(shape("calls/0/actual/out", {3, 2}, 48), "call 0: actual/out is [3x2], but expected is [2x3]");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, "calls/0/inputs/self", "dtype", "float"); }),
            "call 0: dataset self: attribute dtype is \"float\", which is no dtype");
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, "calls/0/inputs/self", "dtype", "bf16"); }),
            "call 0: dataset self: its HDF5 type does not hold bf16, which its attribute dtype says");
  EXPECT_EQ(error_after([](hid_t root) { remove_attribute(root, "calls/0/inputs/self", "dtype"); }),
            "no error");
  EXPECT_EQ(
      error_after([](hid_t root) { remove_attribute(root, "calls/0/stages/input after pack", "dtype"); }),
      "call 0: dataset input after pack: its HDF5 type is that of no dtype, and it has no attribute dtype");
}

TEST(CaseFileContent, ObjectsOfAnotherKindAreNamed) {
  EXPECT_EQ(error_after([](hid_t root) {
              remove_link(root, "calls/0/inputs");
              hdf5::write_dataset(root, "calls/0/inputs", Dtype::u8, {}, std::vector<std::byte>(1), true);
            }),
            "call 0: inputs is not a group");
  EXPECT_EQ(error_after([](hid_t root) {
              remove_link(root, "calls/0/actual/out");
              hdf5::create_group(root, "calls/0/actual/out");
            }),
            "call 0: out is a group, not a dataset");
  EXPECT_EQ(error_after([](hid_t root) {
              remove_link(root, "calls/0/inputs/self");
              H5Lcreate_soft("/calls/1/inputs/self", root, "calls/0/inputs/self", H5P_DEFAULT, H5P_DEFAULT);
            }),
            "call 0: self is a link to another place");
  EXPECT_EQ(error_after([](hid_t root) {
              remove_link(root, "calls/0");
              H5Lcreate_external("/etc/passwd", "/", root, "calls/0", H5P_DEFAULT, H5P_DEFAULT);
            }),
            "call 0: 0 is a link to another place");
}

// A dataset of a shape that the file cannot hold.
void claim(hid_t root, std::vector<hsize_t> sizes, bool chunked) {
  remove_link(root, "calls/0/inputs/self");
  const hdf5::Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose,
                           "space");
  const hdf5::Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "plan");
  if (chunked) {
    const std::vector<hsize_t> chunk(sizes.size(), 1);
    H5Pset_chunk(plan, static_cast<int>(chunk.size()), chunk.data());
  } else {
    H5Pset_alloc_time(plan, H5D_ALLOC_TIME_LATE);
  }
  const hdf5::Handle dataset(
      H5Dcreate2(root, "calls/0/inputs/self", H5T_IEEE_F32LE, space, H5P_DEFAULT, plan, H5P_DEFAULT),
      H5Dclose, "create");
}

TEST(CaseFileContent, ClaimsThatTheFileCannotHoldTakeNoMemory) {
  EXPECT_EQ(error_after([](hid_t root) { claim(root, {1'000'000'000'000}, false); }),
            "call 0: dataset self: its shape needs 4000000000000 bytes, but only 0 are stored");
  EXPECT_EQ(error_after([](hid_t root) {
              claim(root, {1ull << 31, 1ull << 31, 1ull << 31}, true);
            }),
            "call 0: dataset self: its shape 2147483648x2147483648x2147483648 is too large");
  EXPECT_EQ(error_after([](hid_t root) {
              claim(root, {2, 3}, true);
            }),
            "call 0: dataset self: its shape needs 24 bytes, but only 0 are stored");
  EXPECT_EQ(error_after([](hid_t root) {
              remove_link(root, "calls/0/inputs/self");
              const hdf5::Handle space(H5Screate(H5S_NULL), H5Sclose, "space");
              H5Dclose(H5Dcreate2(root, "calls/0/inputs/self", H5T_IEEE_F32LE, space, H5P_DEFAULT,
                                  H5P_DEFAULT, H5P_DEFAULT));
            }),
            "call 0: dataset self: it has no elements and no shape");
}

TEST(CaseFileContent, DataInAnotherFileIsRefused) {
  EXPECT_EQ(error_after([](hid_t root) {
              remove_link(root, "calls/0/inputs/self");
              const hsize_t sizes[] = {2, 3};
              const hdf5::Handle space(H5Screate_simple(2, sizes, nullptr), H5Sclose, "space");
              const hdf5::Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "plan");
              H5Pset_external(plan, "/etc/passwd", 0, 24);
              H5Dclose(H5Dcreate2(root, "calls/0/inputs/self", H5T_IEEE_F32LE, space, H5P_DEFAULT, plan,
                                  H5P_DEFAULT));
            }),
            "call 0: dataset self: its data is kept in another file");
}

void link(hid_t root, const std::string& from, const std::string& to) {
  hdf5::checked(H5Lcreate_hard(root, from.c_str(), root, to.c_str(), H5P_DEFAULT, H5P_DEFAULT), to);
}

TEST(CaseFileContent, HardLinksMakeAFileNoLarger) {
  const std::string many = "bytes would be read: hard links make one object many";
  const std::string large = error_after([](hid_t root) {
    constexpr std::int64_t kSize = 16 << 20;
    hdf5::write_dataset(root, "calls/0/stages/zeros", Dtype::u8, {kSize}, std::vector<std::byte>(kSize),
                        true);
    for (int i = 0; i < 100; ++i)
      link(root, "calls/0/stages/zeros", "calls/0/stages/zeros " + std::to_string(i));
  });
  EXPECT_EQ(large.find("call 0: dataset zeros "), 0u) << large;
  EXPECT_TRUE(large.ends_with(many)) << large;
  const std::string empty = error_after([](hid_t root) {
    hdf5::create_group(root, "calls/0/stages/list");
    hdf5::write_dataset(root, "calls/0/stages/list/0", Dtype::u8, {0}, {}, true);
    for (int i = 1; i < 1000; ++i) {
      link(root, "calls/0/stages/list/0", "calls/0/stages/list/" + std::to_string(i));
      link(root, "calls/0/stages/list", "calls/0/stages/list " + std::to_string(i));
    }
  });
  EXPECT_TRUE(empty.ends_with(many)) << empty;
  const std::string calls = error_after([](hid_t root) {
    set_text(root, "calls/0", "detail", std::string(60000, 'x').c_str());
    for (int i = 2; i < 10000; ++i) link(root, "calls/0", "calls/" + std::to_string(i));
  });
  EXPECT_TRUE(calls.ends_with(many)) << calls;
}

// ---- The case text ----------------------------------------------------------------------------------------

TEST(CaseFileContent, DatasetsMustBeThoseOfTheCaseText) {
  ASSERT_NE(find_operator("prelu"), nullptr);
  EXPECT_EQ(error_after([](hid_t root) { remove_link(root, "calls/0/inputs/weight"); }),
            "call 0: dataset inputs/weight is missing: the case text has that tensor");
  EXPECT_EQ(error_after([](hid_t root) { replace(root, "calls/0/inputs/weight", Dtype::f32, {4}, 16); }),
            "call 0: dataset inputs/weight is f32[4], but the case text says f32[3]");
  EXPECT_EQ(error_after([](hid_t root) { replace(root, "calls/0/inputs/weight", Dtype::f64, {3}, 24); }),
            "call 0: dataset inputs/weight is f64[3], but the case text says f32[3]");
  EXPECT_EQ(error_after([](hid_t root) {
              hdf5::write_dataset(root, "calls/0/inputs/bias", Dtype::f32, {}, std::vector<std::byte>(4),
                                  true);
            }),
            "call 0: dataset inputs/bias is there, but the case text has no such tensor");
  EXPECT_EQ(error_after([](hid_t root) {
              set_text(root, "calls/0", "case", "prelu:f32:self=2y3,weight=3");
            }).find("call 0: attribute case: bad case text: "),
            0u);
  EXPECT_EQ(error_after([](hid_t root) { set_text(root, "calls/0", "case", "relu:f32:self=2x3"); }),
            "call 0: attribute op is prelu, but the case text is of relu");
}

constexpr Operator kStack{.schema =
                              parse_schema("assay::files_test_stack(Tensor[] tensors, int dim=0) -> Tensor")};

// In a process of its own: the operator must not reach other tests.
TEST(CaseFileContent, EntriesOfListsAreInputsToo) {
  EXPECT_EXIT(
      {
        enrol_operator(kStack);
        CaseFile file;
        file.calls.resize(1);
        RecordedCall& call = file.calls[0];
        call.op = kStack.schema.name;
        call.case_text = call.op + ":f32:tensors=[[2],[3]]";
        call.inputs["tensors/0"] = tensor<float>(Dtype::f32, {2}, {1, 2});
        call.inputs["tensors/1"] = tensor<float>(Dtype::f32, {3}, {1, 2, 3});
        std::string error =
            error_of([&] { EXPECT_EQ(decoded(encoded(file)).calls.at(0).inputs, call.inputs); });
        if (error == "no error") {
          call.inputs.erase("tensors/1");
          error = error_of([&] { encoded(file); });
        }
        std::fputs(error.c_str(), stderr);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      "cannot write t.h5: call 0: dataset inputs/tensors/1 is missing: the case text has that tensor");
}

}  // namespace
}  // namespace assay
