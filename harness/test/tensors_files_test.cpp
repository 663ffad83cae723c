// Tensors that others wrote, read from the disk: the format by content, folders, raw files, HDF5 of any writer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "files_sample.h"
#include "harness/files/hdf5.h"
#include "reports/temporary_folder.h"
#include "tensors_bytes.h"

namespace assay {
namespace {

using hdf5::Handle;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class TensorFiles : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  std::string write(const std::string& name, const std::string& bytes) const {
    write_file(path(name), bytes);
    return path(name);
  }

  TemporaryFolder folder_;
};

TEST_F(TensorFiles, AreKnownByTheirContentAndMapped) {
  const std::string file = write("w.bin", npy("<i2", "(2,)", std::string("\1\0\2\0", 4), false));
  const auto opened = open_tensors(file);
  const RecordedTensor expected = tensor<std::int16_t>(Dtype::i16, {2}, {1, 2});
  EXPECT_EQ(opened->read(opened->entry("w")), expected);
  EXPECT_TRUE(std::ranges::equal(opened->view(opened->entry("w")).value(), expected.data));
  const auto raw = open_tensors("raw:u8[" + std::to_string(fs::file_size(file)) + "]@" + file);
  EXPECT_EQ(raw->entries().at(0).size, fs::file_size(file));
  EXPECT_THAT(error_of([&] { open_tensors(path("none.npy")); }),
              AllOf(HasSubstr("none.npy"), HasSubstr("No such file")));
}

TEST_F(TensorFiles, AFolderHasItsNpyFiles) {
  EXPECT_THAT(error_of([&] { open_tensors(folder_.path().string()); }), HasSubstr("it has no .npy file"));
  write("b.npy", npy("|u1", "(1,)", "b", false));
  write("a.npy", npy("|u1", "(1,)", "a", false));
  write("c.npy", npy("<c8", "(1,)", "12345678", false));
  write("notes.txt", "not looked at");
  const auto file = open_tensors(folder_.path().string());
  ASSERT_EQ(file->entries().size(), 2u);
  EXPECT_EQ(file->entries()[0].name, "a");
  EXPECT_EQ(file->read(file->entry("b")), tensor<char>(Dtype::u8, {1}, {'b'}));
  EXPECT_THAT(error_of([&] { file->entry("c"); }), AllOf(HasSubstr("c.npy"), HasSubstr("descr is \"<c8\"")));
  write("d.npy", "no npy");
  EXPECT_THAT(error_of([&] { open_tensors(folder_.path().string()); }),
              HasSubstr("d.npy: tensor \"d\": it does not begin"));
}

TEST_F(TensorFiles, CaseFilesHaveTheirTensorsByPath) {
  write_case_file(path("case.h5"), sample_file());
  const auto file = open_tensors(path("case.h5"));
  const CaseFile expected = sample_file();
  EXPECT_EQ(file->read(file->entry("calls/0/inputs/self")), expected.calls[0].inputs.at("self"));
  EXPECT_EQ(file->read(file->entry("calls/0/actual/out")), *expected.calls[0].outputs.at("out").actual);
  EXPECT_EQ(file->read(file->entry("calls/0/expected/out/lower")).dtype, Dtype::f64);
  EXPECT_EQ(file->read(file->entry("calls/0/stages/input after pack")),
            expected.calls[0].stages.at("input after pack"));
  EXPECT_TRUE(file->unsupported().empty());
}

// ---- HDF5 of other programs -------------------------------------------------------------------------------

// A dataset of these bytes, in chunks of one row if asked.
void add(hid_t group, const char* name, hid_t type, const std::vector<hsize_t>& sizes, const void* data,
         bool chunked = false) {
  const Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose, name);
  const Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, name);
  if (chunked) {
    std::vector<hsize_t> chunk = sizes;
    chunk[0] = 1;
    hdf5::checked(H5Pset_chunk(plan, static_cast<int>(chunk.size()), chunk.data()), name);
    hdf5::checked(H5Pset_deflate(plan, 1), name);
  }
  const Handle dataset(H5Dcreate2(group, name, type, space, H5P_DEFAULT, plan, H5P_DEFAULT), H5Dclose, name);
  hdf5::checked(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), name);
}

