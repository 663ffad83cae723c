// How others compare results: what they would have said of the same numbers.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "vocabulary/dtype.h"

namespace assay {

enum class Rival : std::uint8_t { assert_close, allclose, nmse };
inline constexpr std::size_t kRivals = 3;
inline constexpr std::array<std::string_view, kRivals> kRivalNames{"assert_close", "allclose 1e-2",
                                                                   "NMSE 1e-7"};

// Whether the rival accepts `actual` where `expected`, rounded to the dtype, is right; both in row-major order.
//   assert_close   |a - e| <= atol + rtol |e| with the defaults of torch.testing.assert_close for the dtype: rtol and atol
//                  f64 1e-7 1e-7, f32 1.3e-6 1e-5, f16 1e-3 1e-5, bf16 1.6e-2 1e-5, integers 0 0; NaN equals NaN
//   allclose       the same with rtol = atol = 1e-2, as tests of engines have it
//   nmse           sum (a - e)^2 <= 1e-7 sum e^2, as ggml's test-backend-ops has it; infinities and NaN where they should be
bool accepts(Rival rival, Dtype dtype, const std::vector<double>& expected,
             const std::vector<double>& actual);

}  // namespace assay
