// Libraries that are loaded at run time (optimized/cuda/peers/library.h), and what peers say where there are
// none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#if defined(ASSAY_PTX_FOLDER)  // nvcc was found

#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "cuda/peers/library.h"
#include "vocabulary/kernel.h"

namespace assay::cuda::peers {
namespace {

constexpr const char* kVariable = "ASSAY_LIBRARY_OF_A_TEST";

TEST(CudaPeerLibrary, IsTheFirstOfItsNamesThatIsThere) {
  unsetenv(kVariable);
  Library library(kVariable, {"libassay_no_such.so.2", "libm.so.6"});
  double (*cosine)(double) = nullptr;
  library.find(cosine, "cos");
  EXPECT_EQ(library.missing(), nullptr);
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
}

TEST(CudaPeerLibrary, SaysWhichIsMissingAndHowToNameAnother) {
  unsetenv(kVariable);
  Library library(kVariable, {"libassay_no_such.so.2", "libassay_no_such.so.1"});
  double (*cosine)(double) = nullptr;
  library.find(cosine, "cos");
  EXPECT_EQ(cosine, nullptr);
  ASSERT_NE(library.missing(), nullptr);
  const std::string_view why = library.missing();
  EXPECT_TRUE(why.starts_with("not run: there is no libassay_no_such.so.2 (")) << why;
  EXPECT_TRUE(why.ends_with(fmt::format("let {} name its path", kVariable))) << why;
}

TEST(CudaPeerLibrary, IsTheOneThatTheVariableNamesAndNoOther) {
  setenv(kVariable, "libm.so.6", 1);
  EXPECT_EQ(Library(kVariable, {"libassay_no_such.so.2"}).missing(), nullptr);
  setenv(kVariable, "libassay_other.so", 1);
  const Library other(kVariable, {"libm.so.6"});
  ASSERT_NE(other.missing(), nullptr);
  EXPECT_TRUE(
      std::string_view(other.missing())
          .starts_with(fmt::format("not run: there is no libassay_other.so, which {} names (", kVariable)))
      << other.missing();
  unsetenv(kVariable);
}

TEST(CudaPeerLibrary, SaysWhichFunctionItLacks) {
  unsetenv(kVariable);
  Library library(kVariable, {"libm.so.6"});
  void (*first)() = nullptr;
  void (*second)() = nullptr;
  library.find(first, "assay_no_such_function");
  library.find(second, "assay_nor_this_one");
  EXPECT_STREQ(library.missing(), "not run: libm.so.6 lacks assay_no_such_function");
}

// Loading hundreds of megabytes for nothing would be no service.
TEST(CudaPeers, LookForADeviceBeforeTheirLibrary) {
  if (access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0)
    GTEST_SKIP() << "there is a device";
  int seen = 0;
  for (const EnrolledKernel& one : enrolled_kernels()) {
    const std::string_view name = one.kernel.name;
    if (name != "cublaslt" && name != "cudnn") continue;
    ++seen;
    ASSERT_NE(one.kernel.unavailable(), nullptr);
    EXPECT_STREQ(one.kernel.unavailable(), "not run: no device: there is no /dev/nvidiactl");
    EXPECT_EQ(one.kernel.flags, ASSAY_PEER | ASSAY_ON_DEVICE);
  }
  if (seen == 0) GTEST_SKIP() << "neither cublasLt.h nor cudnn.h was there when this was built";
}

}  // namespace
}  // namespace assay::cuda::peers

#endif
