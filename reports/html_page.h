// A page of HTML while it is written: what its parts share. html.h puts them together.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report.h"
#include "row.h"

namespace assay {

// Details give way where there are very many, so that a page of 100,000 rows opens at once. What is left out is counted.
struct PageLimits {
  std::size_t detail_bytes = 1'000'000;  // of faults, with cases and commands
  std::size_t picture_bytes = 500'000;
  std::size_t string_bytes = 800'000;  // of texts in the table of all rows, names aside
  std::size_t faults = 250;            // rows whose faults are listed
  std::size_t failures_per_row = 3;
  std::size_t matrix_cells = 5000;
};

struct Page {
  explicit Page(const Report& r) : report(r) {}

  const Report& report;
  PageLimits limits;
  std::string body;
  struct Place {
    std::string id, title, beside;
  };
  std::vector<Place> places;                            // for the line of links
  struct Figure {
    std::string kind, html;  // "roofline"
  };
  std::vector<Figure> figures;                          // those that stand in the body, once more
  std::map<const Row*, std::size_t> faults;             // rows that are listed: element "fault-N"
  std::map<const BenchRow*, std::size_t> histories;     // rows with a history: element "history-N"

  bool many_runs() const { return report.runs.size() > 1; }
  bool many_benches() const { return report.benches.size() > 1; }

  // <h2> or <h3> with an id.
  void section(std::string_view id, std::string_view title, std::string_view beside = "");
  void topic(std::string_view title, std::string_view beside = "");
  // A chart, which drawings.h gives as a picture of its own as well. Nothing for an empty one.
  void figure(std::string kind, std::string html);
};

// With all its parts.
Page made_page(const Report& report);

// The address of a row of the table of all rows, with "#".
std::string row_link(const Page& page, const ReportedRun& run, const Row& row);
std::string row_link(const Page& page, const BenchmarkFile& file, const BenchRow& row);

// <span class="badge ...">: a letter and a colour.
std::string badge(Verdict v);
std::string badge(const Row& row);      // which fails for another reason than a fault, perhaps
std::string_view mark(const Row& row);
std::string_view mark_class(const Row& row);
std::string_view mark(Verdict v);        // the letter
std::string_view mark_class(Verdict v);  // the colour: good, bad, doubtful, none

// <code class="command">assay replay F</code>, quoted for a shell; the script adds a button that copies it.
std::string command_html(const std::vector<std::string>& words);

// f64 before f32 before bf16 before i64.
bool dtype_before(const std::string& a, const std::string& b);

// ---- The parts, in the order of the page ------------------------------------------------------------------

void add_verification(Page& page);  // of each run: faults, matrix, bounds, peers, coverage
void add_rows(Page& page);          // the table of all rows
void add_mutation(Page& page);      // self-tests
void add_performance(Page& page);   // of each benchmark file: gate, limits, peers, all measurements

void add_matrix(Page& page, const ReportedRun& run);
void add_coverage(Page& page, const ReportedRun& run);
void add_code(Page& page, const RunResult& run);  // of runs with --coverage
void add_speed(Page& page, const BenchmarkFile& file);       // gate, peers, limits
void add_heat_table(Page& page, const BenchmarkFile& file);  // share of the limit, operator by kernel
void add_side_by_side(Page& page, const BenchmarkFile& file);
void add_histories(Page& page, const BenchmarkFile& file);

// "cpu.avx2 1x64x56x56, dram": what was measured, without the operator if it stands in front of the case.
std::string measured_name(const BenchRow& row);

}  // namespace assay
