// Environment variables of kernels: whose value counts, and that a case file keeps them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/files/case_file.h"
#include "harness/registry/registry.h"
#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KernelEnvironment, TheKernelsOwnVariablesStayUnlessReplaced) {
  Environment e{"program", {}, {"ONEDNN_MAX_CPU_ISA=AVX2"}};
  set_variable(e, "ONEDNN_MAX_CPU_ISA=SSE41", false);
  set_variable(e, "OMP_NUM_THREADS=4", false);
  EXPECT_THAT(e.variables, ElementsAre("ONEDNN_MAX_CPU_ISA=AVX2", "OMP_NUM_THREADS=4"));
  set_variable(e, "OMP_NUM_THREADS=3", true);
  EXPECT_THAT(e.variables, ElementsAre("ONEDNN_MAX_CPU_ISA=AVX2", "OMP_NUM_THREADS=3"));
  set_variable(e, "OMP=1", true);  // another name, that this one begins with
  EXPECT_EQ(e.variables.size(), 3u);
}

TEST(KernelEnvironment, IsOfTheFormNameValue) {
  const Finished f = run_program(ASSAY_PROGRAM, {"verify", "relu", "--env", "OMP_NUM_THREADS"});
  EXPECT_EQ(f.status, 2);
  EXPECT_THAT(f.err, HasSubstr("--env is \"OMP_NUM_THREADS\": write NAME=VALUE"));
}

// PyTorch says which instructions it uses, and its mean of no numbers is 0 with any of them.
TEST(KernelEnvironment, ReachesTheKernelAndItsCaseFile) {
  const TemporaryFolder out;
  const Finished f = run_program(
      ASSAY_PROGRAM,
      {"verify", "--case", "native_layer_norm:f32:input=0,normalized_shape=[0],eps=0.1:seed=1", "--impl",
       "torch", "--env", "ATEN_CPU_CAPABILITY=default", "--out", out.path().string(), "--json", "-"});
  const nlohmann::json row = nlohmann::json::parse(f.out)["results"][0];
  if (row["verdict"] == "not_run") GTEST_SKIP() << row["reason"];
  EXPECT_THAT(row["information"].get<std::string>(), HasSubstr("NO AVX"));
  ASSERT_EQ(row["failures"].size(), 1u) << f.out;
  const std::string file = row["failures"][0]["replay"];
  EXPECT_THAT(read_case_file(file).calls.at(0).variables, Contains("ATEN_CPU_CAPABILITY=default"));
  EXPECT_EQ(run_program(ASSAY_PROGRAM, {"replay", file}).status, 1);
}

}  // namespace
}  // namespace assay
