#include "braces.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace assay {
namespace {

constexpr int kDeepest = 8;  // groups within one another

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
std::size_t number_of(char letter) { return static_cast<std::size_t>(letter - 'a'); }

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? Braces::kMost : product;
}
std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? Braces::kMost : sum;
}

}  // namespace

class Braces::Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // In a group up to the comma or brace that ends the alternative.
  Sequence sequence(int depth) {
    Sequence all;
    int brackets = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '{') {
        all.push_back(group(depth + 1));
        continue;
      }
      if (c == '$') {
        all.push_back({.literal = "", .taken = name_taken()});
        continue;
      }
      if (depth > 0 && (c == '}' || (c == ',' && brackets == 0))) return all;
      if (c == '}') throw BraceError(at_, "\"}\" without a \"{\" before it");
      if (c == '[' || c == '(') ++brackets;
      if (c == ']' || c == ')') brackets = std::max(brackets - 1, 0);
      if (all.empty() || all.back().literal.empty()) all.push_back({.literal = ""});
      all.back().literal += c;
    }
    return all;
  }

 private:
  // From "{" to "}", where it stays.
  Piece group(int depth) {
    const std::size_t open = at_;
    if (depth > kDeepest)
      throw BraceError(open, fmt::format("more than {} braces within one another", kDeepest));
    ++at_;
    const char name = name_given(depth);
    Piece piece = alternatives(open, depth);
    piece.name = name;
    if (name != 0) known_[number_of(name)] = true;
    return piece;
  }

  // The letter of "n:=", if that stands here.
  char name_given(int depth) {
    if (text_.size() < at_ + 3 || !is_letter(text_[at_]) || text_.substr(at_ + 1, 2) != ":=") return 0;
    const char name = text_[at_];
    if (depth > 1) throw BraceError(at_, "braces within others have no name");
    if (known_[number_of(name)]) throw BraceError(at_, fmt::format("there are braces named {} before", name));
    at_ += 3;
    return name;
  }

  // The letter of "$n", on which it stays.
  char name_taken() {
    const std::size_t dollar = at_++;
    if (at_ == text_.size() || !is_letter(text_[at_]) || !known_[number_of(text_[at_])])
      throw BraceError(dollar, "\"$\" stands before the letter of braces before it, as in {n:=1,2}x$n");
    return text_[at_];
  }

  Piece alternatives(std::size_t open, int depth) {
    if (std::optional<Piece> numbers = range(open)) return *std::move(numbers);
    Piece piece;
    while (true) {
      piece.alternatives.push_back(sequence(depth));
      if (at_ == text_.size()) throw BraceError(open, "\"{\" without a \"}\" after it");
      if (text_[at_] == '}') break;
      ++at_;
    }
    if (piece.alternatives.size() < 2)
      throw BraceError(open,
                       fmt::format("\"{}\" is neither alternatives, {{f32,f64}}, nor a range, {{1..40}}",
                                   text_.substr(open, at_ + 1 - open)));
    piece.count = 0;
    for (const Sequence& s : piece.alternatives) piece.count = plus(piece.count, Braces::count(s));
    return piece;
  }

  // "1..40}" or "0..64..16}", if that stands here.
  std::optional<Piece> range(std::size_t open) {
    const std::size_t close = text_.find('}', at_);
    if (close == std::string_view::npos) return std::nullopt;
    std::string_view rest = text_.substr(at_, close - at_);
    std::vector<std::int32_t> numbers;
    while (true) {
      std::int32_t value = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      if (error != std::errc{}) return std::nullopt;
      numbers.push_back(value);
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      if (rest.empty()) break;
      if (!rest.starts_with("..")) return std::nullopt;
      rest.remove_prefix(2);
    }
    if (numbers.size() < 2 || numbers.size() > 3) return std::nullopt;
    const std::int64_t first = numbers[0], distance = numbers[1] - first;
    const std::int64_t step = numbers.size() == 3 ? std::abs(std::int64_t{numbers[2]}) : 1;
    if (step == 0) throw BraceError(open, "a range whose step is 0");
    at_ = close;
    Piece piece;
    piece.range = {first, distance < 0 ? -step : step};
    piece.count = static_cast<std::uint64_t>(std::abs(distance) / step + 1);
    return piece;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::array<bool, 26> known_{};  // names of groups so far
};

Braces::Braces(std::string_view text) : all_(Reader(text).sequence(0)) {}

std::uint64_t Braces::count() const { return count(all_); }

std::string Braces::text(std::uint64_t i) const {
  std::string text;
  Taken taken;
  append(text, all_, i, taken);
  return text;
}

std::uint64_t Braces::count(const Sequence& sequence) {
  std::uint64_t all = 1;
  for (const Piece& p : sequence) all = times(all, p.count);
  return all;
}

void Braces::append(std::string& to, const Sequence& sequence, std::uint64_t i, Taken& taken) {
  std::vector<std::uint64_t> chosen(sequence.size());
  for (std::size_t p = sequence.size(); p-- > 0; i /= sequence[p].count) chosen[p] = i % sequence[p].count;
  for (std::size_t p = 0; p < sequence.size(); ++p) {
    const Piece& piece = sequence[p];
    const std::size_t begin = to.size();
    to += piece.taken != 0 ? taken[number_of(piece.taken)] : piece.literal;
    if (piece.range)
      to += fmt::format("{}", piece.range->first + static_cast<std::int64_t>(chosen[p]) * piece.range->step);
    for (const Sequence& alternative : piece.alternatives) {
      const std::uint64_t of_this = count(alternative);
      if (chosen[p] < of_this) {
        append(to, alternative, chosen[p], taken);
        break;
      }
      chosen[p] -= of_this;
    }
    if (piece.name != 0) taken[number_of(piece.name)] = to.substr(begin);
  }
}

}  // namespace assay
