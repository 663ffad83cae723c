#include "pitch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pairs.h"

namespace assay::diff {
namespace {

constexpr std::size_t kMostHeader = 4096, kMostBefore = std::size_t{1} << 20;  // bytes
constexpr std::int64_t kMostPadding = 1024;  // elements of a row, or as many as it has
constexpr std::int64_t kLeastNumbers = 8;    // that stand where they are said to
constexpr std::size_t kTelling = 24;

class Search {
 public:
  Search(const Elements& right, const Shape& shape, std::span<const std::byte> bytes, Dtype dtype)
      : right_(right),
        shape_(shape),
        bytes_(bytes),
        dtype_(dtype),
        width_(static_cast<std::size_t>(assay::bytes(dtype))),
        count_(static_cast<std::int64_t>(right.count())) {}

  std::optional<std::string> find() {
    if (count_ < kLeastNumbers || is_nearly_constant(right_)) return std::nullopt;
    const std::size_t size = static_cast<std::size_t>(count_) * width_;
    if (stands(0, count_, count_))
      return bytes_.size() > size
                 ? std::optional(fmt::format("after its numbers, {} more bytes follow", bytes_.size() - size))
                 : std::nullopt;
    std::int64_t row = 1;
    for (std::size_t d = shape_.size(); d-- > 1;) {
      row *= shape_[d];
      if (row == count_) break;  // there is one
      if (auto found = apart(row, d)) return found;
    }
    return after_header();
  }

 private:
  std::size_t needed(std::int64_t row, std::int64_t pitch) const {
    return static_cast<std::size_t>((count_ / row - 1) * pitch + row) * width_;
  }

  // Rows of so many elements, which are those from dimension d on.
  std::optional<std::string> apart(std::int64_t row, std::size_t d) {
    const std::int64_t rows = count_ / row;
    for (std::int64_t pitch = row + 1; pitch <= row + std::max(row, kMostPadding); ++pitch) {
      stop_point();
      // At the beginning; or so that the bytes end with the last row, or with its padding.
      std::vector<std::size_t> begins{0};
      for (const std::size_t size : {needed(row, pitch), static_cast<std::size_t>(rows * pitch) * width_})
        if (size < bytes_.size() && bytes_.size() - size <= kMostBefore)
          begins.push_back(bytes_.size() - size);
      for (const std::size_t begin : begins)
        if (stands(begin, row, pitch)) return text(begin, row, pitch, d);
    }
    return std::nullopt;
  }

  std::optional<std::string> after_header() {
    const std::size_t size = static_cast<std::size_t>(count_) * width_;
    const std::size_t more = bytes_.size() > size ? std::min(bytes_.size() - size, kMostBefore) : 0;
    for (std::size_t begin = 1; begin <= std::max(more, kMostHeader) && begin < bytes_.size(); ++begin) {
      stop_point_at(static_cast<std::int64_t>(begin));
      if (stands(begin, count_, count_)) return fmt::format("its numbers begin at byte {}", begin);
    }
    return std::nullopt;
  }

  bool stands(std::size_t begin, std::int64_t row, std::int64_t pitch) {
    const std::span<const std::byte> rest = bytes_.subspan(begin);
    const auto there = static_cast<std::int64_t>(rest.size() / width_);
    const auto reached = [&](std::int64_t e) { return e / row * pitch + e % row; };
    // Which elements the bytes reach: of all rows before the last one that they have.
    std::int64_t last = std::min(count_, there / pitch * row + std::min(there % pitch, row));
    if (last < kLeastNumbers || 2 * last < count_ ||
        (row < count_ && last < row + std::min<std::int64_t>(row, 4)))
      return false;
    const Elements b{rest.first(static_cast<std::size_t>(there) * width_), dtype_};
    const Pairs pairs(right_, b);
    for (const std::int64_t e : telling(row))
      if (e < last && !pairs.are_alike(e, reached(e))) return false;
    return pairs.holds([&](std::int64_t i) {
      const std::int64_t r = i / pitch, k = i % pitch;
      return k < row && r * row + k < count_ ? r * row + k : -1;
    });
  }

  // A few elements of the second row and others that are spread, none of them 0 where there are others: they refute most places at once.
  const std::vector<std::int64_t>& telling(std::int64_t row) {
    if (row == telling_of_) return telling_;
    telling_of_ = row;
    telling_.clear();
    const auto take = [&](std::int64_t e) {
      if (e < count_ && right_[static_cast<std::uint64_t>(e)] != 0) telling_.push_back(e);
    };
    for (std::int64_t e = row % count_; e < count_ && telling_.size() < kTelling / 2; ++e) take(e);
    const std::int64_t step = std::max<std::int64_t>(1, count_ / static_cast<std::int64_t>(kTelling / 2)) | 1;
    for (std::int64_t e = 0; e < count_; e += step) take(e);
    return telling_;
  }

  std::string text(std::size_t begin, std::int64_t row, std::int64_t pitch, std::size_t d) const {
    std::string what = "rows";
    if (d + 1 < shape_.size())
      what = fmt::format("parts of shape [{}]",
                         assay::text(Shape(shape_.begin() + static_cast<std::ptrdiff_t>(d), shape_.end())));
    std::string s = fmt::format("its {} are {} elements apart, not {}", what, pitch, row);
    if (begin > 0) s += fmt::format(", and the first begins at byte {}", begin);
    const std::size_t size = begin + needed(row, pitch);
    if (size > bytes_.size()) s += fmt::format("; the last {} bytes of it are missing", size - bytes_.size());
    return s;
  }

  Elements right_;
  const Shape& shape_;
  std::span<const std::byte> bytes_;
  Dtype dtype_;
  std::size_t width_;
  std::int64_t count_;
  std::int64_t telling_of_ = -1;
  std::vector<std::int64_t> telling_;
};

}  // namespace

std::optional<std::string> pitched(const Elements& right, const Shape& shape,
                                   std::span<const std::byte> bytes, Dtype dtype) {
  return Search(right, shape, bytes, dtype).find();
}

}  // namespace assay::diff
