#include "svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "html_text.h"
#include "text.h"

namespace assay {

LogScale::LogScale(double low, double high, double from, double to)
    : low_(low), high_(high), from_(from), to_(to) {}

double LogScale::operator()(double value) const {
  const double v = std::clamp(value, low_, high_);
  return from_ + (to_ - from_) * std::log(v / low_) / std::log(high_ / low_);
}

std::vector<double> LogScale::ticks() const {
  const double decades = std::log10(high_ / low_);
  const int step = std::max(1, static_cast<int>(std::ceil(decades / 10)));
  std::vector<double> ticks;
  for (int d = static_cast<int>(std::floor(std::log10(low_))); d <= std::ceil(std::log10(high_)); ++d)
    for (const int m : {1, 2, 5}) {
      if (m > 1 && decades > 2.5) continue;
      const double value = m * std::pow(10, d);
      if (d % step == 0 && holds(value)) ticks.push_back(value);
    }
  return ticks;
}

std::string si(double value) {
  static constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t p = 0;
  while (std::abs(value) >= 999.5 && p + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++p;
  }
  return fmt::format("{:.3g}{}{}", value, kPrefixes[p].empty() ? "" : " ", kPrefixes[p]);
}

std::string time_text(double ns) {
  if (!std::isfinite(ns)) return "?";
  static constexpr std::string_view kUnits[] = {"ns", "µs", "ms", "s"};
  std::size_t u = 0;
  while (ns >= 999.5 && u + 1 < std::size(kUnits)) {
    ns /= 1000;
    ++u;
  }
  return fmt::format("{} {}", ns >= 999.5 ? figure(ns, 0) : fmt::format("{:.3g}", ns), kUnits[u]);
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string svg_label(double x, double y, std::string_view text, std::string_view classes,
                      std::string_view anchor) {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", coordinate(x), coordinate(y),
                     classes.empty() ? "" : fmt::format(" class=\"{}\"", classes),
                     anchor == "start" ? "" : fmt::format(" text-anchor=\"{}\"", anchor), html_text(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view classes) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", coordinate(x1),
                     coordinate(y1), coordinate(x2), coordinate(y2), classes);
}

std::string svg_begin(double width, double height, std::string_view name) {
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n",
      coordinate(width), coordinate(height), html_text(name));
}

}  // namespace assay
