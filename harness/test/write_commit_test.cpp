// What a build says it was built from: ci/cmake/write_commit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

class WriteCommit : public ::testing::Test {
 protected:
  void SetUp() override {
    git({"init", "--quiet"});
    write_file(file("a"), "a\n");
    git({"add", "a"});
    git({"-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "a"});
    commit_ = git({"rev-parse", "HEAD"});
    commit_.resize(commit_.find('\n'));
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string git(std::vector<std::string> words) const {
    words.insert(words.begin(), {"-C", folder_.path().string()});
    const Finished f = run_program("/usr/bin/git", words);
    EXPECT_EQ(f.status, 0) << f.err;
    return f.out;
  }
  static std::string built_from(const std::string& source) {
    const TemporaryFolder folder;
    const std::string out = folder.file("commit.cpp");
    const Finished f =
        run_program(std::string(ASSAY_FIXTURES) + "/../../ci/cmake/write_commit", {source, out});
    EXPECT_EQ(f.status, 0) << f.err;
    const std::string text = read_file(out);
    const std::size_t begin = text.find("= \"") + 3;
    return text.substr(begin, text.find('"', begin) - begin);
  }

  TemporaryFolder folder_;
  std::string commit_;
};

TEST_F(WriteCommit, NamesTheCommitAndWhetherFilesWereChangedSince) {
  EXPECT_EQ(commit_.size(), 40u);
  EXPECT_EQ(built_from(folder_.path().string()), commit_);
  write_file(file("a"), "b\n");
  EXPECT_EQ(built_from(folder_.path().string()), commit_ + "-dirty");
}

TEST_F(WriteCommit, IsEmptyOutsideOfACheckoutOfItsOwn) {
  std::filesystem::create_directory(file("part"));
  EXPECT_EQ(built_from(file("part")), "") << "it lies in somebody else's";
  const TemporaryFolder none;
  EXPECT_EQ(built_from(none.path().string()), "");
}

TEST_F(WriteCommit, LeavesAFileAloneThatSaysSoAlready) {
  const TemporaryFolder folder;
  const std::string script = std::string(ASSAY_FIXTURES) + "/../../ci/cmake/write_commit",
                    out = folder.file("commit.cpp");
  ASSERT_EQ(run_program(script, {folder_.path().string(), out}).status, 0);
  const auto written = std::filesystem::last_write_time(out) - std::chrono::hours(1);
  std::filesystem::last_write_time(out, written);
  ASSERT_EQ(run_program(script, {folder_.path().string(), out}).status, 0);
  EXPECT_EQ(std::filesystem::last_write_time(out), written);
}

}  // namespace
}  // namespace assay
