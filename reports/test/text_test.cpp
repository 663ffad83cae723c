#include "reports/text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdio>
#include <limits>
#include <sstream>

namespace assay {
namespace {

TEST(Text, CountsCodePoints) {
  EXPECT_EQ(width("abc"), 3u);
  EXPECT_EQ(width("ä→𝄞"), 3u);
  EXPECT_EQ(pad_right("ä", 3), "ä  ");
  EXPECT_EQ(pad_left("ä", 3), "  ä");
  EXPECT_EQ(pad_right("abcd", 3), "abcd");
}

TEST(Text, WrapsParagraphs) {
  EXPECT_EQ(paragraph("one two", "- ", "  "), "- one two\n");
  EXPECT_EQ(paragraph("one\ntwo\n\n", "- ", "  "), "- one\n  two\n");
  EXPECT_EQ(paragraph("", "- ", "  "), "- \n");
  const std::string word(60, 'x');
  EXPECT_EQ(paragraph(word + " " + word, "", " "), word + "\n " + word + "\n");
  EXPECT_EQ(paragraph(std::string(130, 'y'), "> ", "  "),
            "> " + std::string(118, 'y') + "\n  " + std::string(12, 'y') + "\n");
  EXPECT_EQ(paragraph("a\x1b[31m\tb\x7F", "", ""), "a [31m b \n");
}

TEST(Text, KeepsEveryWordWithinTheWidth) {
  const bool ok = rc::check([] {
    std::vector<std::string> words;
    for (int i = *rc::gen::inRange(0, 30); i > 0; --i)
      words.push_back(std::string(*rc::gen::inRange<std::size_t>(1, 300),
                                  static_cast<char>(*rc::gen::inRange<int>('a', 'z'))));
    std::string text;
    std::string letters;
    for (const std::string& w : words) {
      text += w + " ";
      letters += w;
    }
    std::istringstream lines(paragraph(text, "", ""));
    std::string found;
    for (std::string line; std::getline(lines, line);) {
      RC_ASSERT(line.size() <= kTextWidth);
      for (const char c : line)
        if (c != ' ') found += c;
    }
    RC_ASSERT(found == letters);
  });
  EXPECT_TRUE(ok);
}

TEST(Text, QuotesForTheShell) {
  EXPECT_EQ(shell_word("out/a-b_1.h5"), "out/a-b_1.h5");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("relu:self=f32[2]@offset(1)"), "'relu:self=f32[2]@offset(1)'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("\x1b'\\"), "$'\\x1b\\'\\\\'");
}

// What bash makes of the command.
std::string words_in_bash(const std::string& command) {
  std::string script = "set -- " + command;
  std::string quoted;
  for (const char c : script + "\nprintf '<%s>' \"$@\"")
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  FILE* pipe = ::popen(("bash -c '" + quoted + "'").c_str(), "r");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  ::pclose(pipe);
  return output;
}

TEST(Text, BreaksLongCommandsSoThatTheyCanBeCopied) {
  const std::string long_case =
      "relu:self=f32[" + std::string(300, '1') + "]'\\ x ä" + std::string(150, '(') + ":seed=1";
  for (std::size_t filler = 0; filler < 130; filler += 13) {
    const std::string first(filler, 'f');
    const std::string text = command({"assay", first, "--case", long_case, "last"}, 6);
    EXPECT_EQ(words_in_bash(text), "<assay><" + first + "><--case><" + long_case + "><last>");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(width(line), kTextWidth);
  }
  EXPECT_EQ(command({"assay", "replay", "a.h5"}, 4), "    assay replay a.h5\n");
}

TEST(Text, WritesNumbersForPeople) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(counted(1, "case"), "1 case");
  EXPECT_EQ(counted(0, "case"), "0 cases");
  EXPECT_EQ(duration(0.44), "0.4 s");
  EXPECT_EQ(duration(59.4), "59 s");
  EXPECT_EQ(duration(125), "2 min 5 s");
  EXPECT_EQ(duration(7260), "2 h 1 min");
  EXPECT_EQ(duration(std::numeric_limits<double>::quiet_NaN()), "unknown time");
}

}  // namespace
}  // namespace assay
