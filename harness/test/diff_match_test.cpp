// How often the tensors of two files are read until it is known which belong together.
#include "harness/diff/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reports/file.h"
#include "reports/temporary_folder.h"

namespace assay::diff {
namespace {

// Tensors of one shape that lie there compressed; no two of them have a number in common.
class Packed : public TensorFile {
 public:
  Packed(std::string path, int tensors, float first) : TensorFile(std::move(path)), first_(first) {
    reads.resize(static_cast<std::size_t>(tensors));
    for (int i = 0; i < tensors; ++i)
      add(this->path() + std::to_string(i), Dtype::f32, {kSize}, kSize * sizeof(float));
  }
  RecordedTensor read(const TensorEntry& entry) const override {
    ++reads.at(entry.index);
    const std::vector<float> numbers(kSize, first_ + static_cast<float>(entry.index));
    const auto bytes = std::as_bytes(std::span(numbers));
    return {Dtype::f32, {kSize}, {bytes.begin(), bytes.end()}};
  }

  mutable std::vector<int> reads;

 private:
  static constexpr std::int64_t kSize = 10;
  float first_;
};

TEST(DiffMatch, EachTensorIsReadOnceForEachQuestion) {
  const Packed a("a", 20, 1), b("b", 30, 100);
  const Matching m = match(a, b, {});
  EXPECT_TRUE(m.pairs.empty());
  EXPECT_EQ(m.likely.size(), 20u);
  EXPECT_EQ(a.reads, std::vector<int>(20, 2));  // which is the same, and which is most alike
  EXPECT_EQ(b.reads, std::vector<int>(30, 1));
}

TEST(DiffMatch, TheSameNumbersBelongTogether) {
  const Packed a("a", 3, 7), b("b", 5, 6);
  const Matching m = match(a, b, {});
  ASSERT_EQ(m.pairs.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(m.pairs[i].a, i);
    EXPECT_EQ(m.pairs[i].b, i + 1);
  }
  EXPECT_EQ(m.only_b, (std::vector<std::size_t>{0, 4}));
}

// ---- --map

NameMap map_of(const std::string& text) {
  const TemporaryFolder folder;
  write_file(folder.file("map.txt"), text);
  return read_name_map(folder.file("map.txt"));
}

TEST(NameMap, ANameMayHaveAHash) {
  const NameMap map = map_of("# a comment\nact/prelu#2 n#1 # another\n\t#and one\na b#\n");
  EXPECT_EQ(map, (NameMap{{"act/prelu#2", "n#1"}, {"a", "b#"}}));
}

TEST(NameMap, InQuotationMarksAnythingIsAName) {
  const NameMap map = map_of(R"("two words" "#1"
"a \"b\" \\" c"d # a quotation mark within a name is one of its characters
)");
  EXPECT_EQ(map, (NameMap{{"two words", "#1"}, {R"(a "b" \)", R"(c"d)"}}));
}

TEST(NameMap, ErrorsNameTheLine) {
  const auto error = [](const std::string& text, const std::string& part) {
    EXPECT_THAT([&] { map_of(text); }, ::testing::ThrowsMessage<FileError>(::testing::HasSubstr(part)))
        << text;
  };
  error("a b\nc\n", "line 2: write the name in A");
  error("a b c\n", "line 1: write the name in A");
  error("\"a b\n", "line 1: a quotation mark is not closed");
  error("\"a\"b c\n", "line 1: after a name in quotation marks comes a space");
  error("\"\" c\n", "line 1: a name is empty");
  error("a b\na c\n", "line 2: a stands there twice");
}

}  // namespace
}  // namespace assay::diff
