#include "html.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "html_page.h"
#include "html_text.h"
#include "page_text.h"
#include "summary.h"
#include "text.h"

namespace assay {
namespace {

// A hash as a Content-Security-Policy has it: base64 of the bytes that the digits stand for.
std::string policy_hash(std::string_view hexadecimal) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "'sha256-";
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : hexadecimal) {
    bits = bits << 4 | static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    held += 4;
    if (held >= 6) {
      held -= 6;
      out += kDigits[bits >> held & 63];
    }
  }
  if (held > 0) out += kDigits[bits << (6 - held) & 63];
  while ((out.size() - 8) % 4 != 0) out += '=';
  return out + "'";
}

// A class of page.css, and a sign.
std::pair<std::string_view, std::string_view> look(Headline::State state) {
  switch (state) {
    case Headline::State::passed:
      return {"good", "✓"};
    case Headline::State::failed:
      return {"bad", "✕"};
    case Headline::State::measured:
      return {"plain", "•"};
    case Headline::State::incomplete:
      return {"doubtful", "…"};
    default:
      return {"doubtful", "∅"};
  }
}

std::string machine_html(const Machine& m, const std::vector<std::string>& command) {
  std::vector<std::string> parts;
  if (!m.cpu.empty()) parts.push_back(html_text(m.cpu));
  if (m.cores > 0) parts.push_back(counted(static_cast<std::uint64_t>(m.cores), "core"));
  if (!m.isa.empty()) parts.push_back(html_text(fmt::format("{}", fmt::join(m.isa, " "))));
  if (!m.compiler.empty()) parts.push_back(html_text(m.compiler));
  for (const auto& [name, version] : m.libraries) parts.push_back(html_text(name + " " + version));
  if (!m.version.empty()) parts.push_back("Assay " + html_text(m.version));
  std::string s = fmt::format("<p class=\"machine\">{}</p>\n", fmt::join(parts, " · "));
  if (!command.empty()) s += command_html(command);
  return s;
}

// Each machine and command once.
std::string provenance(const Report& report) {
  std::set<std::string> seen;
  std::string s;
  const auto add = [&](const std::string& name, const Machine& machine,
                       const std::vector<std::string>& command) {
    const std::string text = machine_html(machine, command);
    if (seen.insert(text).second) s += fmt::format("<div><b>{}</b>{}</div>\n", html_text(name), text);
  };
  for (const ReportedRun& r : report.runs) add(r.name, r.run.machine, r.run.command);
  for (const BenchmarkFile& b : report.benches) add(b.name, b.machine, b.command);
  return s.empty()
             ? ""
             : "<details class=\"provenance\"><summary>Machine and command</summary>\n" + s + "</details>\n";
}

std::string top(const Page& page) {
  const Headline h = headline(page.report);
  std::string s = "<header>\n<div class=\"bar\"><p class=\"title\">" + html_text(page.report.title) +
                  "</p><button id=\"theme\" type=\"button\" class=\"scripted\">◐</button></div>\n";
  s += fmt::format(
      "<h1 class=\"{}\"><span class=\"word\"><span aria-hidden=\"true\">{}</span> {}</span> {}</h1>\n",
      look(h.state).first, look(h.state).second, h.word(),
      html_text(fmt::format("{}", fmt::join(h.parts, " · "))));
  for (const std::string& w : h.warnings) s += "<p class=\"warning\"><b>!</b> " + html_text(w) + "</p>\n";
  s += "<nav aria-label=\"Parts of this report\">";
  for (const auto& [id, title, beside] : page.places) {
    // Of several files: which.
    const bool several = std::ranges::count(page.places, title, &Page::Place::title) > 1;
    s += fmt::format("<a href=\"#{}\">{}{}</a> ", id, html_text(title),
                     several ? " " + html_text(beside) : "");
  }
  return s + "</nav>\n" + provenance(page.report) + "</header>\n";
}

}  // namespace

Page made_page(const Report& report) {
  Page page(report);
  add_verification(page);
  add_rows(page);
  add_mutation(page);
  add_performance(page);
  return page;
}

std::string html(const Report& report) {
  const Page page = made_page(report);
  std::string s = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  s += fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {}; "
      "base-uri 'none'; form-action 'none'\">\n",
      policy_hash(kPageCssSha256), policy_hash(kPageJsSha256));
  s +=
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n";
  s += fmt::format("<title>{} - {}</title>\n<style>{}</style>\n</head>\n<body>\n", headline(report).word(),
                   html_text(report.title), kPageCss);
  s += top(page);
  s += "<main>\n" + page.body + "</main>\n<aside id=\"detail\" aria-label=\"One row\" hidden></aside>\n";
  s += fmt::format("<script>{}</script>\n</body>\n</html>\n", kPageJs);
  return s;
}

}  // namespace assay
