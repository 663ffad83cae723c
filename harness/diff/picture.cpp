#include "picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/xml.h"

namespace assay::diff {
namespace {

constexpr std::uint64_t kFold = 64;
constexpr std::uint64_t kTall = 4;     // taller than that many times its width, matrices stand side by side
constexpr std::uint64_t kNarrow = 16;  // longer than that many times its width, a picture is folded
constexpr int kCell = 5, kMargin = 16, kTitle = 34;  // pixels

std::string dimensions(std::size_t first, std::size_t end) {
  if (end - first == 1) return fmt::format("dimension {}", first);
  return fmt::format("dimensions {} to {}", first, end - 1);
}

// Which row and column of the picture an element is in, before blocks of neighbours become cells.
struct Layout {
  std::uint64_t across = 1;    // elements of a row of the tensor
  std::uint64_t together = 1;  // so many rows of the tensor stand side by side
  std::uint64_t part;          // or a row is cut into parts of so many elements, one below the other
  std::uint64_t images = 1;    // or so many matrices, the last two dimensions, stand side by side
  std::uint64_t high = 1;      // rows of such a matrix
  std::uint64_t rows = 0, columns = 0;
  std::string down, across_text;

  std::uint64_t row(std::uint64_t r, std::uint64_t c) const {
    if (images > 1) return r / high / images * high + r % high;
    return together > 1 ? r / together : r * parts() + c / part;
  }
  std::uint64_t column(std::uint64_t r, std::uint64_t c) const {
    if (images > 1) return r / high % images * across + c;
    return together > 1 ? r % together * across + c : c % part;
  }
  std::uint64_t parts() const { return (across + part - 1) / part; }
};

// Matrices side by side: as many as give the whole the shape of the room that there is, or those that differ in some dimensions alone, if that
// is nearly as many.
void put_side_by_side(Layout& l, const Shape& shape, std::size_t most_rows, std::size_t most_columns) {
  constexpr double kNearlyAsMany = 2;
  const std::size_t matrices = shape.size() - 2;
  l.high = static_cast<std::uint64_t>(shape[matrices]);
  const std::uint64_t all = l.rows / l.high;
  const double ideal = std::sqrt(static_cast<double>(l.rows) * static_cast<double>(most_columns) /
                                 (static_cast<double>(l.across) * static_cast<double>(most_rows)));
  l.images = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::lround(ideal)), 1, all);
  if (l.images == 1) return;
  const std::string within = fmt::format("and within it dimension {}", matrices);
  l.down = l.images == all ? fmt::format("dimension {}", matrices)
                           : fmt::format("each {} of {}, {}", l.images, dimensions(0, matrices), within);
  l.across_text = fmt::format("{}, and within it dimension {}", dimensions(0, matrices), matrices + 1);
  double nearest = kNearlyAsMany;
  std::uint64_t side_by_side = 1;
  for (std::size_t from = matrices; from-- > 0;) {
    side_by_side *= static_cast<std::uint64_t>(shape[from]);
    const double apart =
        std::max(static_cast<double>(side_by_side) / ideal, ideal / static_cast<double>(side_by_side));
    if (side_by_side == 1 || apart > nearest) continue;
    nearest = apart;
    l.images = side_by_side;
    l.down = from == 0 ? fmt::format("dimension {}", matrices)
                       : fmt::format("{}, {}", dimensions(0, from), within);
    l.across_text = fmt::format("{}, and within it dimension {}", dimensions(from, matrices), matrices + 1);
  }
  l.rows = (all + l.images - 1) / l.images * l.high;
  l.columns = l.across * l.images;
}

// In how many pieces what is long is to be cut, so that the whole has the shape of the room that there is.
std::uint64_t fold(std::uint64_t length, std::uint64_t width, std::size_t room_along,
                   std::size_t room_across) {
  const double folds = std::sqrt(static_cast<double>(length) * static_cast<double>(room_across) /
                                 (static_cast<double>(width) * static_cast<double>(room_along)));
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(folds), 1,
                                   std::max<std::uint64_t>(1, room_across / width));
}

