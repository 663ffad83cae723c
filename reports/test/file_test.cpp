#include "reports/file.h"

#include "reports/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace assay {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void TearDown() override { fs::permissions(folder_.path(), fs::perms::owner_all); }
  std::string path(const std::string& name) const { return folder_.file(name); }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const FileError& error) {
      return error.what();
    }
    return "no error";
  }
  TemporaryFolder folder_;
};

TEST_F(FileTest, ReadsWhatWasWritten) {
  const std::string bytes("a\0b\xFF\n", 5);
  write_file(path("f"), bytes);
  EXPECT_EQ(read_file(path("f")), bytes);
  write_file(path("f"), "");
  EXPECT_EQ(read_file(path("f")), "");
  const std::string large(3'000'000, 'x');
  write_file(path("f"), large);
  EXPECT_EQ(read_file(path("f")), large);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, CreatesFolders) {
  write_file(path("a/b/c/f"), "x");
  EXPECT_EQ(read_file(path("a/b/c/f")), "x");
}

TEST_F(FileTest, FollowsSymbolicLinks) {
  write_file(path("real"), "old");
  fs::create_symlink("real", folder_.path() / "link");
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "link"));
  EXPECT_EQ(read_file(path("real")), "new");
  fs::create_symlink("not-there-yet", folder_.path() / "dangling");
  write_file(path("dangling"), "x");
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "dangling"));
  EXPECT_EQ(read_file(path("not-there-yet")), "x");
}

TEST_F(FileTest, LeavesDevicesInPlace) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(error_of([] { write_file("/dev/full", "x"); }),
            "cannot write /dev/full: No space left on device: free some space, or choose another place");
}

TEST_F(FileTest, WaitsForAPipeWithANote) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string large(300'000, 'x');  // more than a pipe holds
  const auto read_from = [&](std::chrono::milliseconds late) {
    std::thread writer([&] {
      std::this_thread::sleep_for(late);
      std::ofstream(path("pipe")) << large;
    });
    testing::internal::CaptureStderr();
    EXPECT_EQ(read_file(path("pipe")), large);
    writer.join();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(read_from(std::chrono::milliseconds(0)), "");
  EXPECT_EQ(read_from(std::chrono::milliseconds(2300)),
            "assay: waiting for " + path("pipe") + ", a pipe that nothing has been written to yet\n");
}

TEST_F(FileTest, NamesTheFileAndTheReason) {
  EXPECT_EQ(error_of([&] { read_file(path("missing")); }),
            "cannot read " + path("missing") + ": No such file or directory");
  EXPECT_EQ(error_of([&] { read_file(folder_.path().string()); }),
            "cannot read " + folder_.path().string() + ": Is a directory");
  EXPECT_EQ(error_of([&] { write_file(folder_.path().string(), "x"); }),
            "cannot write " + folder_.path().string() + ": Is a directory");
  EXPECT_EQ(error_of([&] { write_file("", "x"); }), "cannot write a file: its name is empty");
  write_file(path("file"), "x");
  EXPECT_EQ(error_of([&] { write_file(path("file/inside/f"), "x"); }),
            "cannot create the folder " + path("file/inside") + ": Not a directory");
}

// Root may write anywhere, so these run as somebody else.
class OtherUser {
 public:
  OtherUser() : is_root_(::geteuid() == 0) {
    if (is_root_ && ::seteuid(65534) != 0) throw std::runtime_error("seteuid");
  }
  ~OtherUser() {
    if (is_root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool is_root_;
};

TEST_F(FileTest, SaysWhenThereIsNoPermission) {
  write_file(path("f"), "old");
  fs::permissions(folder_.path() / "f",
                  fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::group_read |
                                      fs::perms::group_exec | fs::perms::others_read |
                                      fs::perms::others_exec);
  const OtherUser other;
  EXPECT_EQ(
      error_of([&] { write_file(path("new"), "x"); }),
      "cannot write " + path("new") + ": Permission denied: change the permissions, or choose another place");
  EXPECT_EQ(error_of([&] { write_file(path("sub/new"), "x"); }),
            "cannot create the folder " + path("sub") +
                ": Permission denied: change the permissions, or choose another place");
  EXPECT_EQ(read_file(path("f")), "old");
}

TEST_F(FileTest, KeepsTheOldFileWhenTheDiskIsFull) {
  write_file(path("f"), "old");
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] { write_file(path("f"), std::string(1000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, "cannot write " + path("f") + ": File too large: raise the file size limit (ulimit -f)");
  EXPECT_EQ(read_file(path("f")), "old");
  EXPECT_EQ(entries(), 1u);
}

}  // namespace
}  // namespace assay
