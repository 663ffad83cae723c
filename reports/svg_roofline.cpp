#include "svg_roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "html_text.h"
#include "svg.h"
#include "text.h"

namespace assay {
namespace {

constexpr double kLeftEdge = 78, kRightEdge = 900, kTopEdge = 16, kHeight = 380, kCopyHeight = 220,
                 kUnder = 44;
constexpr double kMergedWithin = 3;      // pixels: dots closer than this are one where there are very many
constexpr std::size_t kMostDots = 2500;  // that are drawn one by one

struct Dot {
  double x = 0, y = 0;
  const BenchRow* row = nullptr;
};

// Of some machine: what is far from all of them would leave the others no room, and the axes no numbers.
bool is_of_a_machine(double value) { return value > 1e-30 && value < 1e30; }

struct Line {
  std::string name;
  double value = 0;
};

// Names at the right edge, which other machines and plugins give, too.
constexpr std::size_t kLongestName = 40;
class RightLabels {
 public:
  // Not over the one before.
  std::string add(double y, const std::string& text, std::string_view classes) {
    last_ = std::max(y + 4, last_ + 13);
    const std::string label = shortened(text, kLongestName);
    constexpr double kCharacter = 7.6;  // pixels, of capitals in a wide font, too
    width_ = std::max(width_, 6 + kCharacter * static_cast<double>(label.size()));
    return svg_label(kRightEdge + 6, last_, label, classes);
  }
  double width() const { return width_; }

 private:
  double last_ = -100, width_ = 30;  // where a number under the axis may reach
};

// A ceiling for each level of memory, or for each dtype: that of reading if there is one, else the highest.
std::vector<Line> ceilings(const BenchmarkFile& file, bool bandwidth, const std::string& device) {
  std::map<std::string, Line> best;
  for (const Ceiling& c : file.limits) {
    if (c.bandwidth != bandwidth || c.device != device || !is_of_a_machine(c.value)) continue;
    Line& line = best[bandwidth ? c.level : c.dtype];
    const bool reads = c.name.starts_with("read "), had_read = line.name.starts_with("read ");
    if (reads != had_read ? reads || line.name.empty() : c.value > line.value) line = {c.name, c.value};
  }
  std::vector<Line> lines;
  for (const auto& entry : best) lines.push_back(entry.second);
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.value > b.value; });
  return lines;
}

std::string shape_of(const std::string& cache, double x, double y, const std::string& title, bool peer) {
  const std::string look = peer ? "dot other" : "dot";
  const std::string inside = title.empty() ? "/>" : "><title>" + title + "</title>";
  const auto close = [&](const char* name) {
    return title.empty() ? std::string("\n") : fmt::format("</{}>\n", name);
  };
  if (cache == "dram")
    return fmt::format("<path class=\"{}\" d=\"M{} {}l4.5 8h-9z\"{}{}", look, coordinate(x),
                       coordinate(y - 5), inside, close("path"));
  if (cache == "l2")
    return fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"7\" height=\"7\"{}{}", look,
                       coordinate(x - 3.5), coordinate(y - 3.5), inside, close("rect"));
  return fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4\"{}{}", look, coordinate(x),
                     coordinate(y), inside, close("circle"));
}

// A chart of dots on two logarithmic axes.
class Plot {
 public:
  Plot(LogScale across, LogScale up, double top, double bottom)
      : x_(across), y_(up), top_(top), bottom_(bottom) {}

  const LogScale& x() const { return x_; }
  const LogScale& y() const { return y_; }

  std::string axes(const std::string& across, const std::string& up) const {
    std::string s;
    for (const double t : x_.ticks()) {
      s += svg_line(x_(t), top_, x_(t), bottom_, "lattice");
      s += svg_label(x_(t), bottom_ + 16, t < 1 ? fmt::format("{:g}", t) : si(t), "tick", "middle");
    }
    for (const double t : y_.ticks()) {
      s += svg_line(kLeftEdge, y_(t), kRightEdge, y_(t), "lattice");
      s += svg_label(kLeftEdge - 8, y_(t) + 4, si(t), "tick", "end");
    }
    s += svg_label((kLeftEdge + kRightEdge) / 2, bottom_ + 34, across, "faint", "middle");
    return s +
           fmt::format(
               "<text class=\"faint\" text-anchor=\"middle\" transform=\"translate(14 {}) rotate(-90)\">{}</text>\n",
               coordinate((top_ + bottom_) / 2), html_text(up));
  }

