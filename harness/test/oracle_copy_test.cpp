// What is timed of PyTorch includes the copy to where results were asked for, if it laid them out otherwise; and only then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"
#include "test/effort.h"

#if defined(ASSAY_TORCH)

namespace assay {
namespace {

using ::testing::HasSubstr;

constexpr long kRounds = 20;  // more than the looks before, between and after them, which copy always

class OracleCopy : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "PyTorch cannot be loaded under sanitizers";
    if (const Finished f = run_program(ASSAY_TORCH, {"worker", "--list"}); f.status == 3)
      GTEST_SKIP() << "the copies of PyTorch's results were not counted: " << f.err;
    make_environment();
  }

  struct Timed {
    long copies =
        0;  // calls of Tensor.copy_ while the case is timed: those of the sample that is looked at before and after, too
    std::string out;
  };
  // On a GPU, in place of which is the processor, by torch.cuda.
  Timed timed(const std::string& text, const std::string& impl = "torch") const {
    const std::string log = (root() / "copies").string();
    std::filesystem::remove(log);
    const Finished f = run_program(
        ASSAY_PROGRAM, {"bench", "--case", text, "--impl", impl, "--rounds", std::to_string(kRounds)},
        {"ASSAY_TORCH_PYTHON=" + (root() / "bin/python3").string(), "ASSAY_TEST_COPIES=" + log,
         "ASSAY_TORCH_CUDA=cpu"});
    EXPECT_EQ(f.status, 0) << f.out << f.err;
    std::ifstream lines(log);
    return {std::count(std::istreambuf_iterator<char>(lines), {}, '\n'), f.out};
  }
  long copies(const std::string& text) const { return timed(text).copies; }

 private:
  std::filesystem::path root() const { return folder_.path(); }

  // A virtual environment whose torch counts copies to tensors of several dimensions: bandwidth is measured with others.
  void make_environment() const {
    const Finished torch = run_program(
        ASSAY_PYTHON, {"-c", "import torch, os; print(os.path.dirname(torch.__path__[0]), end='')"});
    ASSERT_EQ(torch.status, 0) << torch.err;
    const std::string python = std::filesystem::canonical(ASSAY_PYTHON).filename().string();
    const std::filesystem::path packages = root() / "lib" / python / "site-packages";
    std::filesystem::create_directories(packages);
    std::filesystem::create_directories(root() / "bin");
    std::filesystem::create_symlink(ASSAY_PYTHON, root() / "bin/python3");
    std::ofstream(root() / "pyvenv.cfg")
        << "home = " << std::filesystem::path(ASSAY_PYTHON).parent_path().string() << "\n";
    std::ofstream(packages / "counts_copies.pth") << torch.out << "\nimport counts_copies\n";
    std::ofstream(packages / "counts_copies.py")
        << "import os\n"
           "import torch\n"
           "plain = torch.Tensor.copy_\n"
           "def copy_(self, *arguments, **keywords):\n"
           "    if self.dim() > 1:\n"
           "        with open(os.environ['ASSAY_TEST_COPIES'], 'a') as log:\n"
           "            log.write('copied\\n')\n"
           "    return plain(self, *arguments, **keywords)\n"
           "torch.Tensor.copy_ = copy_\n";
  }

  TemporaryFolder folder_;
};

TEST_F(OracleCopy, IsTimedWhereResultsLieOtherwise) {
  // Their layout follows the input's; contiguous ones are asked for.
  const long alike = copies("relu:f32:self=[64x32]");
  EXPECT_LT(alike, kRounds);
  EXPECT_GE(copies("relu:f32:self=[64x32]@permuted(1,0)"), alike + kRounds);
}

TEST_F(OracleCopy, IsOfEveryResult) {
  const std::string one = "max_pool2d_with_indices:f32:self=[2x4x8x8]", kernel = ",kernel_size=[2,2]";
  const long alike = copies(one + kernel);
  EXPECT_LT(alike, 2 * kRounds);
  EXPECT_GE(copies(one + "@channels_last" + kernel), alike + 2 * kRounds);
}

// Of one channel, strides say nothing.
TEST_F(OracleCopy, IsNotMadeForTheStrideOfADimensionOfOne) {
  const std::string one = "max_pool2d_with_indices:f32:self=[2x1x8x8]", kernel = ",kernel_size=[2,2]";
  const long alike = copies(one + kernel);  // data are changed in rounds that nobody can foresee
  EXPECT_LT(copies(one + "@channels_last" + kernel), alike + 2 * kRounds);
}

// On a device they are made beside the call as well. The row says so, where it is so.
TEST_F(OracleCopy, IsTimedOnADevice) {
  for (const char* impl : {"torch", "torch.cuda"}) {
    const Timed alike = timed("clone:f32:self=[64x32]", impl),
                otherwise = timed("clone:f32:self=[64x32]@permuted(1,0)", impl);
    EXPECT_LT(alike.copies, 2 * kRounds) << impl;  // before and after the rounds, when data change
    EXPECT_GE(otherwise.copies, alike.copies + kRounds) << impl;
    EXPECT_THAT(alike.out, ::testing::Not(HasSubstr("a copy is in its time"))) << impl;
    EXPECT_THAT(otherwise.out, HasSubstr("a copy is in its time")) << impl;
  }
}

}  // namespace
}  // namespace assay

#endif
