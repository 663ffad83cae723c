// Checks of numbers on the command line. CLI11's own say a range of three hundred digits.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

namespace assay {

inline CLI::Validator whole_number(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  return CLI::Validator(
      [most](const std::string& text) {
        std::uint64_t n = 0;
        const char* const end = text.data() + text.size();
        const auto [at, error] = std::from_chars(text.data(), end, n);
        const bool is_one = !text.empty() && at == end && (text[0] >= '0' && text[0] <= '9');
        if (is_one && error == std::errc{} && n <= most) return std::string();
        const bool too_large = is_one || error == std::errc::result_out_of_range;
        return too_large ? fmt::format("{} is too large: the most is {}", text, most)
                         : fmt::format("{} is no whole number from 0", text);
      },
      "");
}

inline CLI::Validator number_within(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        std::uint64_t n = 0;
        const char* const end = text.data() + text.size();
        const auto [at, error] = std::from_chars(text.data(), end, n);
        const bool fits = error == std::errc{} && at == end && n >= least && n <= most;
        return fits ? std::string() : fmt::format("{} is not from {} to {}", text, least, most);
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
        return positive ? std::string() : fmt::format("{} is no number above 0", text);
      },
      "");
}

inline CLI::Validator percentage(double most) {
  return CLI::Validator(
      [most](const std::string& text) {
        double x = -1;
        const char* const end = text.data() + text.size();
        const bool fits = std::from_chars(text.data(), end, x).ptr == end && x >= 0 && x <= most;
        return fits ? std::string() : fmt::format("{} is no number from 0 to {}", text, most);
      },
      "");
}

// Seconds, or none.
inline CLI::Validator duration_number() {
  return CLI::Validator(
      [](const std::string& text) {
        constexpr double kDay = 86400;
        double x = -1;
        const char* const end = text.data() + text.size();
        const bool fits = std::from_chars(text.data(), end, x).ptr == end && x >= 0 && x <= kDay;
        return fits ? std::string() : fmt::format("{} is no number of seconds from 0 to {}", text, kDay);
      },
      "");
}

}  // namespace assay
