#include "npy_dict.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace assay::tensors {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f";

class Parser {
 public:
  Parser(std::string_view text, const Place& place) : text_(text), place_(place) {}

  NpyDict dict() {
    NpyDict d;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = string("a key");
      expect(':');
      if (key == "descr") {
        once(has_descr, key);
        descr(d);
      } else if (key == "fortran_order") {
        once(has_order, key);
        d.fortran_order = boolean();
      } else if (key == "shape") {
        once(has_shape, key);
        d.shape = shape();
      } else {
        fail(fmt::format("the key {}, which no header of .npy has", in_quotes(key)));
      }
      if (!take(',') && peek() != '}') fail("neither ',' nor '}' after a value");
    }
    if (!has_descr) fail("no descr");
    if (!has_order) fail("no fortran_order");
    if (!has_shape) fail("no shape");
    if (peek() != '\0' || at_ < text_.size()) fail("text after its end");
    return d;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    place_.fail(fmt::format("the header has {}: {}", what, in_quotes(text_)));
  }
  void once(bool& seen, const std::string& key) const {
    if (seen) fail(fmt::format("{} twice", key));
    seen = true;
  }

  // The next character that is no space; 0 at the end.
  char peek() {
    at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("no '{}' at position {}", c, at_));
  }
  bool take_word(std::string_view word) {
    peek();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string string(const char* what) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(fmt::format("no {} in quotes at position {}", what, at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail(fmt::format("{} without end", what));
    std::string s(text_.substr(at_ + 1, end - at_ - 1));
    if (s.find('\\') != std::string::npos) fail(fmt::format("an escape in {}", what));
    at_ = end + 1;
    return s;
  }

  bool boolean() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    fail("a fortran_order that is neither True nor False");
  }

  // A list says the fields of a structured dtype. It is kept as it is written, to be named in a message.
  void descr(NpyDict& d) {
    if (peek() != '[' && peek() != '(') {
      d.descr = string("a descr");
      return;
    }
    d.is_structured = true;
    const std::size_t begin = at_;
    std::size_t depth = 0;
    do {
      const char c = peek();
      if (c == '\0') fail("a descr without end");
      if (c == '\'' || c == '"') {
        string("a text");
        continue;
      }
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      ++at_;
    } while (depth > 0);
    d.descr = text_.substr(begin, at_ - begin);
  }

  // (), (3,), (3, 4); Python 2 wrote 3L. A number in brackets is no tuple.
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    if (!take('(')) fail("a shape that is no tuple");
    bool comma = true;
    while (!take(')')) {
      if (!comma) fail("a shape without ',' between its sizes");
      sizes.push_back(size());
      comma = take(',');
    }
    if (sizes.size() == 1 && !comma) fail("a shape that is no tuple");
    return sizes;
  }
  std::int64_t size() {
    peek();
    const char* const begin = text_.data() + at_;
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), n);
    if (error == std::errc::invalid_argument) fail("a size in shape that is no whole number");
    const std::string_view digits(begin, static_cast<std::size_t>(end - begin));
    if (error != std::errc{}) fail(fmt::format("the size {} in shape, more than any memory holds", digits));
    at_ += digits.size();
    take_word("L");
    return n;
  }

  std::string_view text_;
  const Place& place_;
  std::size_t at_ = 0;
};

}  // namespace

NpyDict parse_npy_dict(std::string_view text, const Place& place) { return Parser(text, place).dict(); }

}  // namespace assay::tensors
