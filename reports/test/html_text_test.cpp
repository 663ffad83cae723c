#include "reports/html_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/markdown.h"

namespace assay {
namespace {

// What a browser makes of the text, as far as html_text() may write it.
std::string read_by_browser(const std::string& text) {
  static const std::map<std::string, char> kEntities{
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"#39", '\''}};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '&') {
      out += text[i];
      continue;
    }
    const std::size_t end = text.find(';', i);
    out += kEntities.at(text.substr(i + 1, end - i - 1));
    i = end;
  }
  return out;
}

std::string unescaped_fragment(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%') {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  return out;
}

// Any bytes, and more often than by chance those that mean something.
rc::Gen<std::string> hostile_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
                          rc::gen::element<std::string>("<", ">", "&", "\"", "'", "</script>", "&lt;", "<!--",
                                                        "\xE2\x80\xAE", "\xED\xA0\x80", "\xF0\x9F\x98\x80",
                                                        "\x1b[31m", "\r\n", "|", "`", "\\u003c"),
                          rc::gen::arbitrary<std::string>())),
                      [](const std::vector<std::string>& parts) {
                        std::string all;
                        for (const std::string& p : parts) all += p;
                        return all;
                      });
}

TEST(HtmlText, IsReadBackAsTheCleanedText) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = *hostile_text(), html = html_text(text);
    RC_ASSERT(html.find_first_of("<>\"'") == std::string::npos);
    RC_ASSERT(read_by_browser(html) == clean(text));
  }));
}

TEST(HtmlText, AnAddressIsReadBackAsTheCleanedText) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = *hostile_text(), address = fragment(text);
    RC_ASSERT(address.find_first_of("<>\"'& #:/\\") == std::string::npos);
    RC_ASSERT(unescaped_fragment(address) == clean(text));
  }));
}

TEST(HtmlText, JsonInAScriptIsReadBackAndCannotEndTheScript) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = *hostile_text(), json = script_json(text);
    RC_ASSERT(json.find('<') == std::string::npos);
    RC_ASSERT(nlohmann::json::parse(json).get<std::string>() == clean(text));
  }));
}

TEST(HtmlText, CleaningTwiceIsCleaningOnce) {
  EXPECT_TRUE(rc::check([] {
    const std::string once = clean(*hostile_text());
    RC_ASSERT(clean(once) == once);
  }));
}

TEST(HtmlText, ReplacesWhatDeceives) {
  EXPECT_EQ(clean("ä\t→\n𝄞"), "ä\t→\n𝄞");
  EXPECT_EQ(clean("a\x1b[31m\x7F"), "a\uFFFD[31m\uFFFD");
  EXPECT_EQ(clean("a\u202Egnp.exe"), "a\uFFFDgnp.exe");
  EXPECT_EQ(clean("a\xC2\x85z"), "a\uFFFDz");                  // a control character of two bytes
  EXPECT_EQ(clean("a\xED\xA0\x80z"), "a\uFFFDz");              // a surrogate
  EXPECT_EQ(clean("a\xFF\xE2\x82z"), "a\uFFFD\uFFFD\uFFFDz");  // no UTF-8
}

TEST(HtmlText, EscapesMarkup) {
  EXPECT_EQ(html_text("</script><img src=x onerror='a(\"b\")'>&amp;"),
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;&amp;amp;");
  EXPECT_EQ(script_json("</script>"), "\"\\u003c/script>\"");
  EXPECT_EQ(fragment("softmax.int:f32 ä"), "softmax.int%3Af32%20%C3%A4");
}

TEST(HtmlText, ShortensByCharacters) {
  EXPECT_EQ(shortened("äöü", 3), "äöü");
  EXPECT_EQ(shortened("äöü", 2), "äö...");
  EXPECT_EQ(shortened("", 0), "");
}

TEST(HtmlText, NumbersThatJsonHasNot) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(script_json(kInfinity, 3), "1e999");
  EXPECT_EQ(script_json(-kInfinity, 3), "-1e999");
  EXPECT_EQ(script_json(std::nan(""), 3), "\"NaN\"");
  EXPECT_EQ(script_json(0.123456, 3), "0.123");
}

TEST(MarkdownText, HasNoMarkup) {
  EXPECT_EQ(markdown_text("a|b\n<img src=x> [x](y) `c` *d* @team"),
            "a\\|b &lt;img src=x&gt; \\[x\\]\\(y\\) \\`c\\` \\*d\\* &#64;team");
}

}  // namespace
}  // namespace assay
