#include "code_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostGaps = 12;         // of a row
constexpr std::size_t kMostNeverEntered = 8;  // functions of a library
constexpr std::size_t kMostRows = 30;

void add_gaps(const std::vector<CodeGap>& gaps, std::size_t most, const char* indent, std::string& out) {
  for (std::size_t i = 0; i < std::min(most, gaps.size()); ++i)
    out += paragraph(words(gaps[i]), indent, std::string(indent) + "  ");
  if (gaps.size() > most)
    out += fmt::format("{}and {} more, which the run file lists\n", indent, grouped(gaps.size() - most));
}

}  // namespace

std::string code_list(const RunResult& run, const Style& style) {
  if (run.code.empty()) return {};
  std::string out = style.heading("Coverage") + ": blocks of the kernels' own code.\n";
  std::size_t listed = 0, more = 0;
  for (const Row& row : run.rows) {
    if (!row.code || !row.code->reason.empty()) continue;
    if (listed == kMostRows) {
      ++more;
      continue;
    }
    ++listed;
    out +=
        paragraph(fmt::format("{} {} {}: {}", row.op, row.impl, row.dtype, words(*row.code)), "  ", "    ");
    if (row.code->ran > 0) add_gaps(row.code->gaps, kMostGaps, "      ", out);
  }
  if (more > 0) out += fmt::format("  and {}, which the run file lists\n", counted(more, "more row"));
  for (const LibraryCoverage& library : run.code) {
    const std::string text = words(library);
    out += paragraph(library.blocks > 0 ? "in all rows, " + text : text, "  ", "    ");
    if (library.never_entered.empty()) continue;
    out += "    no call has entered\n";
    add_gaps(library.never_entered, kMostNeverEntered, "      ", out);
  }
  return out + "\n";
}

}  // namespace assay
