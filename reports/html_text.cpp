#include "html_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "text.h"
#include "utf8.h"

namespace assay {
namespace {

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
    if (c.length == 0 || !is_readable(c.value))
      out += kUnreadable;
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
