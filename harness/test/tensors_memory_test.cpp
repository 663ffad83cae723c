// Files with more in them than there is memory for: an error that names the file, and the tensor.
#include <filesystem>

#include "command_line_fixture.h"
#include "harness/files/hdf5.h"
#include "tensors_bytes.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class TensorMemory : public CommandLine {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer takes more memory than this";
  }
  // In 4 GB, where a tensor of three can be mapped, and not copied.
  static Finished limited(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-c", "ulimit -v 3900000 && exec \"$@\"", "sh", ASSAY_PROGRAM});
    return run_program("/bin/sh", arguments, {"OPENBLAS_NUM_THREADS=1"});
  }
  static Finished read(const std::string& path) {
    return limited({"diagnose", "--op", "relu", "--arg", "self=@" + path, "--actual", path});
  }
  // Takes no room on a disk.
  std::string sparse(const std::string& name, const std::string& begin, std::uintmax_t size) const {
    write_file(file(name), begin);
    fs::resize_file(file(name), size);
    return file(name);
  }
  static void expect_named(const Finished& f, const std::string& path, const std::string& tensor,
                           const std::string& bytes) {
    expect_usage_error(f, "cannot read " + path + ": tensor \"" + tensor + "\": there is no memory for its " +
                              bytes + " bytes");
  }
};

TEST_F(TensorMemory, AFileThatIsRead) {
  const std::string path = sparse("big.json", "{", std::uintmax_t{16} << 30);
  expect_usage_error(limited({"merge", path, "-o", file("all.json")}),
                     "cannot read " + path + ": it has 17179869184 bytes, and there is no memory for them");
}

TEST_F(TensorMemory, ATensorOfAFileThatIsMapped) {
  const std::string header = npy("|u1", "(3000000000,)", "", false);
  const std::string path = sparse("big.npy", header, header.size() + 3'000'000'000);
  expect_named(read(path), path, "big", "3000000000");
}

// Of a byte order that has to be converted, and of ours.
TEST_F(TensorMemory, ATensorOfAnHdf5File) {
  for (const auto& [name, type] : {std::pair("big", H5T_IEEE_F32BE), std::pair("little", H5T_IEEE_F32LE)}) {
    const std::string path = file(name) + std::string(".h5");
    {
      const hdf5::Session session;
      const hdf5::Handle created(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                                 "a file");
      const hsize_t size = 750'000'000;
      const hdf5::Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose, "a space");
      const hdf5::Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "a plan");
      hdf5::checked(H5Pset_alloc_time(plan, H5D_ALLOC_TIME_EARLY), "a property");
      hdf5::checked(H5Pset_fill_time(plan, H5D_FILL_TIME_NEVER), "a property");
      const hdf5::Handle dataset(H5Dcreate2(created, "x", type, space, H5P_DEFAULT, plan, H5P_DEFAULT),
                                 H5Dclose, "a dataset");
    }
    expect_named(read(path), path, "x", "3000000000");
  }
}

// An archive whose entry says that it deflates to a thousand times its size.
TEST_F(TensorMemory, ATensorOfAnArchive) {
  const auto number = [](std::uint64_t n, int bytes) {
    std::string s;
    for (int i = 0; i < bytes; ++i) s += static_cast<char>(n >> 8 * i);
    return s;
  };
  const auto block = [&](const std::string& content) {  // of deflate, as it is, and not the last
    return number(0, 1) + number(content.size(), 2) + number(0xFFFF - content.size(), 2) + content;
  };
  const std::string header = npy("|u1", "(4000000000,)", "", false), name = "big.npy";
  std::string content = block(header);
  for (int i = 0; i < 64; ++i) content += block(std::string(0xFFFF, '\0'));
  const std::string sizes =
      number(0, 4) + number(content.size(), 4) + number(header.size() + 4'000'000'000, 4);
  const std::string entry = number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) + sizes +
                            number(name.size(), 2) + number(0, 2);
  const std::string local = "PK\x03\x04" + entry + name + content;
  const std::string central = "PK\x01\x02" + number(20, 2) + entry + number(0, 14) + name;
  const std::string end = "PK\x05\x06" + number(0, 4) + number(1, 2) + number(1, 2) +
                          number(central.size(), 4) + number(local.size(), 4) + number(0, 2);
  write_file(file("big.npz"), local + central + end);
  expect_named(read(file("big.npz")), file("big.npz"), "big", "4000000000");
}

}  // namespace
}  // namespace assay
