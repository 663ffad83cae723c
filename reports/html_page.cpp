#include "html_page.h"

#include <fmt/format.h>

#include <cctype>
#include <tuple>

#include "html_text.h"
#include "row.h"
#include "text.h"

namespace assay {
namespace {

// Floating-point formats first, each with the wide ones before the narrow ones.
std::tuple<int, int, std::string> dtype_place(const std::string& dtype) {
  const std::size_t digits = dtype.find_first_of("0123456789");
  const std::string kind = dtype.substr(0, digits);
  int bits = 0;
  for (std::size_t i = std::min(digits, dtype.size());
       i < dtype.size() && bits < 10000 && std::isdigit(static_cast<unsigned char>(dtype[i])) != 0; ++i)
    bits = bits * 10 + (dtype[i] - '0');
  const int place = kind == "f" ? 0 : kind == "bf" ? 1 : kind == "i" ? 2 : kind == "u" ? 3 : 4;
  return {place, -bits, dtype};
}

std::string heading_html(int level, std::string_view title, std::string_view beside) {
  return fmt::format("{}{}", html_text(title),
                     beside.empty() ? "" : fmt::format(" <small>{}</small>", html_text(beside))) +
         fmt::format("</h{}>\n", level);
}

}  // namespace

void Page::section(std::string_view id, std::string_view title, std::string_view beside) {
  body += fmt::format("<h2 id=\"{}\">", id) + heading_html(2, title, beside);
  places.push_back({std::string(id), std::string(title), std::string(beside)});
}

void Page::figure(std::string kind, std::string html) {
  if (html.empty()) return;
  body += html;
  figures.push_back({std::move(kind), std::move(html)});
}

void Page::topic(std::string_view title, std::string_view beside) {
  body += "<h3>" + heading_html(3, title, beside);
}

std::string row_link(const Page& page, const ReportedRun& run, const Row& row) {
  return fmt::format("#r:{}{}:{}:{}", page.many_runs() ? fragment(run.name) + ":" : "", fragment(row.op),
                     fragment(row.impl), fragment(row.dtype));
}

std::string row_link(const Page& page, const BenchmarkFile& file, const BenchRow& row) {
  return fmt::format("#b:{}{}:{}:{}:{}:{}", page.many_benches() ? fragment(file.name) + ":" : "",
                     fragment(row.op), fragment(row.case_text), fragment(row.impl), fragment(row.place()),
                     row.threads);
}

std::string_view mark(Verdict v) {
  static constexpr std::array<std::string_view, kVerdicts> kMarks{"✓", "–", "0", "·", "?", "A",
                                                                  "R", "~", "D", "M", "T", "C"};
  return kMarks[static_cast<std::size_t>(v)];
}

std::string_view mark_class(Verdict v) {
  if (v == Verdict::pass) return "good";
  if (v == Verdict::refused || v == Verdict::not_run) return "none";
  return v == Verdict::suspicious || v == Verdict::vacuous ? "doubtful" : "bad";
}

std::string badge(Verdict v) {
  return fmt::format("<span class=\"badge {}\">{}</span>", mark_class(v), mark(v));
}

std::string_view mark(const Row& row) {
  return row_token(row) == token(row.verdict) ? mark(row.verdict) : std::string_view("U");
}

std::string_view mark_class(const Row& row) {
  return row_token(row) == token(row.verdict) ? mark_class(row.verdict) : std::string_view("bad");
}

std::string badge(const Row& row) {
  return fmt::format("<span class=\"badge {}\">{}</span>", mark_class(row), mark(row));
}

std::string command_html(const std::vector<std::string>& command_words) {
  std::string text;
  for (const std::string& w : command_words) text += (text.empty() ? "" : " ") + shell_word(w);
  return "<div class=\"run\"><code class=\"command\">" + html_text(text) + "</code></div>\n";
}

bool dtype_before(const std::string& a, const std::string& b) { return dtype_place(a) < dtype_place(b); }

}  // namespace assay
