#include "reports/text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <sstream>

#include "reports/utf8.h"

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
  const std::string wide(130, 'y');
  EXPECT_EQ(paragraph("a " + wide + " b", "> ", "  "), "> a\n  " + wide + "\n  b\n");
  EXPECT_EQ(paragraph(wide, "> ", "  "), "> " + wide + "\n");
  EXPECT_EQ(paragraph("a\x1b[31m\tb\x7F", "", ""), "a [31m b \n");
}

// Escape, bell, carriage return, escapes of one byte in either form, turned writing, a surrogate, bytes that are no UTF-8.
const std::string kHostile =
    "\x1b]0;x\x07\r\x7F|\xC2\x9B|\x9B|\u202Egnp.exe\u2066\u200F\u061C|\xED\xA0\x80|\xFF\xE2\x82";

TEST(Text, MakesTextFromOutsidePrintable) {
  EXPECT_EQ(printable(kHostile),
            " ]0;x   |\uFFFD|\uFFFD|\uFFFDgnp.exe\uFFFD\uFFFD\uFFFD|\uFFFD|\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(printable("ä\t→\n𝄞"), "ä → 𝄞");
  EXPECT_EQ(printable_lines("ä\t→\n𝄞\x1b[2J\n"), "ä →\n𝄞 [2J\n");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a b");
  EXPECT_EQ(paragraph("\u202E" + std::string(3, '\x9B'), "", ""), "\uFFFD\uFFFD\uFFFD\uFFFD\n");
}

TEST(Text, WhatIsPrintableHasOnlyReadableCharacters) {
  EXPECT_TRUE(rc::check([](const std::string& start) {
    const std::string text =
        start + *rc::gen::element<std::string>("", kHostile) + *rc::gen::arbitrary<std::string>();
    const std::string lines = printable_lines(text);
    RC_ASSERT(printable_lines(lines) == lines);
    for (std::size_t i = 0; i < lines.size();) {
      const CodePoint c = code_point(lines, i);
      RC_ASSERT(c.length > 0);
      RC_ASSERT(is_readable(c.value));
      RC_ASSERT(c.value != '\t');
      i += c.length;
    }
    RC_ASSERT(std::ranges::count(lines, '\n') == std::ranges::count(text, '\n'));
    RC_ASSERT(printable(text).find('\n') == std::string::npos);
  }));
}

TEST(Text, CutsBetweenCharacters) {
  EXPECT_EQ(first_columns("aä→𝄞", 2), "aä");
  EXPECT_EQ(first_columns("aä→𝄞", 0), "");
  EXPECT_EQ(first_columns("aä→𝄞", 9), "aä→𝄞");
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
      RC_ASSERT(line.size() <= kTextWidth || line.find(' ') == std::string::npos);
      for (const char c : line)
        if (c != ' ') found += c;
    }
    RC_ASSERT(found == letters);
  });
  EXPECT_TRUE(ok);
}

TEST(Text, CutsListsAtTheirEnd) {
  const std::vector<std::string> all{"a", "b", "c", "d"};
  EXPECT_EQ(first_of(all, 4), "a, b, c, d");
  EXPECT_EQ(first_of(all, 3, "; "), "a; b; c and 1 more");
  EXPECT_EQ(first_of({}, 3), "");
}

TEST(Text, QuotesForTheShell) {
  EXPECT_EQ(shell_word("out/a-b_1.h5"), "out/a-b_1.h5");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("relu:self=f32[2]@offset(1)"), "'relu:self=f32[2]@offset(1)'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("\x1b'\\"), "$'\\x1b\\'\\\\'");
  EXPECT_EQ(shell_word("a\u202Eä\x80"), "$'a\\xe2\\x80\\xaeä\\x80'");
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

TEST(Text, CommandsWithStrangeWordsCanBeCopiedToo) {
  std::string strange;
  for (int i = 0; i < 40; ++i) strange += kHostile + "ä'\\";
  const std::string text = command({"assay", strange, std::string(500, '\x9B')}, 4);
  EXPECT_EQ(words_in_bash(text), "<assay><" + strange + "><" + std::string(500, '\x9B') + ">");
  EXPECT_EQ(printable_lines(text), text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(width(line), kTextWidth);
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
