#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The bytes that the first `columns` columns take.
std::size_t prefix(std::string_view text, std::size_t columns) {
  std::size_t i = 0;
  while (i < text.size() && columns > 0) {
    ++i;
    while (i < text.size() && continues(text[i])) ++i;
    --columns;
  }
  return i;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

class Lines {
 public:
  Lines(std::string_view first, std::string_view rest) : line_(first), rest_(rest) {}

  void word(std::string_view w) {
    const std::size_t gap = empty_ ? 0 : 1;
    if (width(line_) + gap + width(w) > kTextWidth && !empty_) end_line();
    if (!empty_) line_ += ' ';
    while (width(line_) + width(w) > kTextWidth) {
      const std::size_t fits = prefix(w, kTextWidth - std::min(kTextWidth - 1, width(line_)));
      line_ += w.substr(0, fits);
      w.remove_prefix(fits);
      end_line();
    }
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

std::string printable(std::string_view text) {
  std::string out(text);
  std::replace_if(out.begin(), out.end(), is_control, ' ');
  return out;
}

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
  const bool escapes = std::any_of(word.begin(), word.end(), is_control);
  std::string quoted = escapes ? "$'" : "'";
  for (const char c : word) {
    if (is_control(c))
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else if (c == '\'')
      quoted += escapes ? "\\'" : "'\\''";
    else if (escapes && c == '\\')
      quoted += "\\\\";
    else
      quoted += c;
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
    while (width(line) + width(quoted) > kLine) {
      const std::size_t room = kLine > width(line) + 12 ? kLine - width(line) - 12 : 1;
      std::size_t take = prefix(left, room);
      while (take > 1 && width(line) + width(shell_word(left.substr(0, take))) > kLine) {
        --take;
        while (take > 1 && continues(left[take])) --take;
      }
      out += line + shell_word(left.substr(0, take)) + "\\\n";
      left.remove_prefix(take);
      line.clear();
      quoted = shell_word(left);
    }
    line += quoted;
    empty = false;
  }
  return out + line + "\n";
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
