#include "layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace assay {
namespace {

constexpr std::pair<std::string_view, Layout::Kind> kLayouts[] = {
    {"contiguous", Layout::Kind::contiguous}, {"channels_last", Layout::Kind::channels_last},
    {"permuted", Layout::Kind::permuted},     {"step2", Layout::Kind::step2},
    {"offset", Layout::Kind::offset},         {"expanded", Layout::Kind::expanded},
    {"strides", Layout::Kind::strides}};

// Far beyond any memory, and far from where products of 64-bit numbers overflow.
constexpr double kMostElements = 0x1p50;

bool takes_parameters(Layout::Kind k) {
  return k != Layout::Kind::contiguous && k != Layout::Kind::channels_last && k != Layout::Kind::step2;
}

std::vector<std::int64_t> integers(std::string_view list) {
  std::vector<std::int64_t> values;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view one = list.substr(0, comma);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), value);
    if (error != std::errc{} || end != one.data() + one.size())
      throw CaseError(fmt::format("\"{}\" is not an integer", one));
    values.push_back(value);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return values;
}

void check_rank(std::string_view layout, std::size_t parameters, std::size_t rank) {
  if (parameters != rank)
    throw CaseError(fmt::format("{} has {} numbers for {} dimensions", layout, parameters, rank));
}

std::vector<std::int64_t> dense_strides(const Shape& shape,
                                        const std::vector<std::int64_t>& outermost_first) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto d = static_cast<std::size_t>(outermost_first[i]);
    strides[d] = step;
    step *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

}  // namespace

Layout parse_layout(std::string_view s) {
  const std::size_t open = s.find('(');
  const std::string_view name = s.substr(0, open);
  for (const auto& [known, kind] : kLayouts) {
    if (name != known) continue;
    Layout layout{kind, {}};
    if (takes_parameters(kind)) {
      if (open == std::string_view::npos || !s.ends_with(')'))
        throw CaseError(fmt::format("layout {} needs parameters: {}(1,0)", name, name));
      layout.parameters = integers(s.substr(open + 1, s.size() - open - 2));
    } else if (open != std::string_view::npos) {
      throw CaseError(fmt::format("layout {} takes no parameters", name));
    }
    return layout;
  }
  throw CaseError(fmt::format(
      "\"{}\" is not a layout (contiguous, channels_last, permuted(..), step2, offset(n), expanded(..), strides(..))",
      s));
}

std::string text(const Layout& layout) {
  const auto known =
      std::ranges::find(kLayouts, layout.kind, &std::pair<std::string_view, Layout::Kind>::second);
  return takes_parameters(layout.kind)
             ? fmt::format("{}({})", known->first, fmt::join(layout.parameters, ","))
             : std::string(known->first);
}

Strided strided(const Shape& shape, const Layout& layout) {
  const std::size_t rank = shape.size();
  double elements = 2;  // step2 doubles the strides
  for (const std::int64_t n : shape) elements *= static_cast<double>(std::max<std::int64_t>(n, 1));
  if (elements > kMostElements) throw CaseError(fmt::format("shape [{}] has too many elements", text(shape)));
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  Strided s;
  switch (layout.kind) {
    case Layout::Kind::contiguous:
      s.strides = dense_strides(shape, order);
      break;
    case Layout::Kind::channels_last:
      if (rank != 4 && rank != 5)
        throw CaseError(fmt::format("channels_last needs 4 or 5 dimensions, not {}", rank));
      order.erase(order.begin() + 1);
      order.push_back(1);
      s.strides = dense_strides(shape, order);
      break;
    case Layout::Kind::permuted: {
      check_rank("permuted", layout.parameters.size(), rank);
      auto sorted = layout.parameters;
      std::ranges::sort(sorted);
      if (sorted != order) throw CaseError("permuted does not name each dimension once");
      s.strides = dense_strides(shape, layout.parameters);
      break;
    }
    case Layout::Kind::step2:
      s.strides = dense_strides(shape, order);
      for (std::int64_t& stride : s.strides) stride *= 2;
      break;
    case Layout::Kind::offset:
      if (layout.parameters.size() != 1 || layout.parameters[0] < 0)
        throw CaseError("offset takes one number, at least 0");
      s.strides = dense_strides(shape, order);
      s.offset = layout.parameters[0];
      break;
    case Layout::Kind::expanded: {
      Shape kept = shape;
      for (const std::int64_t d : layout.parameters) {
        if (d < 0 || d >= static_cast<std::int64_t>(rank))
          throw CaseError(fmt::format("expanded names dimension {} of {}", d, rank));
        kept[static_cast<std::size_t>(d)] = 1;
      }
      s.strides = dense_strides(kept, order);
      for (const std::int64_t d : layout.parameters) s.strides[static_cast<std::size_t>(d)] = 0;
      break;
    }
    case Layout::Kind::strides:
      check_rank("strides", layout.parameters.size(), rank);
      for (const std::int64_t stride : layout.parameters)
        if (stride < 0) throw CaseError(fmt::format("stride {} is negative", stride));
      s.strides = layout.parameters;
      break;
  }
  double last = static_cast<double>(s.offset);
  for (std::size_t d = 0; d < rank; ++d)
    last += static_cast<double>(shape[d]) * static_cast<double>(s.strides[d]);
  if (last > kMostElements) throw CaseError("offset and strides reach too far");
  s.span = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    if (shape[d] == 0) {
      s.span = 0;
      break;
    }
    s.span += (shape[d] - 1) * s.strides[d];
  }
  return s;
}

}  // namespace assay
