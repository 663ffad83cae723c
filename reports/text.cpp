#include "text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "utf8.h"

namespace assay {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

struct Character {
  enum class Kind : std::uint8_t { readable, control, unreadable };  // control: one of ASCII
  std::string_view bytes;
  Kind kind;
};

// What stands at text[i]: a code point, or a byte that is no UTF-8.
Character character(std::string_view text, std::size_t i) {
  using Kind = Character::Kind;
  const CodePoint c = code_point(text, i);
  const std::string_view bytes = text.substr(i, std::max<std::size_t>(c.length, 1));
  if (c.length == 1 && (c.value < 0x20 || c.value == 0x7F)) return {bytes, Kind::control};
  return {bytes, c.length > 0 && is_readable(c.value) ? Kind::readable : Kind::unreadable};
}

std::string printable_text(std::string_view text, bool with_line_ends) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Character c = character(text, i);
    i += c.bytes.size();
    if (c.kind == Character::Kind::readable || (with_line_ends && c.bytes == "\n"))
      out += c.bytes;
    else
      out += c.kind == Character::Kind::control ? " " : kUnreadable;
  }
  return out;
}

// Columns that it takes in shell_word(), at most.
std::size_t quoted_columns(const Character& c) {
  if (c.kind != Character::Kind::readable) return 4 * c.bytes.size();
  return c.bytes == "'" ? 4 : c.bytes == "\\" ? 2 : 1;
}

// The bytes of the word's beginning that fit into so many columns when quoted; those of one character at least.
std::size_t fitting(std::string_view word, std::size_t columns) {
  std::size_t taken = 3;  // the quotation marks
  std::size_t i = 0;
  while (i < word.size()) {
    const Character c = character(word, i);
    taken += quoted_columns(c);
    if (taken > columns && i > 0) break;
    i += c.bytes.size();
  }
  return i;
}

class Lines {
 public:
  Lines(std::string_view first, std::string_view rest) : line_(first), rest_(rest) {}

  void word(std::string_view w) {
    const std::size_t gap = empty_ ? 0 : 1;
    if (width(line_) + gap + width(w) > kTextWidth && !empty_) end_line();
    if (!empty_) line_ += ' ';
    line_ += w;
    empty_ = false;
  }

  void end_line() {
    done_ += line_;
    done_ += '\n';
    line_ = rest_;
    empty_ = true;
  }

  std::string take() {
    end_line();
    return std::move(done_);
  }

 private:
  std::string done_;
  std::string line_;
  std::string_view rest_;
  bool empty_ = true;
};

}  // namespace

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string pad_right(std::string_view text, std::size_t columns) {
  const std::size_t w = width(text);
  return std::string(text) + std::string(columns > w ? columns - w : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t columns) {
  const std::size_t w = width(text);
  return std::string(columns > w ? columns - w : 0, ' ') + std::string(text);
}

std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t i = 0;
  for (; i < text.size() && columns > 0; --columns) {
    ++i;
    while (i < text.size() && continues(text[i])) ++i;
  }
  return text.substr(0, i);
}

bool is_readable(std::uint32_t c) {
  if (c == '\t' || c == '\n') return true;
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;
  if (c >= 0xD800 && c <= 0xDFFF) return false;              // surrogates
  if ((c & 0xFFFE) == 0xFFFE || c > 0x10FFFF) return false;  // no characters
  // Marks, embeddings, overrides and isolates of the direction of writing.
  return !(c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069));
}

std::string printable(std::string_view text) { return printable_text(text, false); }
std::string printable_lines(std::string_view text) { return printable_text(text, true); }

std::string paragraph(std::string_view text, std::string_view first, std::string_view rest) {
  Lines lines(first, rest);
  std::string_view left = text;
  while (!left.empty() && left.back() == '\n') left.remove_suffix(1);
  while (!left.empty()) {
    const std::size_t end = left.find_first_of(" \n");
    if (end != 0) lines.word(printable(left.substr(0, end)));
    if (end == std::string_view::npos) break;
    if (left[end] == '\n') lines.end_line();
    left.remove_prefix(end + 1);
  }
  return lines.take();
}

std::string shell_word(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=,@%+").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
  std::vector<Character> all;
  for (std::size_t i = 0; i < word.size(); i += all.back().bytes.size()) all.push_back(character(word, i));
  const auto is_strange = [](const Character& c) { return c.kind != Character::Kind::readable; };
  const bool escapes = std::any_of(all.begin(), all.end(), is_strange);
  std::string quoted = escapes ? "$'" : "'";
  for (const Character& c : all) {
    if (is_strange(c))
      for (const char byte : c.bytes) quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    else if (c.bytes == "'")
      quoted += escapes ? "\\'" : "'\\''";
    else if (escapes && c.bytes == "\\")
      quoted += "\\\\";
    else
      quoted += c.bytes;
  }
  return quoted + "'";
}

std::string command(const std::vector<std::string>& words, std::size_t indent) {
  constexpr std::size_t kLine = kTextWidth - 2;  // room for the backslash
  std::string out;
  std::string line(indent, ' ');
  bool empty = true;
  for (const std::string& w : words) {
    std::string quoted = shell_word(w);
    if (!empty && width(line) + 1 + width(quoted) > kLine) {
      out += line + " \\\n";
      line.assign(indent + 2, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    // A word wider than a line: the pieces are quoted one by one and join where the next line begins at its
    // margin.
    std::string_view left = w;
    // So many bytes fit into no line: need not be quoted to see that.
    while (left.size() > 4 * kLine || width(line) + width(quoted = shell_word(left)) > kLine) {
      const std::size_t take = fitting(left, kLine - std::min(kLine, width(line)));
      out += line + shell_word(left.substr(0, take)) + "\\\n";
      left.remove_prefix(take);
      line.clear();
    }
    line += quoted;
    empty = false;
  }
  return out + line + "\n";
}

std::string first_of(const std::vector<std::string>& all, std::size_t most, std::string_view separator) {
  const std::size_t shown = std::min(all.size(), most);
  std::string s =
      fmt::format("{}", fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), separator));
  if (shown < all.size()) s += fmt::format(" and {} more", grouped(all.size() - shown));
  return s;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string figure(double value, int digits) {
  if (!std::isfinite(value)) return "?";
  return std::abs(value) < 1e9 ? fmt::format("{:.{}f}", value, digits) : fmt::format("{:.3g}", value);
}

std::string interval_text(double low, double high, int digits) {
  if (!std::isfinite(low) || !std::isfinite(high)) return "?";
  return figure(low, digits) + " to " + figure(high, digits);
}

std::string duration(double seconds) {
  if (!(seconds >= 0) || std::isinf(seconds)) return "unknown time";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e15)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", grouped(whole / 3600), whole % 3600 / 60);
}

}  // namespace assay