  std::string dots(const std::vector<Dot>& dots, const std::function<std::string(const Dot&)>& title) const {
    std::string ours, others;
    if (dots.size() <= kMostDots) {
      for (const Dot& d : dots)
        (d.row->peer ? others : ours) +=
            shape_of(d.row->cache, x_(d.x), y_(d.y), html_text(title(d)), d.row->peer);
      return others + ours;
    }
    std::map<std::tuple<bool, std::string, long, long>, bool> drawn;
    for (const Dot& d : dots) {
      const long column = std::lround(x_(d.x) / kMergedWithin), line = std::lround(y_(d.y) / kMergedWithin);
      if (!drawn.emplace(std::tuple{d.row->peer, d.row->cache, column, line}, true).second) continue;
      (d.row->peer ? others : ours) += shape_of(d.row->cache, static_cast<double>(column) * kMergedWithin,
                                                static_cast<double>(line) * kMergedWithin, "", d.row->peer);
    }
    return others + ours;
  }

 private:
  LogScale x_, y_;
  double top_, bottom_;
};

struct Range {
  double low = 0, high = 0;
  void add(double value) {
    if (!is_of_a_machine(value)) return;
    low = low == 0 ? value : std::min(low, value);
    high = std::max(high, value);
  }
  LogScale scale(double from, double to) const {
    return {low / 1.5, std::max(high * 1.5, low * 10), from, to};
  }
};

std::string name_of(const BenchRow& row) {
  return fmt::format("{} {}{}{}", row.impl, row.case_text, row.cache.empty() ? "" : ", " + row.cache,
                     row.threads > 1 ? fmt::format(", {} threads", row.threads) : "");
}

std::string share_of(const BenchRow& row) {
  return row.limit
             ? fmt::format(", {}% of the limit ({})", figure(100 * row.limit->share, 0), row.limit->binds)
             : "";
}

// What rates are rates of.
std::string whole(const std::string& device) { return device.empty() ? "one core" : device; }

std::string roof(const BenchmarkFile& file, const std::vector<Dot>& dots, const std::string& device) {
  const std::vector<Line> memory = ceilings(file, true, device), arithmetic = ceilings(file, false, device);
  Range across, up;
  for (const Dot& d : dots) {
    across.add(d.x);
    up.add(d.y);
  }
  for (const Line& a : arithmetic) up.add(a.value);
  // Far enough that the slopes are seen to end at the arithmetic.
  if (!memory.empty() && !arithmetic.empty()) across.add(2 * arithmetic.front().value / memory.back().value);
  const double bottom = kTopEdge + kHeight;
  const Plot plot(across.scale(kLeftEdge, kRightEdge), up.scale(bottom, kTopEdge), kTopEdge, bottom);
  RightLabels names;
  std::string s = plot.axes("operations / byte", "operations / second, " + whole(device));
  const double top_value = arithmetic.empty() ? plot.y().high() : arithmetic.front().value;
  double last_label = -100;
  std::string labels;
  for (const Line& m : memory) {
    // From the left edge, or the bottom, up to the highest arithmetic.
    const double begin = std::max(plot.x().low(), plot.y().low() / m.value);
    const double end = std::min(plot.x().high(), top_value / m.value);
    if (begin >= end) continue;
    s += svg_line(plot.x()(begin), plot.y()(begin * m.value), plot.x()(end), plot.y()(end * m.value),
                  "ceiling memory");
    double y = plot.y()(begin * m.value) - 7;
    if (std::abs(y - last_label) < 13) y = last_label + 13;
    last_label = y;
    labels += svg_label(plot.x()(begin) + 6, y, fmt::format("{}, {}B/s", m.name, si(m.value)),
                        "doubtful over-dots");
  }
  for (const Line& a : arithmetic) {
    const double begin =
        memory.empty() ? plot.x().low() : std::max(plot.x().low(), a.value / memory.front().value);
    s += svg_line(plot.x()(begin), plot.y()(a.value), kRightEdge, plot.y()(a.value), "ceiling");
    s += names.add(plot.y()(a.value), fmt::format("{}, {}", a.name, si(a.value)), "");
  }
  s += plot.dots(dots, [](const Dot& d) {
    return fmt::format("{}: {} operations/s at {:.3g} operations/byte{}", name_of(*d.row), si(d.y), d.x,
                       share_of(*d.row));
  });
  return "<figure class=\"chart\">\n" +
         svg_begin(kRightEdge + names.width(), bottom + kUnder,
                   "roofline: operations a second over operations for each byte") +
         s + labels + std::string(kSvgEnd) + "</figure>\n";
}

