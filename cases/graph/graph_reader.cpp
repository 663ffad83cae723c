#include "graph_reader.h"

#include <fmt/format.h>

#include <cctype>

namespace assay {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// A name, with "::" and an overload: aten::add.Tensor.
std::size_t end_of_name(std::string_view s) {
  std::size_t n = 0;
  while (n < s.size()) {
    const char next = n + 1 < s.size() ? s[n + 1] : '\0';
    if (begins_name(s[n]) || is_digit(s[n]))
      ++n;
    else if (s[n] == '.' && begins_name(next))
      n += 2;
    else if (s.substr(n).starts_with("::"))
      n += 2;
    else
      break;
  }
  return n;
}

std::size_t end_of_number(std::string_view s) {
  std::size_t n = 0;
  while (n < s.size() && (is_digit(s[n]) || s[n] == '.' ||
                          ((s[n] == '-' || s[n] == '+') && (s[n - 1] == 'e' || s[n - 1] == 'E')) ||
                          ((s[n] == 'e' || s[n] == 'E') && n > 0)))
    ++n;
  return n;
}

}  // namespace

void GraphReader::fail(const std::string& what) const {
  throw GraphError(fmt::format("{}, line {}: {}", graph_, line(), what));
}

bool GraphReader::accept(std::string_view sign) {
  if (!is(sign)) return false;
  next();
  return true;
}

void GraphReader::expect(std::string_view sign) {
  if (!accept(sign))
    fail(fmt::format("\"{}\" is expected, not {}", sign,
                     word_.kind == GraphWord::Kind::end    ? "the end of the text"
                     : word_.kind == GraphWord::Kind::line ? "the end of the line"
                                                           : fmt::format("\"{}\"", word_.text)));
}

void GraphReader::skip_ends() {
  while (word_.kind == GraphWord::Kind::line || is(";")) next();
}

void GraphReader::next() {
  using Kind = GraphWord::Kind;
  if (word_.kind == Kind::line) ++line_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '\n' && depth_ > 0) {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else {
      break;
    }
  }
  const std::string_view rest = text_.substr(at_);
  std::size_t n = 1;
  if (rest.empty()) {
    word_ = {};
    return;
  }
  if (rest[0] == '\n') {
    word_.kind = Kind::line;
  } else if (begins_name(rest[0])) {
    word_.kind = Kind::name;
    n = end_of_name(rest);
  } else if (is_digit(rest[0])) {
    word_.kind = Kind::number;
    n = end_of_number(rest);
  } else if (rest[0] == '"' || rest[0] == '\'') {
    word_.kind = Kind::text;
    const std::size_t close = rest.find(rest[0], 1);
    if (close == std::string_view::npos) fail("a text has no closing quote");
    n = close + 1;
  } else {
    word_.kind = Kind::sign;
  }
  word_.text = rest.substr(0, n);
  at_ += n;
}

}  // namespace assay
