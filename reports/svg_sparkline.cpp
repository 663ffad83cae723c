#include "svg_sparkline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "svg.h"

namespace assay {
namespace {

constexpr double kSparkWidth = 120, kSparkHeight = 24, kSparkMargin = 3;

}  // namespace

std::string sparkline(const HistorySeries& series) {
  // Shares of the limit where nothing was compared.
  const bool ratios = std::any_of(series.points.begin(), series.points.end(),
                                  [](const HistoryPoint& p) { return std::isfinite(p.ratio); });
  const auto value = [&](const HistoryPoint& p) { return ratios ? p.ratio : p.share; };
  double low = INFINITY, high = -INFINITY;
  for (const HistoryPoint& p : series.points)
    if (std::isfinite(value(p))) {
      low = std::min(low, value(p));
      high = std::max(high, value(p));
    }
  if (!(low <= high)) return {};
  // Noise of a few percent stays small.
  const double room = std::max((high - low) / 10, std::abs(high) * 0.02);
  low -= room;
  high += room;
  const double step = (kSparkWidth - 2 * kSparkMargin) /
                      static_cast<double>(std::max<std::size_t>(series.points.size(), 2) - 1);
  const auto x = [&](std::size_t i) { return kSparkMargin + step * static_cast<double>(i); };
  const auto y = [&](double v) {
    return kSparkHeight - kSparkMargin - (kSparkHeight - 2 * kSparkMargin) * (v - low) / (high - low);
  };
  std::string s =
      svg_begin(kSparkWidth, kSparkHeight,
                fmt::format("{} points, {} changes", series.points.size(), series.changes.size()));
  for (const HistoryChange& c : series.changes)
    if (c.index > 0) {
      const double at = (x(c.index - 1) + x(c.index)) / 2;
      s += svg_line(at, 0, at, kSparkHeight, (c.after < c.before) == ratios ? "change better" : "change");
    }
  std::string path;
  bool pen_down = false;
  std::size_t last = 0;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const double v = value(series.points[i]);
    if (std::isfinite(v)) {
      path += fmt::format("{}{} {}", pen_down ? "L" : "M", coordinate(x(i)), coordinate(y(v)));
      last = i;
    }
    pen_down = std::isfinite(v);
  }
  s += fmt::format(
      "<path class=\"spark\" d=\"{}\"/><circle class=\"spark-now\" cx=\"{}\" cy=\"{}\" r=\"2.2\"/>\n", path,
      coordinate(x(last)), coordinate(y(value(series.points[last]))));
  return s + std::string(kSvgEnd);
}

}  // namespace assay
