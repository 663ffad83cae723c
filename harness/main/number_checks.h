// Checks of numbers on the command line. CLI11's own say a range of three hundred digits.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <string>

namespace assay {

inline CLI::Validator whole_number() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        return digits ? std::string() : fmt::format("is {}: must be a whole number from 0", text);
      },
      "");
}

inline CLI::Validator positive_number() {
  return CLI::Validator(
      [](const std::string& text) {
        double x = 0;
        const char* const end = text.data() + text.size();
        const bool positive = std::from_chars(text.data(), end, x).ptr == end && x > 0 &&
                              x <= std::numeric_limits<double>::max();
        return positive ? std::string() : fmt::format("is {}: must be a number above 0", text);
      },
      "");
}

}  // namespace assay
