// "2x3@layout": parse_layout() and strided() throw CaseError, or give strides that reach as far as they say.
#include "vocabulary/layout.h"

#include <charconv>

#include "target.h"

namespace assay::fuzz {
namespace {

std::vector<std::string> seeds() {
  return {"2x3@contiguous",    "2x3x4x5@channels_last", "2x3x4@permuted(2,0,1)", "2x3@step2", "2@offset(7)",
          "2x1x3@expanded(1)", "2x3@strides(5,1)",      "0x3@strides(0,0)",      "@offset(0)"};
}

Shape shape_of(std::string_view dims) {
  Shape shape;
  const char *at = dims.data(), *const end = at + dims.size();
  while (at < end) {
    std::int64_t n = 0;
    const auto [stop, error] = std::from_chars(at, end, n);
    if (error == std::errc{} && n >= 0) shape.push_back(n);
    at = stop + 1;
  }
  return shape;
}

bool run(std::string_view input) {
  const std::size_t sign = input.find('@');
  const Shape shape = shape_of(input.substr(0, sign));
  try {
    const Layout layout = parse_layout(sign == std::string_view::npos ? "" : input.substr(sign + 1));
    if (parse_layout(text(layout)) != layout)
      broken(text(layout) + " is another layout when it is read again");
    const Strided s = strided(shape, layout);
    if (s.strides.size() != shape.size()) broken("not one stride for each dimension");
    std::int64_t last = 0;
    bool empty = false;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      empty = empty || shape[d] == 0;
      last += (shape[d] - 1) * s.strides[d];
      if (s.strides[d] < 0) broken("a stride is negative");
    }
    if (s.offset < 0 || s.span != (empty ? 0 : last + 1)) broken("the span is not that of the strides");
  } catch (const CaseError&) {
    return false;
  }
  return true;
}

}  // namespace

const Target kLayout{"layout", seeds, run};

}  // namespace assay::fuzz
