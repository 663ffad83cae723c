// Where a tensor diverges, drawn.
#pragma once

#include <string>

#include "report.h"

namespace assay {

// <figure> with a picture and what it shows.
std::string picture_figure(const TensorPicture& picture);

}  // namespace assay
