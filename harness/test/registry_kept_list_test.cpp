#include "harness/registry/kept_list.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace assay {
namespace {

namespace fs = std::filesystem;

// A program that finds a torch of this version.
class KeptLists : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "kept_list_XXXXXX";
    folder_ = mkdtemp(name.data());
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    finds("one");
  }
  void TearDown() override {
    unsetenv("XDG_CACHE_HOME");
    fs::remove_all(folder_);
  }
  void finds(const std::string& version, const std::string& more = "") {
    std::ofstream(program()) << "#!/bin/sh\necho torch " << version << "\n" << more << "\n";
    chmod(program().c_str(), 0755);
  }
  std::string program() const { return (folder_ / "assay-torch").string(); }
  fs::path only_file() const {
    const fs::directory_iterator files(folder_ / "cache" / "assay");
    EXPECT_EQ(std::distance(begin(files), end(files)), 1);
    return fs::directory_iterator(folder_ / "cache" / "assay")->path();
  }

  fs::path folder_;
};

TEST_F(KeptLists, GiveBackWhatWasWritten) {
  EXPECT_FALSE(KeptList(program()).read());
  const std::string said("[\"a\0b\n\"]", 8);
  KeptList(program()).write(said);
  EXPECT_EQ(KeptList(program()).read(), said);
}

TEST_F(KeptLists, HoldForWhatTheyWereMadeWith) {
  KeptList(program()).write("[1]");
  finds("two");
  EXPECT_FALSE(KeptList(program()).read()) << "another torch";
  KeptList(program()).write("[2]");
  EXPECT_EQ(KeptList(program()).read(), "[2]");
  setenv("ATEN_CPU_CAPABILITY", "default", 1);
  EXPECT_FALSE(KeptList(program()).read()) << "another choice of kernels";
  unsetenv("ATEN_CPU_CAPABILITY");
  EXPECT_EQ(KeptList(program()).read(), "[2]");
}

TEST_F(KeptLists, HoldWhileTheFilesThatAreNamedStay) {
  const fs::path library = folder_ / "torch one";
  std::ofstream(program()) << "#!/bin/sh\necho " << library << "\n";
  KeptList(program()).write("[]");
  EXPECT_TRUE(KeptList(program()).read());
  std::ofstream(library) << "another size";
  EXPECT_FALSE(KeptList(program()).read());
}

// Torch has kernels for it then, if it is not busy.
TEST_F(KeptLists, AreNoneWhereThereIsAGpu) {
  fs::create_directories(folder_ / "devices");
  KeptList(program(), folder_ / "devices").write("[]");
  EXPECT_TRUE(KeptList(program(), folder_ / "devices").read());
  std::ofstream(folder_ / "devices" / "nvidia0") << "";
  EXPECT_FALSE(KeptList(program(), folder_ / "devices").read());
}

TEST_F(KeptLists, SayNothingIfTheyAreDamaged) {
  KeptList(program()).write("[1, 2, 3]");
  const fs::path file = only_file();
  const auto whole = fs::file_size(file);
  for (const std::uintmax_t size : {whole - 1, whole - 9, whole / 2, std::uintmax_t{0}}) {
    fs::resize_file(file, size);
    EXPECT_FALSE(KeptList(program()).read()) << size;
    KeptList(program()).write("[1, 2, 3]");
    EXPECT_TRUE(KeptList(program()).read());
  }
  std::fstream(file, std::ios::in | std::ios::out).seekp(-2, std::ios::end) << 'x';
  EXPECT_FALSE(KeptList(program()).read());
}

TEST_F(KeptLists, AreNoneWhereNothingCanBeKept) {
  finds("one", "exit 3");
  KeptList(program()).write("[1]");
  EXPECT_FALSE(KeptList(program()).read()) << "there is no torch";
  finds("one");
  std::ofstream(folder_ / "file") << "no folder";
  setenv("XDG_CACHE_HOME", (folder_ / "file").c_str(), 1);
  KeptList(program()).write("[1]");
  EXPECT_FALSE(KeptList(program()).read());
  EXPECT_FALSE(KeptList((folder_ / "nothing").string()).read());
}

TEST_F(KeptLists, AreFew) {
  for (int i = 0; i < 40; ++i) {
    finds(std::to_string(i));
    KeptList(program()).write("[]");
  }
  const fs::directory_iterator files(folder_ / "cache" / "assay");
  EXPECT_LE(std::distance(begin(files), end(files)), 16);
}

}  // namespace
}  // namespace assay
