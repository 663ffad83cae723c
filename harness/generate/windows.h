// The window of a call that slides one over an image, and how its padding fits it.
#pragma once

#include <cstdint>
#include <vector>

#include "vocabulary/case.h"

namespace assay {

// A number for each dimension of the image: those of a convolution's weight, or of a pool's kernel_size. Empty where there is none.
std::vector<std::int64_t> window_of(const Case& c);

// Whether the argument is what is put around the image.
bool is_padding(const Operator& op, std::size_t argument);

// Half of the window in each dimension: what keeps the image's size at stride 1, up to one of an even window.
std::vector<std::int64_t> half_of_window(const Case& c);

}  // namespace assay
