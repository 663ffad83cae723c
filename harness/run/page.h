#pragma once

#include <cstddef>

namespace assay {

inline constexpr std::size_t kPage = 4096;  // bytes of the smallest page

constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace assay