std::string copies(const BenchmarkFile& file, const std::vector<Dot>& dots, const std::string& device) {
  const std::vector<Line> memory = ceilings(file, true, device);
  Range across, up;
  for (const Dot& d : dots) {
    across.add(d.x);
    up.add(d.y);
  }
  for (const Line& m : memory) up.add(m.value);
  const double bottom = kTopEdge + kCopyHeight;
  const Plot plot(across.scale(kLeftEdge, kRightEdge), up.scale(bottom, kTopEdge), kTopEdge, bottom);
  RightLabels names;
  std::string s = plot.axes("bytes of a call", "bytes / second, " + whole(device));
  for (const Line& m : memory) {
    s += svg_line(kLeftEdge, plot.y()(m.value), kRightEdge, plot.y()(m.value), "ceiling memory");
    s += names.add(plot.y()(m.value), m.name, "doubtful");
  }
  s += plot.dots(dots, [](const Dot& d) {
    return fmt::format("{}: {}B/s of {}B{}", name_of(*d.row), si(d.y), si(d.x), share_of(*d.row));
  });
  return "<figure class=\"chart\">\n" +
         svg_begin(kRightEdge + names.width(), bottom + kUnder,
                   "bytes a second of kernels without arithmetic") +
         s + std::string(kSvgEnd) +
         "<figcaption>Kernels that do no arithmetic, such as copies.</figcaption></figure>\n";
}

std::string key() {
  std::string s = "<p class=\"keys\">";
  for (const auto& [cache, name] : {std::pair{"warm", "data in the caches where a call left them"},
                                    {"l2", "data in the second level"},
                                    {"dram", "data in memory"}})
    s += fmt::format("<span><svg viewBox=\"0 0 16 14\" aria-hidden=\"true\">{}</svg> {}</span>",
                     shape_of(cache, 8, 7, "", false), name);
  return s +
         fmt::format(
             "<span><svg viewBox=\"0 0 16 14\" aria-hidden=\"true\">{}</svg> hollow: other libraries</span></p>\n",
             shape_of("warm", 8, 7, "", true));
}

}  // namespace

std::string roofline_chart(const BenchmarkFile& file) {
  struct Dots {
    std::vector<Dot> computing, copying;
  };
  std::map<std::string, Dots> by_device;  // the processor, which has no name here, first
  for (const BenchRow& row : file.rows) {
    if (!row.measured() || !(row.bytes > 0)) continue;
    const double seconds =
        row.ns.median * 1e-9 * static_cast<double>(std::max<std::uint64_t>(row.threads, 1));
    const auto operations = static_cast<double>(row.operations), bytes = static_cast<double>(row.bytes);
    const bool computes = row.operations > 0;
    const Dot dot =
        computes ? Dot{operations / bytes, operations / seconds, &row} : Dot{bytes, bytes / seconds, &row};
    if (!is_of_a_machine(dot.x) || !is_of_a_machine(dot.y)) continue;
    auto& [computing, copying] = by_device[row.device];
    (computes ? computing : copying).push_back(dot);
  }
  if (by_device.empty()) return {};
  std::string charts = key();
  for (const auto& [device, dots] : by_device) {
    if (!dots.computing.empty()) charts += roof(file, dots.computing, device);
    if (!dots.copying.empty()) charts += copies(file, dots.copying, device);
  }
  return charts;
}

}  // namespace assay