// h5py's bool.
Handle bool_type() {
  Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose, "bool");
  for (const auto& [name, number] : {std::pair("FALSE", 0), std::pair("TRUE", 1)}) {
    const auto value = static_cast<std::int8_t>(number);
    hdf5::checked(H5Tenum_insert(type, name, &value), "bool");
  }
  return type;
}

// In the older file format, as most programs write it.
void write_hdf5(const std::string& path) {
  const hdf5::Session session;
  const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, "a file");
  const Handle group(H5Gcreate2(file, "layers", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, "a group");
  const std::vector<float> floats{1, -2, 3, 0.5f, NAN, 6};
  add(group, "plain", H5T_IEEE_F32LE, {2, 3}, floats.data());
  add(group, "chunked", H5T_IEEE_F32LE, {2, 3}, floats.data(), true);
  add(file, "empty", H5T_IEEE_F64LE, {0, 2}, floats.data());
  add(file, "big", H5T_STD_I16BE, {2}, "\0\1\xFF\xFE");
  add(file, "flags", bool_type(), {3}, "\1\0\1");
  add(file, "unsigned", H5T_STD_U32LE, {1}, floats.data());
  const Handle text(H5Tcopy(H5T_C_S1), H5Tclose, "a text");
  add(file, "text", text, {3}, "abc");
  hdf5::checked(H5Lcreate_soft("/big", file, "soft", H5P_DEFAULT, H5P_DEFAULT), "a link");
  hdf5::checked(H5Lcreate_hard(file, "/", group, "again", H5P_DEFAULT, H5P_DEFAULT), "a link");
}

TEST_F(TensorFiles, Hdf5OfAnyLayoutIsRead) {
  write_hdf5(path("x.h5"));
  const auto file = open_tensors(path("x.h5"));
  EXPECT_EQ(file->entries().size(), 5u);
  const RecordedTensor expected = tensor<float>(Dtype::f32, {2, 3}, {1, -2, 3, 0.5f, NAN, 6});
  EXPECT_EQ(file->read(file->entry("layers/plain")), expected);
  EXPECT_EQ(file->read(file->entry("layers/chunked")), expected);
  EXPECT_TRUE(std::ranges::equal(file->view(file->entry("layers/plain")).value(), expected.data));
  EXPECT_FALSE(file->view(file->entry("layers/chunked")));
  EXPECT_EQ(file->read(file->entry("big")), tensor<std::int16_t>(Dtype::i16, {2}, {1, -2}));
  EXPECT_EQ(file->read(file->entry("flags")), tensor<char>(Dtype::boolean, {3}, {1, 0, 1}));
  EXPECT_EQ(file->read(file->entry("empty")).shape, (Shape{0, 2}));
  ASSERT_EQ(file->unsupported().size(), 3u);
  EXPECT_THAT(error_of([&] { file->entry("unsigned"); }),
              AllOf(HasSubstr("x.h5: tensor \"unsigned\""), HasSubstr("unsigned integers of 4 bytes")));
  EXPECT_THAT(error_of([&] { file->entry("text"); }), HasSubstr("its HDF5 type is texts"));
  EXPECT_THAT(error_of([&] { file->entry("soft"); }), HasSubstr("a link to another place"));
}

TEST_F(TensorFiles, Hdf5ThatIsCutShortIsAnError) {
  write_hdf5(path("x.h5"));
  const std::string whole = read_file(path("x.h5"));
  for (std::size_t size = 0; size < whole.size(); size += 97)
    EXPECT_THAT(error_of([&] { open_tensors(write("short.h5", whole.substr(0, size))); }),
                HasSubstr("short.h5"))
        << size;
}

}  // namespace
}  // namespace assay
