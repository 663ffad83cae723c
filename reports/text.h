// Plain text of a given width: columns, paragraphs, shell commands, numbers that people read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

inline constexpr std::size_t kTextWidth = 120;

// Columns on a terminal, one for each code point.
std::size_t width(std::string_view text);
std::string pad_right(std::string_view text, std::size_t columns);  // spaces after it
std::string pad_left(std::string_view text, std::size_t columns);

// What fits into so many columns of its beginning.
std::string_view first_columns(std::string_view text, std::size_t columns);

// Whether a character may reach people: none that controls a terminal, tab and line end aside, none that turns the direction of
// writing, and none that Unicode does not have.
bool is_readable(std::uint32_t code_point);
inline constexpr std::string_view kUnreadable = "\xEF\xBF\xBD";  // U+FFFD, which stands for one that is not

// Text from outside on a terminal, which it could steer: an ASCII control character becomes a space, what else is not readable, and
// a byte that is no UTF-8, kUnreadable. On one line.
std::string printable(std::string_view text);
// The same, but line ends stay: for whole messages, before there are colours in them.
std::string printable_lines(std::string_view text);

// Lines of at most kTextWidth columns: the first begins with `first`, the others with `rest`. Breaks at
// spaces alone, because words are there to be copied, such as texts of cases: one that is wider has a wider line to itself.
// Line ends in the text stay; the rest is made printable.
std::string paragraph(std::string_view text, std::string_view first, std::string_view rest);

// The word as a shell needs it: quoted if it must be, control characters as escapes (which bash and zsh
// read).
std::string shell_word(std::string_view word);

// A command that can be copied into a shell. What does not fit goes on after a backslash at the line's end.
std::string command(const std::vector<std::string>& words, std::size_t indent);

// The first of a list, and how many more there are: "a, b, c and 4 more".
std::string first_of(const std::vector<std::string>& all, std::size_t most,
                     std::string_view separator = ", ");

std::string grouped(std::uint64_t number);                         // 1,234,567
std::string counted(std::uint64_t number, std::string_view noun);  // "1 case", "2 cases"
std::string duration(double seconds);                              // "0.4 s", "2 min 5 s"

// With as many digits after the point; "1e+20" where that says more than twenty digits, "?" for what is no number and for infinity.
std::string figure(double value, int digits);
// "0.97 to 1.04"; "?" where there were too few rounds to say so, and an end is infinite.
std::string interval_text(double low, double high, int digits);

}  // namespace assay
