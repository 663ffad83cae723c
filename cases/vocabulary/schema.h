// ATen schema strings (the grammar of PyTorch's native_functions.yaml), parsed at compile time.
//
//   prelu(Tensor self, Tensor weight) -> Tensor
//   add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//   max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], ...) -> (Tensor, Tensor)
//
// A malformed schema does not compile: the message is the name of the schema_... function that cannot be called. schema_of() of
// graph/graph.h parses one that is not known before the program runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace assay {

enum class Type : std::uint8_t { tensor, scalar, integer, real, boolean, string, dtype, memory_format };

struct Argument {
  std::string_view name{};
  Type type = Type::tensor;
  bool optional = false;        // the value may be None: Tensor?, int[2]?
  bool list = false;            // Tensor[], int[2]
  bool optional_items = false;  // Tensor?[]
  bool keyword_only = false;    // stands after the *
  bool written = false;         // Tensor(a!)
  int list_size = 0;            // 2 of int[2]: one number stands for all
  bool has_default = false;
  std::string_view default_text{};  // as written: 1, None, [0, 0], "none"

  constexpr bool is_tensor() const { return type == Type::tensor; }
};

inline constexpr std::size_t kMaxArguments = 128;
inline constexpr std::size_t kMaxResults = 5;

struct Schema {
  std::string_view text{};      // all of it, normalised as written
  std::string_view ns{};        // "aten" unless written: assay::swiglu(...)
  std::string_view name{};      // "add.Tensor": base name and overload
  std::string_view base{};      // "add"
  std::string_view overload{};  // "Tensor", or empty
  std::array<Argument, kMaxArguments> argument_storage{};
  std::array<Argument, kMaxResults> result_storage{};
  std::size_t argument_count = 0;
  std::size_t result_count = 0;

  constexpr std::span<const Argument> arguments() const { return {argument_storage.data(), argument_count}; }
  constexpr std::span<const Argument> results() const { return {result_storage.data(), result_count}; }
  // The position of the argument, or -1.
  constexpr int find(std::string_view argument) const {
    for (std::size_t i = 0; i < argument_count; ++i)
      if (argument_storage[i].name == argument) return static_cast<int>(i);
    return -1;
  }
};

// A call in a constant expression is the compile error, and its name is the message. Of schemas that come later (graph/schema.cpp) they
// throw.
void schema_text_ends_too_early(std::size_t at);
void schema_expects_another_character(std::size_t at, char expected);
void schema_expects_a_name(std::size_t at);
void schema_unknown_type(std::size_t at);
void schema_has_too_many_arguments(std::size_t at);
void schema_has_text_behind_its_end(std::size_t at);

namespace detail {

class SchemaParser {
 public:
  constexpr explicit SchemaParser(std::string_view text) : text_(text) {}

  constexpr Schema parse() {
    Schema s;
    s.text = text_;
    parse_name(s);
    expect('(');
    bool keyword_only = false;
    if (!accept(')')) {
      do {
        skip_spaces();
        if (accept('*')) {
          keyword_only = true;
          continue;
        }
        if (s.argument_count == kMaxArguments) schema_has_too_many_arguments(at_);
        Argument a = parse_type();
        a.keyword_only = keyword_only;
        skip_spaces();
        a.name = word();
        if (accept('=')) {
          a.has_default = true;
          a.default_text = default_value();
        }
        s.argument_storage[s.argument_count++] = a;
      } while (accept(','));
      expect(')');
    }
    skip_spaces();
    expect('-');
    expect('>');
    skip_spaces();
    if (accept('(')) {
      if (!accept(')')) {
        do {
          parse_result(s);
        } while (accept(','));
        expect(')');
      }
    } else {
      parse_result(s);
    }
    skip_spaces();
    if (at_ != text_.size()) schema_has_text_behind_its_end(at_);
    return s;
  }

 private:
  constexpr void parse_name(Schema& s) {
    s.ns = "aten";
    const std::size_t colons = text_.substr(0, text_.find('(')).find("::");
    if (colons != std::string_view::npos) {
      s.ns = text_.substr(0, colons);
      at_ = colons + 2;
    }
    const std::size_t begin = at_;
    s.base = word();
    if (accept('.')) s.overload = word();
    s.name = text_.substr(begin, at_ - begin);
  }

  constexpr void parse_result(Schema& s) {
    skip_spaces();
    if (s.result_count == kMaxResults) schema_has_too_many_arguments(at_);
    Argument a = parse_type();
    skip_spaces();
    if (at_ < text_.size() && is_word(text_[at_])) a.name = word();
    s.result_storage[s.result_count++] = a;
  }

  constexpr Argument parse_type() {
    struct Named {
      std::string_view name;
      Type type;
    };
    constexpr Named names[] = {
        {"Tensor", Type::tensor},  {"Scalar", Type::scalar},    {"int", Type::integer},
        {"SymInt", Type::integer}, {"float", Type::real},       {"bool", Type::boolean},
        {"str", Type::string},     {"ScalarType", Type::dtype}, {"MemoryFormat", Type::memory_format}};
    const std::size_t begin = at_;
    const std::string_view name = word();
    Argument a;
    bool known = false;
    for (const Named& n : names)
      if (n.name == name) {
        a.type = n.type;
        known = true;
      }
    if (!known) schema_unknown_type(begin);
    // A suffix is a sequence: Tensor(a!), Tensor?[], int[2]?
    while (at_ < text_.size()) {
      if (accept('(')) {
        while (at_ < text_.size() && text_[at_] != ')') a.written |= text_[at_++] == '!';
        expect(')');
      } else if (accept('?')) {
        a.optional = true;
      } else if (!a.list && accept('[')) {  // a list of lists is none of ATen's types
        a.list = true;
        a.optional_items = a.optional;
        a.optional = false;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9')
          a.list_size = a.list_size * 10 + (text_[at_++] - '0');
        expect(']');
      } else {
        break;
      }
    }
    return a;
  }

  constexpr std::string_view default_value() {
    const std::size_t begin = at_;
    int depth = 0;
    char quote = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '[') {
        ++depth;
      } else if (c == ']') {
        --depth;
      } else if (depth == 0 && (c == ',' || c == ')')) {
        return text_.substr(begin, at_ - begin);
      }
    }
    schema_text_ends_too_early(at_);
    return {};
  }

  static constexpr bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  constexpr std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (begin == at_) schema_expects_a_name(at_);
    return text_.substr(begin, at_ - begin);
  }
  constexpr void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  constexpr bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  constexpr void expect(char c) {
    if (at_ >= text_.size()) schema_text_ends_too_early(at_);
    if (text_[at_] != c) schema_expects_another_character(at_, c);
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace detail

consteval Schema parse_schema(std::string_view text) { return detail::SchemaParser(text).parse(); }

}  // namespace assay
