// What a verification run found: faults with their cases, and peers that disagree.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "coverage.h"
#include "html_page.h"
#include "html_text.h"
#include "summary.h"
#include "svg_bounds.h"
#include "svg_picture.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kLongestDetail = 2000;

std::string cases_text(const Row& row) {
  std::vector<std::string> parts;
  for (int v = 0; v < kVerdicts; ++v) {
    const std::uint64_t n = count_of(row, static_cast<Verdict>(v));
    if (n > 0 && is_fault(static_cast<Verdict>(v)))
      parts.push_back(fmt::format("{} in {}", words(static_cast<Verdict>(v)), grouped(n)));
  }
  if (parts.empty()) return fmt::format("{} in {}", row_words(row), counted(row.cases, "case"));
  return fmt::format("{} of {}", fmt::join(parts, ", "), counted(row.cases, "case"));
}

std::string failure_html(Page& page, const ReportedRun& run, const Row& row, const Failure& f) {
  std::string s = "<div class=\"failure\"><code class=\"case\">" +
                  html_text(shortened(f.case_text, kLongestDetail)) + "</code>\n";
  s += "<p class=\"detail\">" + html_text(shortened(f.detail, kLongestDetail)) + "</p>\n";
  if (!f.diagnosis.empty())
    s += "<p class=\"diagnosis\"><b>Diagnosis</b> of the cases as they were found: " +
         html_text(shortened(f.diagnosis, kLongestDetail)) + "</p>\n";
  if (const auto picture = run.pictures.find(f.replay); picture != run.pictures.end()) {
    const std::string figure = picture_figure(picture->second);
    if (figure.size() <= page.limits.picture_bytes) {
      page.limits.picture_bytes -= figure.size();
      page.figures.push_back({"tensor", figure});
      s += figure;
    }
  }
  return s + command_html(command_of(row, f)) + "</div>\n";
}

// Rows with what was found in them. A row's element is "fault-N".
void add_faults(Page& page, const ReportedRun& run, const std::vector<const Row*>& rows,
                std::size_t failures_per_row) {
  std::size_t listed = 0;
  for (const Row* row : rows) {
    std::string s = fmt::format(
        "<h4>{} {} <span class=\"kernel\">{}</span> {} <small>{}</small> <a class=\"to\" href=\"{}\">row</a></h4>\n",
        badge(*row), html_text(row->op), html_text(row->impl), html_text(row->dtype),
        html_text(cases_text(*row)), row_link(page, run, *row));
    if (!row->reason.empty()) s += "<p>" + html_text(shortened(row->reason, kLongestDetail)) + "</p>\n";
    if (!row->undeclared.empty())
      s += "<p>It refused what it had not said beforehand that it would refuse: " +
           html_text(shortened(row->undeclared.begin()->first, kLongestDetail)) + "</p>\n";
    std::size_t shown = 0;
    // First the one that shows the verdict.
    const Failure* telling = telling_failure(*row);
    if (telling != nullptr && failures_per_row > 0) {
      s += failure_html(page, run, *row, *telling);
      ++shown;
    }
    for (const Failure* f : shown_failures(*row, failures_per_row)) {
      if (f == telling) continue;
      s += failure_html(page, run, *row, *f);
      ++shown;
    }
    if (shown < row->failures.size())
      s += fmt::format("<p class=\"note\">and {} more in the run file</p>\n",
                       grouped(row->failures.size() - shown));
    if (page.faults.size() >= page.limits.faults || s.size() > page.limits.detail_bytes) break;
    page.limits.detail_bytes -= s.size();
    const std::size_t number = page.faults.size() + 1;
    page.faults[row] = number;
    page.body += fmt::format("<article class=\"fault\" id=\"fault-{}\">\n{}</article>\n", number, s);
    ++listed;
  }
  if (listed < rows.size())
    page.body += fmt::format(
        "<p class=\"note\">{} more with faults are in the table of all rows, and their cases in the run file.</p>\n",
        counted(rows.size() - listed, "row"));
}

std::string about(const ReportedRun& run) {
  const RunSummary s = summarise(run.run);
  const RunResult& r = run.run;
  std::vector<std::string> facts;
  const std::string ours = verdict_counts(s.ours), peers = verdict_counts(s.peers);
  if (!ours.empty())
    facts.push_back(fmt::format("<dt>{}</dt><dd>{}</dd>", "Rows that decide", html_text(ours)));
  if (!peers.empty()) facts.push_back(fmt::format("<dt>{}</dt><dd>{}</dd>", "Peers", html_text(peers)));
  facts.push_back(fmt::format("<dt>Cases</dt><dd>{} in {}, seed {}{}</dd>", grouped(s.cases),
                              duration(r.seconds), r.seed, r.shard ? ", shard " + html_text(*r.shard) : ""));
  if (r.fixtures) {
    std::uint64_t left_out = 0;
    for (const auto& left : r.fixtures->left_out) left_out += left.second;
    facts.push_back(fmt::format("<dt>Fixtures</dt><dd>{} of {} in {} are of Assay&#39;s operators</dd>",
                                grouped(r.fixtures->found - std::min(left_out, r.fixtures->found)),
                                counted(r.fixtures->found, "recorded case"), html_text(r.fixtures->source)));
  }
  return fmt::format("<dl class=\"about\">{}</dl>\n", fmt::join(facts, "\n"));
}

}  // namespace

void add_verification(Page& page) {
  std::size_t number = 0;
  for (const ReportedRun& run : page.report.runs) {
    ++number;
    const std::string id = page.many_runs() ? fmt::format("verification-{}", number) : "verification";
    page.section(id, "Verification", page.many_runs() ? run.name : "");
    page.body += about(run);
    const Rules rules;
    std::vector<const Row*> faults, peers, suspicious;
    for (const Row& row : run.run.rows) {
      if (fails(row, rules))
        faults.push_back(&row);
      else if (is_fault(row.verdict))
        peers.push_back(&row);
      else if (row.verdict == Verdict::suspicious)
        suspicious.push_back(&row);
    }
    if (!faults.empty()) {
      page.topic("Faults", counted(faults.size(), "row"));
      add_faults(page, run, faults, page.limits.failures_per_row);
    }
    add_matrix(page, run);
    if (const std::string chart = bounds_chart(run.run); !chart.empty()) {
      page.topic("How close results come to their bounds");
      page.figure("bounds", chart);
    }
    if (!peers.empty()) {
      page.topic("Peers that disagree", "other libraries, run for comparison; they do not decide the run");
      page.body += fmt::format("<details><summary>{}</summary>\n", counted(peers.size(), "row"));
      add_faults(page, run, peers, 1);
      page.body += "</details>\n";
    }
    if (!suspicious.empty()) {
      page.topic("Suspicious", "inside the bounds, but unlikely for a right kernel; this never fails a run");
      add_faults(page, run, suspicious, 1);
    }
    add_coverage(page, run);
    add_code(page, run.run);
  }
}

}  // namespace assay
