#include "help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "../bench/google.h"
#include "reports/text.h"
#include "vocabulary/operators.h"

namespace assay {
namespace {

constexpr std::size_t kFarthest = 60;  // where the second column may begin and still be as wide as a sentence needs

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::size_t indentation(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// The words of the text, the first after `first`, others after so many spaces where a line is full.
std::string filled(std::string_view words, const std::string& first, std::size_t hanging) {
  std::string out, line = first;
  bool begins = true;
  for (std::size_t at = words.find_first_not_of(' '); at < words.size();
       at = std::min(words.find_first_not_of(' ', at), words.size())) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string word(words.substr(at, end - at));
    if (!begins && width(line) + 1 + width(word) > kHelpWidth) {
      out += line + "\n";
      line = std::string(hanging, ' ');
      begins = true;
    }
    line += (begins ? "" : " ") + word;
    begins = false;
    at = end;
  }
  return out + line + "\n";
}

// Where the spaces before a line's last column begin; npos if it has one column. A gap that begins too far to the right for the
// column after it is part of that column.
std::size_t last_gap(const std::string& line, std::size_t begin) {
  std::size_t found = std::string::npos;
  for (std::size_t at = line.find("  ", begin); at != std::string::npos;) {
    const std::size_t column = line.find_first_not_of(' ', at);
    if (column == std::string::npos || (found != std::string::npos && column > kFarthest)) break;
    found = at;
    at = line.find("  ", column);
  }
  return found;
}

// A line of a table or a list, which begins with spaces.
std::string fitted_entry(const std::string& line) {
  const std::size_t begin = indentation(line);
  const std::size_t gap = last_gap(line, begin);
  const std::size_t second = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  constexpr std::size_t kMore = 4;
  if (second == std::string::npos) return filled(line, std::string(begin, ' '), begin > kMore ? begin : begin + kMore);
  const std::string head = line.substr(0, gap);
  if (second <= kFarthest && width(head) < kHelpWidth)
    return filled(line.substr(second), head + std::string(second - gap, ' '), second);
  return filled(head, std::string(begin, ' '), begin + kMore) +
         filled(line.substr(second), std::string(begin + kMore, ' '), begin + kMore);
}

bool is_of_paragraph(const std::string& line) { return !line.empty() && line[0] != ' '; }

class FittingFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return fitted(CLI::Formatter::make_help(app, std::move(name), mode));
  }
};

// The nearest flag of the command, or empty.
std::string nearest_flag(const CLI::App& command, std::string_view word) {
  std::string nearest;
  std::size_t least = ~std::size_t{0};
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) {
      const std::size_t d = edit_distance(word, name);
      if (d < least && is_near(word, name)) {
        least = d;
        nearest = "--" + name;
      }
    }
  return nearest;
}

}  // namespace

std::string fitted(std::string_view help) {
  const std::vector<std::string> lines = lines_of(help);
  std::string out;
  for (std::size_t i = 0; i < lines.size();) {
    if (!is_of_paragraph(lines[i])) {
      out += width(lines[i]) > kHelpWidth ? fitted_entry(lines[i]) : lines[i] + "\n";
      ++i;
      continue;
    }
    std::size_t end = i;
    bool fits = true;
    std::string words;
    for (; end < lines.size() && is_of_paragraph(lines[end]); ++end) {
      fits = fits && width(lines[end]) <= kHelpWidth;
      words += lines[end] + " ";
    }
    if (fits)
      for (std::size_t k = i; k < end; ++k) out += lines[k] + "\n";
    else
      out += filled(words, "", 0);
    i = end;
  }
  return out;
}

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<FittingFormatter>(); }

std::string did_you_mean(std::string_view nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string name = chosen.empty() ? "assay" : "assay " + command.get_name();
  const std::string help = fmt::format("`{} --help` lists what there is", name);
  // Before what is missing: it was meant to be there, perhaps.
  for (const std::string& word : command.remaining()) {
    if (word.size() < 2 || word[0] != '-' || (command.get_allow_extras() && is_google_word(word))) continue;
    const std::string flag = word.substr(0, word.find('='));
    const std::size_t begins = std::min(flag.find_first_not_of('-'), flag.size());
    return fmt::format("{} has no flag {}{} ({})", name, flag,
                       did_you_mean(nearest_flag(command, flag.substr(begins))), help);
  }
  std::vector<std::string> words = command.remaining();
  if (command.get_allow_extras()) std::erase_if(words, is_google_word);
  return words.empty() || dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr ? fmt::format("{} ({})", error.what(), help)
                       : fmt::format("{} takes no argument \"{}\" here ({})", name, words[0], help);
}

}  // namespace assay
