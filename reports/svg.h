// What the charts share: axes, and numbers as they stand in SVG. Colours come from classes that page.css knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Numbers above 0 on a line of pixels, by their logarithms.
class LogScale {
 public:
  // Precondition: 0 < low < high.
  LogScale(double low, double high, double from, double to);
  double operator()(double value) const;  // clamped to the line
  bool holds(double value) const { return value >= low_ && value <= high_; }
  double low() const { return low_; }
  double high() const { return high_; }
  // Powers of ten, with 2 and 5 where there are few.
  std::vector<double> ticks() const;

 private:
  double low_, high_, from_, to_;
};

// "12.3k", "4.56G"
std::string si(double value);
// Of nanoseconds: "12.3 µs"
std::string time_text(double ns);
// "1.234" without zeros at the end, for coordinates.
std::string coordinate(double value);

// <text>; `classes` may be empty, `anchor` is start, middle or end.
std::string svg_label(double x, double y, std::string_view text, std::string_view classes = "",
                      std::string_view anchor = "start");
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view classes);

// Opens a picture that scales down to the page; `name` is what it is read out as.
std::string svg_begin(double width, double height, std::string_view name);
inline constexpr std::string_view kSvgEnd = "</svg>\n";

}  // namespace assay
