#include "origin.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace assay {
namespace {

template <class T>
bool read_number(std::string_view text, T& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

// What stands in the brackets of "name(..)".
std::optional<std::string_view> inside(std::string_view text, std::string_view name) {
  const std::size_t begin = text.find(name);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t open = begin + name.size(), close = text.find(')', open);
  if (open >= text.size() || text[open] != '(' || close == std::string_view::npos) return std::nullopt;
  return text.substr(open + 1, close - open - 1);
}

bool read_part(std::string_view text, Origin& o) {
  const auto offset = inside(text, "offset");
  auto strides = inside(text, "strides");
  if (!offset || !strides || !read_number(*offset, o.offset)) return false;
  o.strides.emplace();
  while (!strides->empty()) {
    const std::size_t end = std::min(strides->find(','), strides->size());
    if (!read_number(strides->substr(0, end), o.strides->emplace_back())) return false;
    strides->remove_prefix(std::min(end + 1, strides->size()));
  }
  return true;
}

}  // namespace

std::optional<Origin> parse_part(const std::string& text) {
  Origin o;
  return read_part(text, o) ? std::optional(std::move(o)) : std::nullopt;
}

std::optional<Through> parse_through(const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos || text.back() != ')') return std::nullopt;
  Through t{text.substr(0, open), {}};
  for (std::size_t begin = open + 1, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size() - 1);
    auto from = parse_origin(text.substr(begin, end - begin));
    if (!from) return std::nullopt;
    t.from.push_back(std::move(*from));
  }
  return t;
}

std::optional<Origin> parse_origin(const std::string& text) {
  Origin o;
  const std::string_view all = text;
  const std::size_t colon = all.find(':');
  if (colon == std::string_view::npos || !read_number(all.substr(0, colon), o.call)) return std::nullopt;
  const std::size_t at = all.find('@', colon);
  o.result = all.substr(colon + 1, at == std::string_view::npos ? at : at - colon - 1);
  if (at == std::string_view::npos) return o;
  return read_part(all.substr(at), o) ? std::optional(std::move(o)) : std::nullopt;
}

std::optional<TensorData> view_of(const TensorData& whole, const Origin& o, const Shape& shape) {
  if (!o.strides) return whole.shape == shape ? std::optional(whole) : std::nullopt;
  if (o.strides->size() != shape.size()) return std::nullopt;
  TensorData part(whole.dtype, shape);
  for (std::int64_t i = 0; i < part.numel(); ++i) {
    std::int64_t rest = i, at = o.offset;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
      // Files are not to be trusted: their products may be too large.
      if (std::int64_t step = 0; __builtin_mul_overflow(rest % shape[d], (*o.strides)[d], &step) ||
                                 __builtin_add_overflow(at, step, &at))
        return std::nullopt;
    if (at < 0 || at >= whole.numel()) return std::nullopt;
    std::memcpy(part.element(i), whole.element(at), static_cast<std::size_t>(bytes(whole.dtype)));
  }
  return part;
}

}  // namespace assay
