// What the command line says of itself: help that fits a terminal, and errors that say what was meant.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace assay {

inline constexpr std::size_t kHelpWidth = 100;  // columns

// Lines of at most kHelpWidth columns: paragraphs are filled anew where one of their lines is longer; in tables, where two spaces end
// the first column, and in lists of options, what follows goes on below where it began.
std::string fitted(std::string_view help);

// Help of CLI11, fitted.
std::shared_ptr<CLI::Formatter> help_formatter();

// What is wrong with a command line that CLI11 does not take, in our words: which argument, and what was meant perhaps.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

// "did you mean NEAREST?", with a semicolon before it; or empty.
std::string did_you_mean(std::string_view nearest);

}  // namespace assay
