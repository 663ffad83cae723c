// cuda.gpu from the call to the device and back, on a stand-in for a GPU (optimized/cuda/standin).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if defined(ASSAY_CUDA_STANDIN)  // nvcc was found

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "harness/registry/subprocess.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kImpl = "plugin:cuda.gpu";

// Gaps between elements, tensors in one another's memory, empty ones, lists, results of two dtypes.
TEST(CudaStandinRun, TensorsComeToTheDeviceAndBack) {
  const TemporaryFolder folder;
  const Finished f = run_program(ASSAY_PROGRAM, {"verify",
                                                 "prelu",
                                                 "add.Tensor",
                                                 "where.self",
                                                 "sum.dim_IntList",
                                                 "softmax.int",
                                                 "mm",
                                                 "linear",
                                                 "native_layer_norm",
                                                 "max_pool2d_with_indices",
                                                 "cumsum",
                                                 "embedding",
                                                 "quantized_linear",
                                                 "--impl",
                                                 kImpl,
                                                 "--plugin",
                                                 ASSAY_CUDA_STANDIN,
                                                 "--cases",
                                                 "6",
                                                 "--out",
                                                 folder.path(),
                                                 "--json",
                                                 "-"});
  ASSERT_EQ(f.status, 0) << f.out << f.err;
  const json run = json::parse(f.out);
  std::size_t passed = 0;
  for (const json& row : run["results"]) {
    EXPECT_EQ(row["impl"], kImpl);
    EXPECT_EQ(row["verdict"], "pass") << row;
    passed += row["verdict"] == "pass";
  }
  EXPECT_GT(passed, 30u);
}

TEST(CudaStandinRun, KernelsAreTimedOnTensorsThatStayThere) {
  const Finished f =
      run_program(ASSAY_PROGRAM, {"bench", "--case", "prelu:f32:self=4x8x16,weight=8", "--case",
                                  "mm:bf16:self=32x32,mat2=32x32", "--plugin", ASSAY_CUDA_STANDIN, "--impl",
                                  kImpl, "--cache", "warm,dram", "--rounds", "3", "--json", "-"});
  ASSERT_EQ(f.status, 0) << f.err;
  const json run = json::parse(f.out);
  ASSERT_EQ(run["benchmarks"].size(), 4u);
  for (const json& b : run["benchmarks"]) {
    EXPECT_EQ(b["assay"]["status"], "measured") << b;
    EXPECT_EQ(b["assay"]["device"], "stand-in for a GPU");
    EXPECT_GT(b["assay"]["limit"]["share"], 0);
  }
  std::set<std::string> limits;
  for (const json& limit : run["context"]["assay"]["limits"])
    if (limit.contains("device")) limits.insert(limit["name"]);
  EXPECT_THAT(limits, ::testing::IsSupersetOf(
                          {"copy L2", "copy DRAM", "FMA f32", "FMA f64", "matrix units, 16 bits"}));
}

}  // namespace
}  // namespace assay

#endif
