// The table of all rows.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "coverage.h"
#include "html_page.h"
#include "html_table.h"
#include "html_text.h"
#include "summary.h"
#include "text.h"

namespace assay {
namespace {

struct PlacedRow {
  const ReportedRun* run;
  const Row* row;
  bool failing;
};

// Worst first: those that decide the run, then by verdict; rows that nobody has looked at last.
bool comes_before(const PlacedRow& a, const PlacedRow& b) {
  if (a.failing != b.failing) return a.failing;
  const bool a_fault = is_fault(a.row->verdict), b_fault = is_fault(b.row->verdict);
  if (a_fault != b_fault) return a_fault;
  return a_fault && a.row->verdict > b.row->verdict;
}

// Verdicts, and after them what rows fail for that have none of a fault.
std::uint64_t state_of(const Row& row) {
  const std::string_view said = row_token(row);
  return said == kUndeclaredRefusal ? kVerdicts
         : said == kGaps            ? kVerdicts + 1
                                    : static_cast<std::uint64_t>(row.verdict);
}

std::string counts_of(const Row& row) {
  std::vector<std::string> parts;
  for (int v = 0; v < kVerdicts; ++v)
    if (const std::uint64_t n = count_of(row, static_cast<Verdict>(v)); n > 0 && n != row.cases)
      parts.push_back(counted(n, static_cast<Verdict>(v)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The one line that says most.
std::string note_of(const Row& row) {
  if (!is_fault(row.verdict) || !row.reason.empty()) return reason_of(row);
  const Failure* failure = telling_failure(row);
  return failure == nullptr ? "" : failure->detail;
}

}  // namespace

void add_rows(Page& page) {
  std::vector<PlacedRow> rows;
  const Rules rules;
  for (const ReportedRun& run : page.report.runs)
    for (const Row& row : run.run.rows) rows.push_back({&run, &row, fails(row, rules)});
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), comes_before);

  std::vector<TableColumn> columns{{"op", "operator", "text", 26},
                                   {"impl", "kernel", "text", 22},
                                   {"dtype", "dtype", "text", 8},
                                   {"verdict", "verdict", "state", 22},
                                   {"bad", "faulty", "count", 8},
                                   {"cases", "cases", "count", 8},
                                   {"worst", "error / bound", "number", 15},
                                   {"doubt", "undecidable", "percent", 14},
                                   {"note", "why", "text", 20},
                                   {"counts", "of its cases", "text", 0},
                                   {"worst_case", "case of the largest error", "text", 0},
                                   {"code", "code that ran", "text", 0}};
  std::vector<std::string> keys{"op", "impl", "dtype"};
  if (page.many_runs()) {
    columns.push_back({"file", "file", "text", 20});
    keys.insert(keys.begin(), "file");
  }
  ScriptTable table("r", "row", columns, page.limits.string_bytes);
  for (const PlacedRow& placed : rows) {
    const Row& row = *placed.row;
    if (page.many_runs()) table.name("file", placed.run->name);
    table.name("op", row.op);
    table.name("impl", row.impl);
    table.name("dtype", row.dtype);
    table.count("verdict", state_of(row));
    std::uint64_t bad = 0;
    for (int v = 0; v < kVerdicts; ++v)
      if (is_fault(static_cast<Verdict>(v))) bad += count_of(row, static_cast<Verdict>(v));
    if (bad > 0)
      table.count("bad", bad);
    else
      table.none("bad");
    table.count("cases", row.cases);
    if (row.elements > 0)
      table.number("worst", row.worst, 3);
    else
      table.none("worst");
    if (row.undecidable_elements > 0)
      table.number("doubt", 100 * row.undecidable(), 2);
    else
      table.none("doubt");
    table.count("peer", row.peer ? 1 : 0);
    const auto fault = page.faults.find(&row);
    table.count("fault", fault == page.faults.end() ? 0 : fault->second);
  }
  // Texts in the order of their worth, as there may be too many.
  for (const PlacedRow& placed : rows) table.text("note", note_of(*placed.row));
  for (const PlacedRow& placed : rows) table.text("counts", counts_of(*placed.row));
  for (const PlacedRow& placed : rows) table.text("code", placed.row->information);
  for (const PlacedRow& placed : rows) table.text("worst_case", placed.row->worst_case);

  std::vector<ScriptTable::State> states;
  for (int v = 0; v < kVerdicts; ++v)
    states.push_back({words(static_cast<Verdict>(v)), std::string(mark(static_cast<Verdict>(v))),
                      std::string(mark_class(static_cast<Verdict>(v)))});
  for (const char* otherwise : {"undeclared refusal", "gaps"}) states.push_back({otherwise, "U", "bad"});
  page.body += "<section>\n";
  page.section("rows", "All rows", counted(rows.size(), "row") + ", worst first");
  page.body +=
      "<noscript><p class=\"note\">With JavaScript, all rows stand here, to be sorted and filtered.</p></noscript>\n";
  page.body += table.html(keys, "verdict", states, {{"fault", "fault-"}});
  page.body += "</section>\n";
}

}  // namespace assay
