#include "case_list.h"

#include <fmt/format.h>

#include <sstream>

#include "../generate/braces.h"
#include "../generate/data.h"
#include "reports/file.h"

namespace assay {
namespace {

std::string without_comment(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const std::size_t end = text.find_last_not_of(" \t\r");
  return end == std::string::npos ? "" : text.substr(0, end + 1);
}

// Throws CaseError.
Case allowed_case(const std::string& text) {
  Case c = parse_case(text);
  if (const Checked checked = check_without_data(c); !checked.ok())
    throw CaseError(fmt::format("arguments that are not allowed: {}", checked.error));
  return c;
}

}  // namespace

std::vector<Case> case_list_from(std::string_view text, const std::string& file, const WantsOperator& wants,
                                 std::uint64_t most) {
  std::vector<Case> all;
  std::istringstream lines{std::string(text)};
  std::string line;
  std::uint64_t count = 0;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string stripped = without_comment(line);
    const std::size_t begin = stripped.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    const auto fail = [&](const std::string& what) {
      return FileError(fmt::format("{}:{}: {}", file, number, what));
    };
    try {
      const Braces cases(std::string_view(stripped).substr(begin));
      if (cases.count() > most - count)
        throw fail(fmt::format("with this line the file has more than {} cases", most));
      count += cases.count();
      for (std::uint64_t i = 0; i < cases.count(); ++i) {
        const std::string one = cases.text(i);
        if (!wants(std::string(operator_in(one)))) continue;
        try {
          all.push_back(allowed_case(one));
        } catch (const CaseError& e) {
          throw fail(cases.count() == 1 ? e.what() : fmt::format("{}: {}", one, e.what()));
        }
      }
    } catch (const BraceError& e) {
      throw fail(fmt::format("column {}: {}", begin + e.position + 1, e.what()));
    }
  }
  if (count == 0) throw FileError(fmt::format("{}: there is no case in it", file));
  return all;
}

std::vector<Case> read_case_list(const std::string& path, const WantsOperator& wants) {
  return case_list_from(read_file(path), path, wants);
}

}  // namespace assay
