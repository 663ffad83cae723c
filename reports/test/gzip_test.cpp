#include "reports/gzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "reports/file.h"
#include "reports/journal.h"
#include "reports/temporary_folder.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string gzip_error(std::string_view bytes) {
  try {
    gunzipped(bytes, "run.json.gz");
  } catch (const FileError& e) {
    return e.what();
  }
  return "no error";
}

// printf 'assay\n' | gzip -9n, of GNU gzip.
const std::string kOfGnu(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x2c\x2e\x4e\xac\xe4\x02\x00\x87\x62\xaf\xe2\x06\x00\x00\x00",
    26);

TEST(Gzip, ReadsWhatGnuGzipWrote) {
  EXPECT_TRUE(is_gzip(kOfGnu));
  EXPECT_EQ(gunzipped(kOfGnu, "f"), "assay\n");
  EXPECT_EQ(gunzipped(kOfGnu + kOfGnu, "f"), "assay\nassay\n");
  EXPECT_FALSE(is_gzip("{}"));
  EXPECT_FALSE(is_gzip("\x1f"));
}

RC_GTEST_PROP(Gzip, GivesBackWhatWasCompressed, (const std::string& content)) {
  RC_ASSERT(gunzipped(gzipped(content), "f") == content);
}

TEST(Gzip, SaysWhatIsWrong) {
  std::string long_text;
  for (int i = 0; i < 50'000; ++i) long_text += std::to_string(i * 7919 % 10'007);
  const std::string whole = gzipped(long_text);
  ASSERT_EQ(gunzipped(whole, "f"), long_text);
  for (const std::size_t kept :
       {std::size_t{2}, std::size_t{9}, whole.size() / 2, whole.size() - 9, whole.size() - 1})
    EXPECT_EQ(gzip_error(whole.substr(0, kept)),
              "cannot read run.json.gz: it ends before what gzip compressed does")
        << kept;
  EXPECT_EQ(gzip_error(whole + "x"), "cannot read run.json.gz: something follows what gzip compressed");
  for (const std::size_t at :
       {std::size_t{2}, std::size_t{20}, whole.size() / 2, whole.size() - 6, whole.size() - 2}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    EXPECT_NE(gzip_error(damaged), "no error") << at;
  }
  EXPECT_THAT(gzip_error("\x1f\x8bgarbage, and more of it"), HasSubstr("damaged"));
}

// A file of a megabyte can hold a thousand times as much.
TEST(Gzip, HoldsNoMoreThanItMay) {
  const std::string part = gzipped(std::string(64 << 20, '0'));
  std::string bomb;
  for (int i = 0; i < 17; ++i) bomb += part;
  EXPECT_EQ(gzip_error(bomb), "cannot read run.json.gz: it holds more than 1 GiB, compressed by gzip");
}

TEST(Gzip, IsOfFilesWhoseNamesSaySo) {
  const TemporaryFolder folder;
  const std::string text = "{\"format\": \"assay.run/1\"}\n";
  write_file(folder.file("run.json.gz"), text);
  EXPECT_TRUE(is_gzip(read_file(folder.file("run.json.gz"))));
  EXPECT_EQ(read_document(folder.file("run.json.gz")), text);
  // By its content, whatever its name.
  write_file(folder.file("run.json"), gzipped(text));
  EXPECT_EQ(read_document(folder.file("run.json")), text);
}

}  // namespace
}  // namespace assay
