#include "text.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>

namespace assay::cuda::ptx {
namespace {

constexpr std::size_t kLongestToken = 80;
constexpr std::size_t kLargestAlignment = 1024, kLargestVariable = std::size_t{1} << 30;

}  // namespace

std::runtime_error error_at(Text whole, Text token, std::string_view what) {
  const auto line = std::count(whole.data(), token.data(), '\n') + 1;
  Text shown = token.substr(0, std::min({token.size(), kLongestToken, token.find('\n')}));
  return std::runtime_error("line " + std::to_string(line) + ": " + std::string(what) + ": \"" +
                            std::string(shown) + (shown.size() < token.size() ? "\"..." : "\""));
}

std::size_t find_space(Text s) {
  const auto at = std::find_if(s.begin(), s.end(), is_space);
  return at == s.end() ? Text::npos : static_cast<std::size_t>(at - s.begin());
}

Text without_leading_space(Text s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  return s;
}
Text trimmed(Text s) {
  s = without_leading_space(s);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

std::vector<Text> split(Text s, char separator) {
  std::vector<Text> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == separator && depth == 0)) {
      parts.push_back(trimmed(s.substr(begin, i - begin)));
      begin = i + 1;
    } else if (s[i] == '{' || s[i] == '[' || s[i] == '(') {
      ++depth;
    } else if (s[i] == '}' || s[i] == ']' || s[i] == ')') {
      --depth;
    }
  }
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

std::vector<Text> words(Text s) {
  std::vector<Text> found;
  for (s = without_leading_space(s); !s.empty(); s = without_leading_space(s)) {
    found.push_back(s.substr(0, find_space(s)));
    s.remove_prefix(found.back().size());
  }
  return found;
}

Text inside(Text s) { return s.size() < 2 ? s.substr(0, 0) : s.substr(1, s.size() - 2); }

bool read_number(Text s, std::uint64_t& value, int base) {
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  return error == std::errc{} && end == s.data() + s.size();
}

bool read_integer(Text s, std::uint64_t& value) {
  const bool negative = s.starts_with('-');
  if (negative) s.remove_prefix(1);
  if (s.ends_with('U')) s.remove_suffix(1);
  int base = 10;
  if (s.size() > 1 && s[0] == '0') {
    const bool hexadecimal = s[1] == 'x' || s[1] == 'X', binary = s[1] == 'b' || s[1] == 'B';
    base = hexadecimal ? 16 : binary ? 2 : 8;
    s.remove_prefix(base == 8 ? 1 : 2);
  }
  if (!read_number(s, value, base) || (negative && value > std::uint64_t{1} << 63)) return false;
  if (negative) value = 0 - value;
  return true;
}

std::size_t bytes_of_type(Text type) {
  if (type.size() < 3 || type[0] != '.' || Text("bsuf").find(type[1]) == Text::npos) return 0;
  std::uint64_t bits = 0;
  if (!read_number(type.substr(2), bits)) return 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? bits / 8 : 0;
}

Declaration declaration(Text whole, Text text) {
  Declaration d{{}, 0, 0};
  std::uint64_t element = 0, count = 1, alignment = 0;
  const std::vector<Text> all = words(text);
  bool good = true, pointer = false;
  for (std::size_t i = 0; i < all.size() && good; ++i) {
    if (all[i] == ".align") {
      std::uint64_t n = 0;
      good = ++i < all.size() && read_integer(all[i], n) && std::has_single_bit(n) && n <= kLargestAlignment;
      if (!pointer) alignment = n;  // after .ptr it is of what the parameter points to
    } else if (all[i] == ".param" || all[i] == ".shared" || all[i] == ".local" || all[i] == ".global") {
      continue;
    } else if (all[i] == ".ptr") {
      pointer = true;
    } else if (all[i][0] == '.') {
      good = element == 0 && (element = bytes_of_type(all[i])) != 0;
    } else {
      good = d.name.empty();
      d.name = all[i];
    }
  }
  if (const auto bracket = d.name.find('['); bracket != Text::npos) {
    good = good && d.name.back() == ']' && read_integer(inside(d.name.substr(bracket)), count) &&
           count <= kLargestVariable;
    d.name = d.name.substr(0, bracket);
  }
  if (!good || d.name.empty() || element == 0)
    throw error_at(whole, text, "a declaration that is not understood");
  d.bytes = element * count;
  d.alignment = alignment == 0 ? element : alignment;
  return d;
}

}  // namespace assay::cuda::ptx
