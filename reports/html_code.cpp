// Which blocks of the kernels' own code ran, as a section of a page.
#include <fmt/format.h>

#include "html_page.h"
#include "html_text.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kMostGapsShown = 20;  // of a row
constexpr std::size_t kMostCodeRows = 500;

std::string gap_items(const std::vector<CodeGap>& gaps) {
  std::string out;
  for (std::size_t i = 0; i < gaps.size() && i < kMostGapsShown; ++i) out += html_text(words(gaps[i])) + "<br>";
  if (gaps.size() > kMostGapsShown) out += fmt::format("and {} more", grouped(gaps.size() - kMostGapsShown));
  return out;
}

std::string code_line(const std::string& what, std::uint64_t ran, std::uint64_t blocks,
                      const std::string& says, const std::vector<CodeGap>& gaps) {
  return fmt::format(
      "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td></tr>\n",
      what, grouped(ran), grouped(blocks), html_text(says), gap_items(gaps));
}

}  // namespace

void add_code(Page& page, const RunResult& run) {
  if (run.code.empty()) return;
  std::string rows;
  std::size_t listed = 0;
  for (const LibraryCoverage& c : run.code)
    rows += code_line(html_text(c.library) + ", all rows; functions that no call has entered", c.ran,
                      c.blocks, words(c), c.never_entered);
  for (const Row& row : run.rows) {
    if (!row.code || !row.code->reason.empty() || ++listed > kMostCodeRows) continue;
    rows += code_line(fmt::format("{} <span class=\"kernel\">{}</span> {}", html_text(row.op),
                                  html_text(row.impl), html_text(row.dtype)),
                      row.code->ran, row.code->blocks, words(*row.code), row.code->gaps);
  }
  if (listed > kMostCodeRows)
    rows += fmt::format("<tr><td colspan=\"5\">and {} more rows, which the run file has</td></tr>\n",
                        grouped(listed - kMostCodeRows));
  page.topic("Code of the kernels", "blocks that ran in judged cases, and lines that did not");
  page.body += fmt::format(
      "<div class=\"wide\"><table class=\"list\"><thead><tr><th scope=\"col\">row</th>"
      "<th scope=\"col\" class=\"number\">ran</th><th scope=\"col\" class=\"number\">blocks</th>"
      "<th scope=\"col\">in words</th><th scope=\"col\">did not run</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
      rows);
}

}  // namespace assay
