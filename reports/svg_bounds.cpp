#include "svg_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "html_text.h"
#include "svg.h"
#include "text.h"

namespace assay {
namespace {

constexpr int kPerDecade = 6;
constexpr int kFirstDecade = -3,
              kLastDecade = 2;  // of error/bound; what lies beyond is in the bins at the ends
constexpr std::size_t kBins = static_cast<std::size_t>((kLastDecade - kFirstDecade) * kPerDecade) + 2;
constexpr std::size_t kMostKernels = 40;
constexpr double kLeft = 190, kBin = 16, kRowHeight = 34, kTop = 26, kRight = 120, kAxis = 34;

struct Histogram {
  bool peer = false;
  std::uint64_t rows = 0;
  std::array<std::uint64_t, kBins> counts{};
};

// 0: no error at all, or less than the axis begins with. The last: more than it ends with, infinite or not a number.
std::size_t bin_of(double worst) {
  if (worst <= std::pow(10, kFirstDecade)) return 0;
  if (!(worst < std::pow(10, kLastDecade))) return kBins - 1;
  // A bound that is just reached belongs to the left of the line.
  const double place = (std::log10(worst) - kFirstDecade) * kPerDecade;
  const auto bin = static_cast<std::size_t>(std::ceil(place - 1e-9));
  return std::clamp<std::size_t>(bin, 1, kBins - 2);
}

std::string range_of(std::size_t bin) {
  if (bin == 0) return fmt::format("at most {:g}", std::pow(10, kFirstDecade));
  if (bin == kBins - 1) return fmt::format("{:g} or more", std::pow(10, kLastDecade));
  const auto edge = [](std::size_t b) {
    return std::pow(10, kFirstDecade + static_cast<double>(b) / kPerDecade);
  };
  return fmt::format("{:.3g} to {:.3g}", edge(bin - 1), edge(bin));
}

double bin_x(std::size_t bin) {
  return kLeft + kBin * static_cast<double>(bin) + (bin > 0 ? 4 : 0) + (bin == kBins - 1 ? 4 : 0);
}

}  // namespace

std::string bounds_chart(const RunResult& run) {
  std::map<std::string, Histogram> kernels;
  for (const Row& row : run.rows) {
    if (row.elements == 0) continue;
    Histogram& h = kernels[row.impl];
    h.peer = row.peer;
    ++h.rows;
    ++h.counts[bin_of(row.worst)];
  }
  if (kernels.empty()) return {};
  std::vector<const std::pair<const std::string, Histogram>*> order;
  for (const auto& kernel : kernels) order.push_back(&kernel);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.peer < b->second.peer; });
  const std::size_t left_out = order.size() > kMostKernels ? order.size() - kMostKernels : 0;
  order.resize(order.size() - left_out);

  const double bottom = kTop + kRowHeight * static_cast<double>(order.size());
  const double end = bin_x(kBins - 1) + kBin;
  const double one = bin_x(static_cast<std::size_t>(-kFirstDecade * kPerDecade) + 1);
  std::string s =
      "<figure class=\"chart\">\n" +
      svg_begin(end + kRight, bottom + kAxis, "largest error of each row, as a share of what is allowed");
  s += fmt::format("<rect class=\"beyond\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", coordinate(one),
                   coordinate(kTop), coordinate(end - one), coordinate(bottom - kTop));
  s += svg_label(one - 6, kTop - 9, "allowed", "faint", "end") +
       svg_label(one + 6, kTop - 9, "beyond the bound", "faint");
  double y = kTop;
  for (const auto* kernel : order) {
    const auto& [name, h] = *kernel;
    y += kRowHeight;
    s += svg_label(kLeft - 10, y - 8, shortened(name, 26) + (h.peer ? " (peer)" : ""), h.peer ? "faint" : "",
                   "end");
    s += svg_line(kLeft, y, end, y, "rule");
    const std::uint64_t most = *std::max_element(h.counts.begin(), h.counts.end());
    for (std::size_t b = 0; b < kBins; ++b) {
      if (h.counts[b] == 0) continue;
      // The height is the root of the count, so that one row among thousands is still seen.
      const double height = std::max(
          2.0, (kRowHeight - 6) * std::sqrt(static_cast<double>(h.counts[b]) / static_cast<double>(most)));
      const bool over = b > static_cast<std::size_t>(-kFirstDecade * kPerDecade);
      s += fmt::format(
          "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>\n",
          over     ? "bar over"
          : h.peer ? "bar other"
                   : "bar",
          coordinate(bin_x(b) + 1), coordinate(y - height), coordinate(kBin - 2), coordinate(height),
          html_text(fmt::format("{}: {}, {} of the bound", name, counted(h.counts[b], "row"), range_of(b))));
    }
    s += svg_label(end + 10, y - 8, counted(h.rows, "row"), "faint");
  }
  s += svg_line(one, kTop - 4, one, bottom, "limit");
  s += svg_label(bin_x(0), bottom + 16, fmt::format("≤ {:g}", std::pow(10, kFirstDecade)), "tick");
  for (int d = kFirstDecade + 1; d < kLastDecade; ++d) {
    const double x = bin_x(static_cast<std::size_t>((d - kFirstDecade) * kPerDecade) + 1);
    s += svg_label(x, bottom + 16, fmt::format("{:g}", std::pow(10, d)), "tick", "middle");
  }
  s += svg_label(end, bottom + 16, fmt::format("≥ {:g}", std::pow(10, kLastDecade)), "tick", "end");
  s += svg_label((kLeft + end) / 2, bottom + 31, "largest error of a row / what is allowed", "faint",
                 "middle");
  s +=
      std::string(kSvgEnd) +
      "<figcaption>Each row (operator, dtype) counts once, at the worst of its cases. The heights are roots of counts, so "
      "that single rows are seen.";
  if (left_out > 0) s += fmt::format(" {} more are not drawn.", counted(left_out, "kernel"));
  return s + "</figcaption></figure>\n";
}

}  // namespace assay
