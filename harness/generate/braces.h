// Texts with alternatives in braces, as in a shell: relu:{f32,f64}:self={1..3} is six texts.
//
//   group = "{" [name] text "," text {"," text} "}"   one of these, which may be empty and have groups of their own
//         | "{" [name] int ".." int [".." int] "}"    from one number to another, by a step of 1 or this one
//   name  = letter ":="                               of a group that is in no other: "$" letter after it is what was taken there
//
// So self=2x{n:=1..40},other=$nx3 is 40 texts. Unlike in a shell, a comma within brackets or parentheses parts no alternatives:
// {@step2,@permuted(1,0)} are two.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct BraceError : std::invalid_argument {
  BraceError(std::size_t at, const std::string& what) : std::invalid_argument(what), position(at) {}
  std::size_t position;  // in the text, of the character that is wrong
};

class Braces {
 public:
  // Throws BraceError.
  explicit Braces(std::string_view text);

  // How many texts it stands for, 1 where there is no group; kMost stands for more, too.
  std::uint64_t count() const;
  static constexpr std::uint64_t kMost = ~std::uint64_t{0};
  // Number i of them; the last group changes first. Precondition: i < count().
  std::string text(std::uint64_t i) const;

 private:
  struct Range {
    std::int64_t first, step;
  };
  struct Piece;
  using Sequence = std::vector<Piece>;
  // Text, or what the group of this name was, or a group, which has alternatives or a range.
  struct Piece {
    std::string literal;
    char taken = 0;
    std::vector<Sequence> alternatives{};
    std::optional<Range> range{};
    char name = 0;
    std::uint64_t count = 1;
  };
  using Taken = std::array<std::string, 26>;
  class Reader;

  static std::uint64_t count(const Sequence& sequence);
  static void append(std::string& to, const Sequence& sequence, std::uint64_t i, Taken& taken);

  Sequence all_;
};

}  // namespace assay
