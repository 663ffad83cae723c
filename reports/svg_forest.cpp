#include "svg_forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "html_text.h"
#include "svg.h"
#include "text.h"

namespace assay {
namespace {

// As wide as a page of 1,200 shows beside its margins and a scroll bar.
constexpr double kLabels = 430, kPlot = 380, kTexts = 320, kStep = 22, kHead = 40, kFoot = 12;
constexpr double kFarthest = 16;  // times; what lies beyond is drawn at the edge, with an arrow

bool can_be_drawn(const Estimate& s) {
  return std::isfinite(s.median) && s.median > 0 && std::isfinite(s.low) && s.low > 0 &&
         std::isfinite(s.high);
}

LogScale scale_of(const std::vector<ForestRow>& rows) {
  double farthest = 1.15;
  for (const ForestRow& r : rows)
    if (can_be_drawn(r.ratio)) farthest = std::max({farthest, r.ratio.high, 1 / r.ratio.low});
  farthest = std::min(farthest * 1.03, kFarthest);
  return {1 / farthest, farthest, kLabels, kLabels + kPlot};
}

std::string times(double ratio) { return figure(ratio, ratio < 10 ? 3 : 1); }

}  // namespace

std::string forest_chart(const std::vector<ForestRow>& rows, const std::string& compared, double threshold) {
  if (rows.empty()) return {};
  const LogScale x = scale_of(rows);
  const double bottom = kHead + kStep * static_cast<double>(rows.size());
  std::string s = "<figure class=\"chart\">\n" +
                  svg_begin(kLabels + kPlot + kTexts, bottom + kFoot, compared + ", with intervals");
  if (threshold > 0 && threshold < 1)
    s += fmt::format("<rect class=\"band\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                     coordinate(x(1 - threshold)), coordinate(kHead - 6),
                     coordinate(x(1 + threshold) - x(1 - threshold)), coordinate(bottom - kHead + 6));
  std::vector<double> ticks = x.ticks();
  if (x.high() < 1.9) ticks = {0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.4, 1.6};
  for (const double t : ticks) {
    if (!x.holds(t)) continue;
    s += svg_line(x(t), kHead - 6, x(t), bottom, t == 1 ? "even" : "lattice");
    s += svg_label(x(t), kHead - 11, fmt::format("{:g}", t), "tick", "middle");
  }
  s += svg_label(kLabels, 12, "◂ faster", "faint") +
       svg_label(kLabels + kPlot, 12, "slower ▸", "faint", "end");
  s += svg_label(kLabels + kPlot / 2, 12, compared, "faint", "middle");
  double y = kHead;
  for (const ForestRow& r : rows) {
    y += kStep;
    const double middle = y - kStep / 2;
    const std::string label = svg_label(0, middle + 4, shortened(r.label, 60));
    s += r.link.empty() ? label : fmt::format("<a href=\"{}\">{}</a>\n", r.link, label);
    if (!can_be_drawn(r.ratio)) {
      if (std::isfinite(r.ratio.median) && r.ratio.median > 0)
        s += svg_label(kLabels + kPlot + 14, middle + 4, times(r.ratio.median) + "  (no interval)", "number");
      s += svg_label(kLabels + kPlot + kTexts - 4, middle + 4, r.verdict, r.look, "end");
      continue;
    }
    s += fmt::format("<g><title>{}</title>\n",
                     html_text(fmt::format("{}: {} ({} to {}) {}", r.label, times(r.ratio.median),
                                           times(r.ratio.low), times(r.ratio.high), r.verdict)));
    s += svg_line(x(r.ratio.low), middle, x(r.ratio.high), middle, "spread " + r.look);
    if (x.holds(r.ratio.median))
      s += fmt::format("<circle class=\"point {}\" cx=\"{}\" cy=\"{}\" r=\"4\"/>", r.look,
                       coordinate(x(r.ratio.median)), coordinate(middle));
    else
      s += svg_label(x(r.ratio.median), middle + 4, r.ratio.median > 1 ? "▸" : "◂", r.look, "middle");
    s += "</g>\n";
    s += svg_label(
        kLabels + kPlot + 14, middle + 4,
        fmt::format("{}  ({} – {})", times(r.ratio.median), times(r.ratio.low), times(r.ratio.high)),
        "number");
    s += svg_label(kLabels + kPlot + kTexts - 4, middle + 4, r.verdict, r.look, "end");
  }
  return s + std::string(kSvgEnd) + "</figure>\n";
}

}  // namespace assay
