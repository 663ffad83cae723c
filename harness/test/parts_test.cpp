// Parts of Assay that are built when something asks for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "harness/registry/parts.h"
#include "harness/registry/registry.h"
#include "harness/registry/subprocess.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string_view> unbuilt(const std::string& program, const std::string& glob) {
  std::vector<std::string_view> names;
  for (const Part* part : unbuilt_parts(program, glob)) names.push_back(part->name);
  return names;
}

TEST(Parts, AreFoundByGlobsOnTheirKernels) {
  const std::string nowhere = "/nonexistent/bin/assay";
  EXPECT_THAT(unbuilt(nowhere, "cuda.*"), UnorderedElementsAre("cuda", "simulator"));
  EXPECT_THAT(unbuilt(nowhere, "onednn.avx2"), UnorderedElementsAre("onednn"));
  EXPECT_THAT(unbuilt(nowhere, "cudnn"), UnorderedElementsAre("cuda"));
  EXPECT_THAT(unbuilt(nowhere, "*"), UnorderedElementsAre("onednn", "openblas", "cuda", "simulator"));
  EXPECT_THAT(unbuilt(nowhere, "cpu.*"), UnorderedElementsAre());
}

// Without nvcc the simulator's library says so of the kernels that nvcc would make.
bool of_a_part_that_cannot_be_built(const std::string& name) {
  return std::ranges::any_of(parts(), [&](const Part& part) {
    return !part.lacks.empty() && std::ranges::count(kernels_of(part), name) == 1;
  });
}

// A name that is missing there would never be built for who asks for it.
TEST(Parts, NameEveryKernelOfTheirs) {
  const Registry registry(ASSAY_PROGRAM);
  std::size_t seen = 0;
  for (const Part& part : parts()) {
    if (!is_built(ASSAY_PROGRAM, part)) continue;
    const std::string library = kernel_library(ASSAY_PROGRAM, part.library);
    for (const Kernel& k : registry.kernels()) {
      if (std::ranges::find(k.environment.arguments, library) == k.environment.arguments.end()) continue;
      ++seen;
      if (of_a_part_that_cannot_be_built(k.name)) continue;
      EXPECT_THAT(kernels_of(part), Contains(k.name)) << part.name;
    }
  }
  EXPECT_GT(seen, 0u) << "no part is built";
}

// A program in a folder of its own has no parts beside it.
TEST(Parts, ThatAreNotBuiltSayHowTheyCanBe) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "bin");
  const auto program = folder.path() / "bin/assay";
  std::filesystem::copy_file(ASSAY_PROGRAM, program);
  const Finished f = run_program(program.string(),
                                 {"verify", "relu", "--dtype", "f32", "--impl", "onednn.*", "--cases", "1"});
  EXPECT_EQ(f.status, 3) << f.out << f.err;
  EXPECT_THAT(f.err, HasSubstr("\"onednn\""));
  const Finished without =
      run_program(program.string(), {"verify", "relu", "--dtype", "f32", "--impl", "cpu.*,!onednn.*",
                                     "--cases", "1", "--out", (folder.path() / "out").string()});
  EXPECT_EQ(without.status, 0) << without.out << without.err;
}

}  // namespace
}  // namespace assay
