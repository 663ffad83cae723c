// The text of a file of PTX: pieces of it, and errors that say where they stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cuda::ptx {

using Text = std::string_view;

// "line 12: WHAT: "TOKEN"". The token is a part of `whole`; a long one is cut.
std::runtime_error error_at(Text whole, Text token, std::string_view what);

// Char by char: the standard library's searches for one of several call a function for each.
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
std::size_t find_space(Text s);  // npos where there is none
Text trimmed(Text s);
Text without_leading_space(Text s);
// At separators that stand in no brackets.
std::vector<Text> split(Text s, char separator);
std::vector<Text> words(Text s);
// What stands between the first character and the last one, which are brackets.
Text inside(Text s);

// All of `s` as a number in digits of that base; false if it is none, or too large.
bool read_number(Text s, std::uint64_t& value, int base = 10);
// The same as PTX writes integers: 12, -12, 12U, 0x1F, 017, 0b101. Of negative ones the complement.
bool read_integer(Text s, std::uint64_t& value);

// Bytes of ".f32", ".b128" and the like; 0 for what is no such type.
std::size_t bytes_of_type(Text type);

// ".param .align 8 .b8 name[16]" and the like, of any state space.
struct Declaration {
  Text name;
  std::size_t bytes, alignment;
};
Declaration declaration(Text whole, Text text);

}  // namespace assay::cuda::ptx
