// Which Python's PyTorch assay-torch takes, what it says without one, and its command line. These need Python, but no torch.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "harness/generate/data.h"
#include "harness/model/call.h"
#include "harness/registry/subprocess.h"
#include "harness/run/lane.h"
#include "ops/activation.h"
#include "reports/temporary_folder.h"
#include "vocabulary/case.h"

#ifdef ASSAY_TORCH

namespace assay {
namespace {

// The Python of a folder that looks like a virtual environment without packages.
std::string empty_environment(const TemporaryFolder& folder) {
  const std::filesystem::path root = folder.path();
  std::filesystem::create_directories(root / "bin");
  std::filesystem::create_symlink(ASSAY_PYTHON, root / "bin/python3");
  std::ofstream(root / "pyvenv.cfg") << "home = "
                                     << std::filesystem::path(ASSAY_PYTHON).parent_path().string()
                                     << "\ninclude-system-site-packages = false\n";
  return (root / "bin/python3").string();
}

TEST(TorchMissing, IsExitStatus3AndSaysWhatToInstall) {
  const TemporaryFolder folder;
  const std::string python = empty_environment(folder);
  for (const auto& [interpreter, part] :
       {std::pair<std::string, std::string>{python, "PyTorch is not installed for " + python},
        {"/nonexistent/python3", "no Python interpreter at /nonexistent/python3"}}) {
    const Finished f = run_program(ASSAY_TORCH, {"worker", "--list"}, {"ASSAY_TORCH_PYTHON=" + interpreter});
    EXPECT_EQ(f.status, 3) << f.err;
    EXPECT_EQ(f.out, "");
    EXPECT_NE(f.err.find(part), std::string::npos) << f.err;
    EXPECT_NE(f.err.find("apt-get install python3-torch"), std::string::npos) << f.err;
  }
}

TEST(TorchMissing, IsToldToTheHarness) {
  Kernel k;
  k.op = &ops::relu;
  k.schema = ops::relu.schema.text;
  k.name = k.table_name = "torch";
  const TemporaryFolder folder;
  k.environment = {ASSAY_TORCH, {}, {"ASSAY_TORCH_PYTHON=" + empty_environment(folder)}};
  const Call c = materialise(parse_case("relu:f32:self=3"));
  const Task task{&k, &c};
  const Outcome o = Lane(make_zygotes(), {}).run({&task, 1}).front();
  EXPECT_EQ(o.kind, Outcome::Kind::not_run);
  EXPECT_NE(o.detail.find("PyTorch is not installed"), std::string::npos) << o.detail;
}

TEST(TorchMissing, IsAlsoAnInterpreterOfAnotherVersion) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "assay_other_python";
  std::filesystem::create_directories(root / "bin");
  std::filesystem::create_directories(root / "lib/python2.7");
  std::filesystem::copy_file("/bin/true", root / "bin/python3",
                             std::filesystem::copy_options::overwrite_existing);
  const Finished f = run_program(ASSAY_TORCH, {"worker", "--list"},
                                 {"ASSAY_TORCH_PYTHON=" + (root / "bin/python3").string()});
  EXPECT_EQ(f.status, 3);
  EXPECT_NE(f.err.find("it is of another version"), std::string::npos) << f.err;
}

// It stands where an interpreter would, beside the library of our version.
TEST(TorchMissing, IsAlsoAProgramThatIsNoInterpreter) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "assay_no_python";
  std::filesystem::create_directories(root / "bin");
  const std::filesystem::path real = std::filesystem::canonical(ASSAY_PYTHON);
  std::filesystem::create_directories(root / "lib" / real.filename());
  const auto options = std::filesystem::copy_options::overwrite_existing;
  for (const char* program : {"/bin/true", "/bin/false", "/bin/echo"}) {
    std::filesystem::copy_file(program, root / "bin/python3", options);
    const Finished f = run_program(ASSAY_TORCH, {"worker", "--list"},
                                   {"ASSAY_TORCH_PYTHON=" + (root / "bin/python3").string()});
    EXPECT_EQ(f.status, 3) << program;
    EXPECT_NE(f.err.find("it is no Python interpreter; ASSAY_TORCH_PYTHON must name"), std::string::npos)
        << f.err;
  }
}

TEST(TorchFound, WhateverStandsFirstOnPath) {
  if (const Finished f = run_program(ASSAY_TORCH, {"worker", "--list"}); f.status == 3)
    GTEST_SKIP() << "it was not tested that PyTorch is found: " << f.err;
  const TemporaryFolder folder;
  const std::string other = std::filesystem::path(empty_environment(folder)).parent_path().string();
  const Finished f =
      run_program(ASSAY_TORCH, {"worker", "--list"},
                  {"PATH=" + other + ":/usr/bin:/bin", "PYTHONPATH=" + other, "PYTHONHOME=" + other,
                   "VIRTUAL_ENV=" + std::filesystem::path(other).parent_path().string()});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_NE(f.out.find("prelu(Tensor self, Tensor weight) -> Tensor"), std::string::npos);
}

TEST(TorchCommandLine, ExplainsItself) {
  const Finished help = run_program(ASSAY_TORCH, {"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("ASSAY_TORCH_PYTHON"), std::string::npos);
  EXPECT_EQ(run_program(ASSAY_TORCH, {"--lst"}).status, 2);
  EXPECT_NE(run_program(ASSAY_TORCH, {"worker", "--list", "--plugin"}).status, 0);
}

}  // namespace
}  // namespace assay

#endif
