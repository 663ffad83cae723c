#include "xml.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "utf8.h"

namespace assay {
namespace {

// The characters of XML 1.0.
bool is_character(std::uint32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) ||
         (c >= 0x10000 && c <= 0x10FFFF);
}

}  // namespace

std::string xml_text(std::string_view text, XmlPlace place) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point(text, i);
    if (c.length == 0 || !is_character(c.value)) {
      i += c.length == 0 ? 1 : c.length;
      continue;
    }
    // A parser turns white space in attributes into blanks, and "\r" everywhere.
    const bool white =
        c.value == '\r' || (place == XmlPlace::attribute && (c.value == '\t' || c.value == '\n'));
    if (white || c.value == '&' || c.value == '<' || c.value == '>' || c.value == '"')
      out += fmt::format("&#{};", c.value);
    else
      out += text.substr(i, c.length);
    i += c.length;
  }
  return out;
}

}  // namespace assay
