// ATen's c10::MemoryFormat: how a caller wants a result to lie in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay {

// The numbers are those of assay/kernel.h.
enum class MemoryFormat : std::uint8_t {
  contiguous_format,
  preserve_format,
  channels_last,
  channels_last_3d
};
inline constexpr std::array<std::string_view, 4> kMemoryFormats{"contiguous_format", "preserve_format",
                                                                "channels_last", "channels_last_3d"};
constexpr std::string_view name(MemoryFormat f) { return kMemoryFormats[static_cast<std::size_t>(f)]; }
// How many dimensions a tensor of the format has; 0: any number.
constexpr std::size_t rank_of(MemoryFormat f) {
  return f == MemoryFormat::channels_last ? 4 : f == MemoryFormat::channels_last_3d ? 5 : 0;
}

}  // namespace assay
