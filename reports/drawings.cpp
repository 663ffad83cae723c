#include "drawings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "html_page.h"
#include "page_text.h"

namespace assay {
namespace {

// "light-dark(#fff, #000)" becomes "#fff".
std::string by_day(std::string_view css) {
  constexpr std::string_view kBoth = "light-dark(";
  std::string day;
  for (std::size_t at = 0; at < css.size();) {
    const std::size_t found = std::min(css.find(kBoth, at), css.size());
    day += css.substr(at, found - at);
    if (found == css.size()) break;
    const std::size_t comma = css.find(',', found), end = css.find(')', comma);
    day += css.substr(found + kBoth.size(), comma - found - kBoth.size());
    at = end + 1;
  }
  return day;
}

// Of the page's style the variables and what is said of charts.
std::string style() {
  const std::string css = by_day(kPageCss);
  const std::size_t root = css.find(":root {"), end = css.find("}\n", root);
  std::string s = css.substr(root, end - root + 2) +
                  "svg { background: var(--ground); font-family: system-ui, \"DejaVu Sans\", sans-serif; }\n";
  for (std::size_t at = 0; at < css.size();) {
    const std::size_t line_end = std::min(css.find('\n', at), css.size());
    const std::string_view line = std::string_view(css).substr(at, line_end - at);
    if (line.starts_with("svg ") || line.starts_with(".tensor ")) s.append(line).append("\n");
    at = line_end + 1;
  }
  return s;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Links lead to places of the page.
void drop_links(std::string& svg) {
  for (std::size_t at = svg.find("<a "); at != std::string::npos; at = svg.find("<a ", at))
    svg.replace(at, svg.find('>', at) + 1 - at, "<g>");
  replace_all(svg, "</a>", "</g>");
}

}  // namespace

std::vector<Drawing> drawings(const Report& report) {
  const Page page = made_page(report);
  const std::string style_of_all = style();
  std::map<std::string, int> numbers;
  std::vector<Drawing> all;
  for (const Page::Figure& figure : page.figures)
    // Those without a width are keys of a chart.
    for (std::size_t at = figure.html.find("<svg viewBox"), end = 0; at != std::string::npos;
         at = figure.html.find("<svg viewBox", end)) {
      end = figure.html.find("</svg>", at);
      if (end == std::string::npos) break;
      std::string svg = figure.html.substr(at, end + 6 - at);
      const std::size_t opened = svg.find('>');
      if (svg.substr(0, opened).find(" width=") == std::string::npos) continue;
      svg.insert(opened + 1, fmt::format("\n<style>\n{}</style>\n", style_of_all));
      svg.insert(4, fmt::format(" xmlns=\"http://www.w3.org/2000/svg\" class=\"{}\"",
                                figure.kind == "tensor" ? "tensor" : "chart"));
      drop_links(svg);
      const int number = ++numbers[figure.kind];
      all.push_back({number == 1 ? figure.kind : fmt::format("{}-{}", figure.kind, number), svg + "\n"});
    }
  return all;
}

}  // namespace assay
