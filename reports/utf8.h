// Text from outside, one code point after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  // in bytes
};

// The code point that begins at text[i]; of length 0 if the bytes there are not UTF-8. Precondition: i < text.size().
CodePoint code_point(std::string_view text, std::size_t i);

}  // namespace assay
