#include "layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "reports/text.h"
#include "reports/utf8.h"

namespace assay::tensors {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files are little-endian where they do not say more");

std::string message(const Place& place, const std::string& what) {
  if (place.tensor.empty()) return fmt::format("cannot read {}: {}", place.file, what);
  return fmt::format("cannot read {}: tensor {}: {}", place.file, in_quotes(place.tensor), what);
}

void swap_bytes(std::vector<std::byte>& data, std::size_t width) {
  for (std::size_t i = 0; i + width <= data.size(); i += width)
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i),
                 data.begin() + static_cast<std::ptrdiff_t>(i + width));
}

// Elements of the size of Word, in the order of the last index running fastest.
template <std::size_t kWidth>
void from_fortran(std::span<const std::byte> stored, const Shape& shape, std::vector<std::byte>& data) {
  std::array<std::size_t, kMostDimensions> stride{};
  std::size_t elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    stride[d] = elements;
    elements *= static_cast<std::size_t>(shape[d]);
  }
  std::array<std::int64_t, kMostDimensions> index{};
  std::size_t from = 0;
  for (std::size_t to = 0; to < elements; ++to) {
    std::memcpy(data.data() + to * kWidth, stored.data() + from * kWidth, kWidth);
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
}

}  // namespace

void Place::fail(const std::string& what) const { throw FileError(message(*this, what)); }
void Place::unsupported(const std::string& what) const { throw Unsupported(message(*this, what)); }

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::string s = "\"";
  std::size_t i = 0;
  while (i < std::min(text.size(), kMost)) {
    const CodePoint c = code_point(text, i);
    const std::string_view bytes = text.substr(i, std::max<std::size_t>(c.length, 1));
    if (c.length == 1 ? c.value < 0x20 || c.value == 0x7F || c.value == '"' || c.value == '\\'
                      : c.length == 0 || !is_readable(c.value))
      for (const char byte : bytes) s += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    else
      s += bytes;
    i += bytes.size();
  }
  return s + (i < text.size() ? "...\"" : "\"");
}

std::size_t byte_count(const Shape& shape, Dtype dtype, const Place& place, std::string_view field) {
  if (shape.size() > kMostDimensions)
    place.fail(
        fmt::format("{} has {} dimensions, and Assay reads up to {}", field, shape.size(), kMostDimensions));
  for (const std::int64_t size : shape)
    if (size < 0) place.fail(fmt::format("{} is [{}], with a size below 0", field, text(shape)));
  // The sizes beside a 0 must fit too: they are multiplied elsewhere.
  std::int64_t product = bytes(dtype);
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product))
      place.fail(fmt::format("{} is [{}], more than any memory holds", field, text(shape)));
  return std::ranges::find(shape, 0) != shape.end() ? 0 : static_cast<std::size_t>(product);
}

bool is_plain(const Layout& layout, Dtype dtype, const Shape& shape) {
  if (layout.big_endian && bytes(dtype) > 1) return false;
  // With one dimension that is more than 1, there is only one order.
  return !layout.fortran_order || std::ranges::count_if(shape, [](std::int64_t n) { return n != 1; }) <= 1;
}

RecordedTensor unpack(std::span<const std::byte> stored, Dtype dtype, const Shape& shape,
                      const Layout& layout) {
  RecordedTensor t{dtype, shape, {}};
  const auto width = static_cast<std::size_t>(bytes(dtype));
  if (stored.empty() || is_plain({false, layout.fortran_order}, dtype, shape)) {
    t.data.assign(stored.begin(), stored.end());
  } else {
    t.data.resize(stored.size());
    if (width == 1) from_fortran<1>(stored, shape, t.data);
    if (width == 2) from_fortran<2>(stored, shape, t.data);
    if (width == 4) from_fortran<4>(stored, shape, t.data);
    if (width == 8) from_fortran<8>(stored, shape, t.data);
  }
  if (layout.big_endian && width > 1) swap_bytes(t.data, width);
  return t;
}

}  // namespace assay::tensors
