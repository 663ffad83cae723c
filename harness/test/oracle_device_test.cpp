// PyTorch's kernels on a GPU, with the processor in its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"
#include "test/effort.h"

#if defined(ASSAY_TORCH)

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::vector<std::string> kOnProcessor{"ASSAY_TORCH_CUDA=cpu"};

// Strides, gaps, lists, optional tensors, results of several dtypes. In f64 no dtype of torch's on the processor computes in
// another than on a GPU.
TEST(OracleDevice, TensorsComeThereAndResultsBack) {
  if (kSanitized) GTEST_SKIP() << "PyTorch cannot be loaded under sanitizers";
  const TemporaryFolder folder;
  const Finished f = run_program(ASSAY_PROGRAM,
                                 {"verify",
                                  "prelu",
                                  "add.Tensor",
                                  "where.self",
                                  "sum.dim_IntList",
                                  "softmax.int",
                                  "mm",
                                  "convolution",
                                  "amax",
                                  "max_pool2d_with_indices",
                                  "embedding",
                                  "--dtype",
                                  "f64,i64",
                                  "--impl",
                                  "torch.cuda",
                                  "--cases",
                                  "30",
                                  "--out",
                                  folder.path(),
                                  "--json",
                                  "-"},
                                 kOnProcessor);
  ASSERT_EQ(f.status, 0) << f.out << f.err;
  std::size_t passed = 0;
  const json run = json::parse(f.out);
  for (const json& row : run["results"]) passed += row["verdict"] == "pass";
  EXPECT_GE(passed, 10u);
}

TEST(OracleDevice, IsTimedByAClockOfItsOwn) {
  if (kSanitized) GTEST_SKIP() << "PyTorch cannot be loaded under sanitizers";
  const Finished f = run_program(ASSAY_PROGRAM,
                                 {"bench", "--case", "prelu:f32:self=4x8x16,weight=8", "--impl",
                                  "torch,torch.cuda", "--cache", "warm,dram", "--rounds", "3", "--json", "-"},
                                 kOnProcessor);
  ASSERT_EQ(f.status, 0) << f.err;
  const json run = json::parse(f.out);
  ASSERT_EQ(run["benchmarks"].size(), 4u);
  for (const json& b : run["benchmarks"]) {
    const json& row = b["assay"];
    EXPECT_EQ(row["status"], "measured") << row;
    EXPECT_EQ(row.value("device", ""), row["impl"] == "torch.cuda" ? "torch on cpu" : "");
    EXPECT_EQ(row["clock"], row["impl"] == "torch.cuda" ? "device" : "cpu");
  }
}

TEST(OracleDevice, IsNotThereWhereTorchHasNoCuda) {
  if (kSanitized) GTEST_SKIP() << "PyTorch cannot be loaded under sanitizers";
  const Finished f =
      run_program(ASSAY_PROGRAM, {"verify", "relu", "--impl", "torch.cuda", "--cases", "1"}, {});
  EXPECT_NE(f.status, 0) << f.out;
  EXPECT_THAT(f.err + f.out,
              ::testing::AnyOf(HasSubstr("no kernel matches --impl \"torch.cuda\""), HasSubstr("no device")));
}

}  // namespace
}  // namespace assay

#endif
