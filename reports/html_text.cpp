#include "html_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "utf8.h"

namespace assay {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Marks, embeddings, overrides and isolates of the direction of writing.
bool turns_direction(std::uint32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

bool readable(std::uint32_t c) {
  if (c == '\t' || c == '\n') return true;
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;
  if (c >= 0xD800 && c <= 0xDFFF) return false;              // surrogates
  if ((c & 0xFFFE) == 0xFFFE || c > 0x10FFFF) return false;  // no characters
  return !turns_direction(c);
}

bool stays_in_address(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

std::string clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point(text, i);
    if (c.length == 0 || !readable(c.value))
      out += kReplacement;
    else
      out += text.substr(i, c.length);
    i += c.length == 0 ? 1 : c.length;
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most) {
  const std::string whole = clean(text);
  std::size_t end = 0, points = 0;
  while (end < whole.size() && points < most) {
    end += code_point(whole, end).length;
    ++points;
  }
  return end == whole.size() ? whole : whole.substr(0, end) + "...";
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : clean(text)) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string fragment(std::string_view text) {
  std::string out;
  for (const char c : clean(text))
    if (stays_in_address(c))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

std::string script_json(std::string_view text) {
  std::string out;
  for (const char c : nlohmann::json(clean(text)).dump())
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

std::string script_json(double value, int digits) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "1e999" : "-1e999";
  return fmt::format("{:.{}g}", value, digits);
}

}  // namespace assay
