#include "layouts.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "check_case.h"
#include "random.h"

namespace assay {
namespace {

Layout permuted(Draw& draw, std::size_t rank) {
  std::vector<std::int64_t> order = draw.permutation(rank);
  if (std::ranges::is_sorted(order)) std::ranges::reverse(order);
  return {Layout::Kind::permuted, order};
}

Layout expanded(Draw& draw, std::size_t rank) {
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < rank; ++d)
    if (draw.chance(30)) dims.push_back(static_cast<std::int64_t>(d));
  if (dims.empty()) dims.push_back(draw.range(0, static_cast<std::int64_t>(rank) - 1));
  return {Layout::Kind::expanded, dims};
}

// Dimensions in any order in memory, with up to three unused elements between neighbours and after each row.
Layout with_gaps(Draw& draw, const Shape& shape) {
  std::vector<std::int64_t> order = draw.permutation(shape.size());
  if (draw.chance(60)) std::ranges::sort(order);
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = draw.pick(std::initializer_list<std::int64_t>{1, 1, 2, 3});
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<std::size_t>(order[i]);
    strides[d] = step;
    step = step * std::max<std::int64_t>(shape[d], 1) + draw.range(0, 3);
  }
  return {Layout::Kind::strides, strides};
}

}  // namespace

Layout draw_layout(Draw& draw, const Shape& shape, bool may_expand) {
  const std::size_t rank = shape.size();
  if (rank == 0) return {Layout::Kind::offset, {draw.range(1, 9)}};
  const int many = rank >= 2 ? 1 : 0;
  switch (draw.weighted({rank == 4 || rank == 5 ? 40 : 0, 20 * many, 20, 20, may_expand ? 15 : 0, 20})) {
    case 0:
      return {Layout::Kind::channels_last, {}};
    case 1:
      return permuted(draw, rank);
    case 2:
      return {Layout::Kind::step2, {}};
    case 3:
      return {Layout::Kind::offset, {draw.range(1, 9)}};
    case 4:
      return expanded(draw, rank);
    default:
      return with_gaps(draw, shape);
  }
}

bool without_overlap(const Shape& shape, const Layout& layout) {
  const Strided s = strided(shape, layout);
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t d) { return s.strides[d]; });
  std::int64_t reach = 0;  // the farthest element of the dimensions seen
  for (const std::size_t d : order) {
    if (shape[d] <= 1) continue;
    if (s.strides[d] <= reach) return false;
    reach += (shape[d] - 1) * s.strides[d];
  }
  return true;
}

Layout without_dimension(const Layout& layout, std::int64_t dropped, std::size_t new_rank) {
  Layout left = layout;
  switch (layout.kind) {
    case Layout::Kind::contiguous:
    case Layout::Kind::step2:
    case Layout::Kind::offset:
      break;
    case Layout::Kind::channels_last:
      if (new_rank != 4 && new_rank != 5) return {};
      break;
    case Layout::Kind::permuted:
    case Layout::Kind::expanded:
      std::erase(left.parameters, dropped);
      for (std::int64_t& d : left.parameters) d -= d > dropped ? 1 : 0;
      if (left.parameters.empty()) return {};
      break;
    case Layout::Kind::strides:
      left.parameters.erase(left.parameters.begin() + dropped);
      break;
  }
  return left;
}

namespace {

// What ATen gives a result of this memory format.
std::optional<Layout> layout_of(const Case& c, const Shape& shape) {
  for (const CaseValue& v : c.arguments)
    if (const auto* format = std::get_if<MemoryFormat>(&v)) {
      if (rank_of(*format) != 0 && rank_of(*format) == shape.size())
        return Layout{Layout::Kind::channels_last, {}};
      if (*format == MemoryFormat::contiguous_format) return Layout{};
    }
  return std::nullopt;
}

}  // namespace

std::vector<Layout> output_layouts(const Case& c, std::span<const Shape> outputs) {
  std::vector<Layout> layouts;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Shape& shape = outputs[o];
    // Small seeds count through the kinds, so that a shrunk case reaches each of them.
    const auto kind = static_cast<std::int64_t>(c.seed < 16 ? (c.seed + o) % 16 : mix(c.seed, o + 1) % 16);
    Layout layout;
    if (const std::optional<Layout> wanted = layout_of(c, shape); wanted && kind % 2 == 0) {
      layout = *wanted;
    } else if (c.seed == 0 || kind < 5) {
      layout = {};
    } else if (kind < 10) {
      for (const TensorSpec* t : tensors_of(c))
        if (t->shape == shape && t->layout.kind != Layout::Kind::expanded &&
            without_overlap(shape, t->layout)) {
          layout = t->layout;
          break;
        }
    } else {
      Draw draw(mix(c.seed, o + 101));
      layout = draw_layout(draw, shape, false);
    }
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

std::vector<Layout> output_layouts(const Case& c) {
  std::vector<Shape> shapes;
  for (Checked::Output& output : check_case(c).outputs) shapes.push_back(std::move(output.shape));
  return output_layouts(c, shapes);
}

}  // namespace assay
