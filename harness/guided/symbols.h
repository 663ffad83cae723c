// Where in their source the blocks of a library begin, as llvm-symbolizer or addr2line reads its debug information.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct SourcePlace {
  std::string
      function;  // where the source has the line: a function that the compiler has inlined, too. Empty: not known
  std::string file;  // empty: not known
  std::uint32_t line = 0;
  std::string compiled_in;  // the function whose machine code it is
};

struct Symbols {
  std::vector<SourcePlace> places;  // one for each address
  std::string missing;              // what is missing, and what to do, where lines are not known; else empty
};

// `addresses` are of the file. Of what a function of the system's headers inlines, the line that uses it is the place.
Symbols find_symbols(const std::string& library, std::span<const std::uint64_t> addresses);

// Code that a compiler made for no line of its own gets that of the code before it in its function.
void take_lines_from_before(std::span<const std::uint64_t> addresses, std::span<SourcePlace> places);

// The part of it that reads: what one of the programs prints with -a -f -i -C for so many addresses.
std::vector<SourcePlace> parse_symbols(std::string_view printed, std::size_t addresses);

// "run" of "void (anonymous namespace)::run<float>(int const*)": what people call the function.
std::string short_function(std::string_view function);

}  // namespace assay