Layout layout(const Shape& shape, std::uint64_t n, std::size_t most_rows, std::size_t most_columns) {
  Layout l;
  const bool is_list = shape.size() <= 1 && n > kFold;
  l.across = is_list ? kFold : shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back());
  l.part = l.columns = l.across;
  l.rows = (n + l.across - 1) / l.across;
  if (is_list) {
    l.down = fmt::format("each {} elements", kFold);
    l.across_text = "within them";
    return l;
  }
  if (shape.empty()) return l;
  l.across_text = dimensions(shape.size() - 1, shape.size());
  if (shape.size() > 1) l.down = dimensions(0, shape.size() - 1);
  if (shape.size() > 2 && l.rows > most_rows && l.rows >= kTall * l.across) {
    put_side_by_side(l, shape, most_rows, most_columns);
    if (l.images > 1) return l;
  }
  if (l.rows > most_rows && l.rows >= kNarrow * l.across) {
    l.together = fold(l.rows, l.across, most_rows, most_columns);
    if (l.together == 1) return l;
    l.rows = (l.rows + l.together - 1) / l.together;
    l.columns *= l.together;
    l.across_text = l.across == 1 ? l.down : fmt::format("{}, of {} side by side", l.across_text, l.down);
    l.down = fmt::format("each {} of {}", l.together, l.down);
  } else if (l.across > most_columns && l.across >= kNarrow * l.rows) {
    const std::uint64_t parts = fold(l.across, l.rows, most_columns, most_rows);
    if (parts == 1) return l;
    l.part = l.columns = (l.across + parts - 1) / parts;
    l.rows *= l.parts();
    l.down = l.rows == l.parts() ? fmt::format("each {} of {}", l.part, l.across_text)
                                 : fmt::format("{}, in parts of {} of {}", l.down, l.part, l.across_text);
  }
  return l;
}

}  // namespace

Picture picture(const Shape& shape, const Mask& set, std::size_t most_rows, std::size_t most_columns) {
  Picture p;
  const std::uint64_t n = set.size();
  if (n == 0) return p;
  const Layout l = layout(shape, n, most_rows, most_columns);
  p.of_columns = l.columns;
  p.of_rows = l.rows;
  p.columns = std::min<std::uint64_t>(p.of_columns, most_columns);
  p.rows = std::min<std::uint64_t>(p.of_rows, most_rows);
  p.down = l.down;
  p.across = l.across_text;
  std::vector<std::uint64_t> in(p.rows * p.columns), all(p.rows * p.columns);
  for (std::uint64_t r = 0, i = 0; i < n; ++r)
    for (std::uint64_t c = 0; c < l.across && i < n; ++c, ++i) {
      const std::uint64_t cell =
          l.row(r, c) * p.rows / p.of_rows * p.columns + l.column(r, c) * p.columns / p.of_columns;
      ++all[cell];
      in[cell] += set[i] ? 1 : 0;
    }
  for (std::size_t c = 0; c < in.size(); ++c)
    p.share.push_back(all[c] == 0 ? 0 : static_cast<float>(in[c]) / static_cast<float>(all[c]));
  return p;
}

namespace {

std::string key_of(const Picture& p) {
  const std::string across = fmt::format("across: {} ({})", p.across, p.of_columns);
  return p.down.empty() ? across : fmt::format("down: {} ({}); {}", p.down, p.of_rows, across);
}

}  // namespace

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
  return s + indent + key_of(p) + "\n";
}

std::string to_svg(const std::vector<Drawn>& pictures) {
  std::size_t columns = 80;
  int height = pictures.empty() ? kMargin + kTitle : kMargin;
  for (const Drawn& d : pictures) {
    columns = std::max(columns, d.picture.columns);
    height += kTitle + static_cast<int>(d.picture.rows) * kCell + kMargin;
  }
  std::size_t longest = 0;
  for (const Drawn& d : pictures) longest = std::max({longest, d.title.size(), key_of(d.picture).size()});
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
    s += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#555555\">{}</text>\n", kMargin, top + 24,
                     xml_text(key_of(p)));
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
