// Where an input of a recorded call comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../model/call.h"

namespace assay {

// "3:out@offset(2)@strides(1,7)": which result of which call an input is, and how it lies in that result's memory, counted in
// elements. Without offset and strides it is all of it.
struct Origin {
  std::size_t call = 0;
  std::string result;
  std::int64_t offset = 0;
  std::optional<Shape> strides;
};

// Nothing if the text is none.
std::optional<Origin> parse_origin(const std::string& text);

// "sin(3:out,5:out)": what a call gave that was not recorded, and the recorded results that it followed from.
struct Through {
  std::string op;
  std::vector<Origin> from;
};
// Nothing if the text is none.
std::optional<Through> parse_through(const std::string& text);

// "offset(2)@strides(1,7)": the part of a tensor that another one is. Nothing if the text is none.
std::optional<Origin> parse_part(const std::string& text);

// The part of a packed tensor that an input of this shape is; nothing if it does not lie within.
std::optional<TensorData> view_of(const TensorData& whole, const Origin& origin, const Shape& shape);

}  // namespace assay
