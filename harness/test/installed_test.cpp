// Files beside the program, in a build folder and in an installation.
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/registry/installed.h"
#include "harness/registry/parts.h"
#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstalledFiles[] = {"harness/python/record.py", "harness/python/graph.py",
                                           "cases/fixtures/opinfo.py", "cases/shapes"};

TEST(Installed, ABuildReadsTheSourceTree) {
  EXPECT_FALSE(is_installed(ASSAY_PROGRAM));
  EXPECT_TRUE(fs::exists(library_file(ASSAY_PROGRAM, "libassay_cpu_plugin.so")));
  for (const char* file : kInstalledFiles) {
    EXPECT_TRUE(fs::exists(data_file(ASSAY_PROGRAM, file))) << data_file(ASSAY_PROGRAM, file);
    EXPECT_EQ(data_file(file), data_file(ASSAY_PROGRAM, file)) << "this program is of the same build";
  }
}

// An installation is whole: nothing of it is read from where it was built, though that may still be there.
TEST(Installed, AnInstallationReadsWhatIsBelowItsPrefix) {
  const TemporaryFolder folder;
  for (const fs::path& prefix : {folder.path() / "usr", folder.path() / "site-packages/assay"}) {
    fs::create_directories(prefix / "share/assay");
    const std::string program = (prefix / "bin/assay").string();
    EXPECT_TRUE(is_installed(program));
    EXPECT_EQ(kernel_library(program, "cpu"), (prefix / "lib/assay/libassay_cpu_plugin.so").string());
    for (const char* file : kInstalledFiles)
      EXPECT_EQ(data_file(program, file), (prefix / "share/assay" / file).string());
  }
}

TEST(Installed, AFileOfThatNameIsNoInstallation) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "share");
  write_file(folder.file("share/assay"), "");
  EXPECT_FALSE(is_installed(folder.file("bin/assay")));
}

}  // namespace
}  // namespace assay
