// Fields of JSON that may be missing, and words of which some are allowed, for readers of benchmark files.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "json_reader.h"

namespace assay {

inline double number_or(const JsonReader& value, const std::string& key, double otherwise) {
  const JsonReader::Optional found = value.find(key);
  return found ? found->number() : otherwise;
}

inline bool boolean_or(const JsonReader& value, const std::string& key, bool otherwise) {
  const JsonReader::Optional found = value.find(key);
  return found ? found->boolean() : otherwise;
}

// The place of a text in a list of those that are allowed.
template <std::size_t N>
std::size_t one_of(const JsonReader& value, const std::array<std::string_view, N>& allowed) {
  const std::string text = value.text();
  const auto found = std::find(allowed.begin(), allowed.end(), text);
  if (found == allowed.end())
    value.fail(fmt::format("unknown \"{}\"; expected one of {}", text, fmt::join(allowed, ", ")));
  return static_cast<std::size_t>(found - allowed.begin());
}

}  // namespace assay
