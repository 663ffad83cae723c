#include "picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reports/xml.h"

namespace assay::diff {
namespace {

constexpr std::uint64_t kFold = 64;
constexpr int kCell = 5, kMargin = 16, kTitle = 34;  // pixels

std::string dimensions(std::size_t first, std::size_t end) {
  if (end - first == 1) return fmt::format("dimension {}", first);
  return fmt::format("dimensions {} to {}", first, end - 1);
}

}  // namespace

Picture picture(const Shape& shape, const Mask& set, std::size_t most_rows, std::size_t most_columns) {
  Picture p;
  const std::uint64_t n = set.size();
  if (n == 0) return p;
  const bool fold = shape.size() <= 1 && n > kFold;
  p.of_columns = fold ? kFold : shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back());
  p.of_rows = (n + p.of_columns - 1) / p.of_columns;
  p.columns = std::min<std::uint64_t>(p.of_columns, most_columns);
  p.rows = std::min<std::uint64_t>(p.of_rows, most_rows);
  if (fold) {
    p.down = fmt::format("each {} elements", kFold);
    p.across = "within them";
  } else if (!shape.empty()) {
    p.across = dimensions(shape.size() - 1, shape.size());
    if (shape.size() > 1) p.down = dimensions(0, shape.size() - 1);
  }
  std::vector<std::uint64_t> in(p.rows * p.columns), all(p.rows * p.columns);
  for (std::uint64_t row = 0, i = 0; row < p.of_rows; ++row)
    for (std::uint64_t column = 0; column < p.of_columns && i < n; ++column, ++i) {
      const std::uint64_t cell = row * p.rows / p.of_rows * p.columns + column * p.columns / p.of_columns;
      ++all[cell];
      in[cell] += set[i] ? 1 : 0;
    }
  for (std::size_t c = 0; c < in.size(); ++c)
    p.share.push_back(all[c] == 0 ? 0 : static_cast<float>(in[c]) / static_cast<float>(all[c]));
  return p;
}

std::string to_text(const Picture& p, const std::string& indent) {
  if (p.rows == 0) return {};
  std::string s;
  for (std::size_t row = 0; row < p.rows; ++row) {
    s += indent + "|";
    for (std::size_t column = 0; column < p.columns; ++column) {
      const float share = p.share[row * p.columns + column];
      s += share == 0 ? ' ' : share < 0.1F ? '.' : share < 0.5F ? ':' : share < 1 ? '+' : '#';
    }
    s += "|\n";
  }
  std::string key = fmt::format("across: {}", p.across);
  if (!p.down.empty()) key = fmt::format("down: {} ({}); {}", p.down, p.of_rows, key);
  return s + fmt::format("{}{} ({})\n", indent, key, p.of_columns);
}

std::string to_svg(const std::vector<Drawn>& pictures) {
  std::size_t columns = 80;
  int height = pictures.empty() ? kMargin + kTitle : kMargin;
  for (const Drawn& d : pictures) {
    columns = std::max(columns, d.picture.columns);
    height += kTitle + static_cast<int>(d.picture.rows) * kCell + kMargin;
  }
  std::size_t longest = 0;
  for (const Drawn& d : pictures) longest = std::max(longest, d.title.size());
  // Room for the titles: letters are about seven pixels wide.
  const int width =
      std::max(static_cast<int>(columns) * kCell, 7 * static_cast<int>(std::min<std::size_t>(longest, 300))) +
      2 * kMargin;
  std::string s = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width, height);
  if (pictures.empty())
    s += fmt::format("<text x=\"{}\" y=\"{}\">Nothing to draw: no element is known to differ.</text>\n",
                     kMargin, kMargin + 10);
  int top = kMargin;
  for (const Drawn& d : pictures) {
    const Picture& p = d.picture;
    s += fmt::format("<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n", kMargin, top + 10,
                     xml_text(d.title));
    s += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#555555\">{}across: {} ({})</text>\n", kMargin, top + 24,
                     p.down.empty() ? "" : xml_text(fmt::format("down: {} ({}); ", p.down, p.of_rows)),
                     xml_text(p.across), p.of_columns);
    top += kTitle;
    s += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#eef1f4\"/>\n<g fill=\"#b3261e\">\n",
        kMargin, top, static_cast<int>(p.columns) * kCell, static_cast<int>(p.rows) * kCell);
    // Neighbours of one shade are one rectangle.
    for (std::size_t row = 0; row < p.rows; ++row)
      for (std::size_t begin = 0, end = 0; begin < p.columns; begin = end) {
        const float share = p.share[row * p.columns + begin];
        for (end = begin + 1; end < p.columns && p.share[row * p.columns + end] == share;) ++end;
        if (share > 0)
          s += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.2f}\"/>\n",
                           kMargin + static_cast<int>(begin) * kCell, top + static_cast<int>(row) * kCell,
                           static_cast<int>(end - begin) * kCell, kCell,
                           0.15 + 0.85 * static_cast<double>(share));
      }
    s += "</g>\n";
    top += static_cast<int>(p.rows) * kCell + kMargin;
  }
  return s + "</svg>\n";
}

}  // namespace assay::diff
