#include "svg_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "html_text.h"
#include "svg.h"
#include "text.h"

namespace assay {
namespace {

constexpr std::size_t kShades = 4;
constexpr double kWidest = 480, kTallest = 320;  // a quarter of a small screen

std::size_t shade_of(float share) {
  return share >= 1 ? kShades : static_cast<std::size_t>(share * static_cast<float>(kShades - 1)) + 1;
}

}  // namespace

std::string picture_figure(const TensorPicture& p) {
  // One element has no place to show.
  if (p.elements < 2 || p.rows == 0 || p.columns == 0 || p.share.size() < p.rows * p.columns) return {};
  const double cell = std::clamp(
      std::min(kWidest / static_cast<double>(p.columns), kTallest / static_cast<double>(p.rows)), 4.0, 14.0);
  const double width = cell * static_cast<double>(p.columns), height = cell * static_cast<double>(p.rows);
  // One path for each shade; neighbours of one shade are one rectangle of it.
  std::array<std::string, kShades> paths;
  for (std::size_t row = 0; row < p.rows; ++row)
    for (std::size_t begin = 0, end = 0; begin < p.columns; begin = end) {
      const float share = p.share[row * p.columns + begin];
      const std::size_t shade = share > 0 ? shade_of(share) : 0;
      for (end = begin + 1; end < p.columns; ++end) {
        const float next = p.share[row * p.columns + end];
        if ((next > 0 ? shade_of(next) : 0) != shade) break;
      }
      if (shade > 0) paths[shade - 1] += fmt::format("M{} {}h{}v1H{}z", begin, row, end - begin, begin);
    }
  std::string s = "<figure class=\"tensor\">\n";
  s += fmt::format(
      "<svg viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"where {} diverges\">",
      p.columns, p.rows, coordinate(width), coordinate(height), html_text(p.output));
  s += fmt::format("<rect class=\"ground\" width=\"{}\" height=\"{}\"/>", p.columns, p.rows);
  for (std::size_t i = 0; i < kShades; ++i)
    if (!paths[i].empty()) s += fmt::format("<path class=\"shade{}\" d=\"{}\"/>", i + 1, paths[i]);
  s += "</svg>\n<figcaption>";
  s += html_text(
      fmt::format("{}: {} of {} diverge. ", p.output, grouped(p.diverging), counted(p.elements, "element")));
  if (!p.across.empty()) s += html_text(fmt::format("Across: {} ({}).", p.across, p.of_columns));
  if (!p.down.empty()) s += html_text(fmt::format(" Down: {} ({}).", p.down, p.of_rows));
  return s + "</figcaption></figure>\n";
}

}  // namespace assay
