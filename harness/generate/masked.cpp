#include "masked.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "normal.h"

namespace assay {
namespace {

// Elements in front that are masked: vectors of every width and dtype, and blocks.
constexpr std::array<std::int64_t, 9> kFronts{1, 2, 4, 8, 16, 32, 64, 128, 256};

enum Mask : std::int64_t {
  kSomeInFront = kFronts.size(),
  kAllButLast,
  kCausal,
  kOneAtEnd,
  kMiddle,
  kNone,
  kMasks
};

constexpr std::int64_t kBlock = 64;

// The line is masked from `begin` to `end`.
struct Part {
  std::int64_t begin = 0, end = 0;
};

Part masked_part(const Stream& own, std::int64_t kind, std::int64_t line, std::int64_t length) {
  const std::int64_t last = length - 1;
  // Something is left, so that the result is more than NaN.
  if (kind < kSomeInFront) return {0, std::min(kFronts[static_cast<std::size_t>(kind)], last)};
  const auto word = static_cast<std::uint64_t>(line);
  switch (kind) {
    case kSomeInFront:
      return {0, last > 0 ? 1 + own.below((1u << 27) + word, last) : 0};
    case kAllButLast:
      return {0, last};
    case kCausal:
      return {1 + line % length, length};
    case kOneAtEnd:
      return {std::max<std::int64_t>(last, 1), length};
    case kMiddle: {
      const std::int64_t blocks = (length - 1) / kBlock;
      const std::int64_t begin = blocks > 0 ? kBlock * own.below((1u << 26) + word, blocks) : 1;
      return {begin, std::min(begin + kBlock, last)};
    }
    default:
      return {};
  }
}

double masked_value(const Target& t, std::int64_t kind, std::int64_t line) {
  const auto word = static_cast<std::uint64_t>(line);
  const double inf = std::numeric_limits<double>::infinity();
  const std::int64_t turn = line / kMasks + t.own.below((1u << 28) + static_cast<std::uint64_t>(kind), 4);
  if (turn % 4 != 0) return -inf;
  switch (t.own.below((1u << 29) + word, 3)) {
    case 0:
      return is_float(t.dtype) ? -format(t.dtype).max : -inf;
    case 1:
      return inf;
    default:
      return std::nan("");
  }
}

struct Lines {
  std::int64_t count = 1, length = 1;
};

Lines lines_of(std::span<const std::int64_t> shape, std::span<const std::size_t> axes) {
  Lines lines;
  for (std::size_t d = 0; d < shape.size(); ++d)
    (std::ranges::find(axes, d) != axes.end() ? lines.length : lines.count) *= shape[d];
  return lines;
}

// Walks all elements of a shape in row-major order.
class Walk {
 public:
  Walk(std::span<const std::int64_t> shape, std::span<const std::size_t> axes)
      : shape_(shape), index_(shape.size(), 0), steps_(shape.size()) {
    std::int64_t along = 1, across = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const bool reduced = std::ranges::find(axes, d) != axes.end();
      steps_[d] = {reduced ? 0 : across, reduced ? along : 0};
      (reduced ? along : across) *= shape[d];
    }
  }
  std::int64_t line() const { return line_; }
  std::int64_t place() const { return place_; }  // in its line
  void next() {
    for (std::size_t d = shape_.size(); d-- > 0;) {
      line_ += steps_[d].line;
      place_ += steps_[d].place;
      if (++index_[d] < shape_[d]) return;
      line_ -= steps_[d].line * shape_[d];
      place_ -= steps_[d].place * shape_[d];
      index_[d] = 0;
    }
  }

 private:
  struct Step {
    std::int64_t line = 0, place = 0;
  };
  std::span<const std::int64_t> shape_;
  std::vector<std::int64_t> index_;
  std::vector<Step> steps_;
  std::int64_t line_ = 0, place_ = 0;
};

}  // namespace

std::vector<std::size_t> reduced_axes(const Case& c, std::size_t argument) {
  const auto* t = std::get_if<TensorSpec>(&c.arguments[argument]);
  if (t == nullptr || t->shape.empty()) return {};
  const auto rank = static_cast<std::int64_t>(t->shape.size());
  bool windows = false;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Domain& d = domain(*c.op, c.op->schema.argument_storage[i].name);
    windows = windows || d.kind == Domain::Kind::window;
    if (!d.has_axes() || d.of != static_cast<int>(argument)) continue;
    std::vector<std::int64_t> named;
    if (const auto* one = std::get_if<std::int64_t>(&c.arguments[i])) named = {*one};
    if (const auto* several = std::get_if<std::vector<std::int64_t>>(&c.arguments[i])) named = *several;
    std::vector<std::size_t> axes;
    for (std::int64_t axis = 0; axis < rank; ++axis)
      if (named.empty() || std::ranges::count(named, axis) + std::ranges::count(named, axis - rank) > 0)
        axes.push_back(static_cast<std::size_t>(axis));
    return axes;
  }
  if (windows && rank > 1) return {t->shape.size() - 2, t->shape.size() - 1};
  return {t->shape.size() - 1};
}

bool has_lines(const Operator& op) {
  return std::ranges::any_of(op.schema.arguments(), [&](const Argument& a) {
    const Domain& d = domain(op, a.name);
    return d.has_axes() || d.kind == Domain::Kind::window;
  });
}

void fill_masked(const Target& t, std::span<double> values) {
  const Lines lines = lines_of(t.shape, t.axes);
  const std::int64_t first_kind = t.own.below((1u << 30) + 1, kMasks);
  // Of the last turn, so that no kind loses its only line of -inf.
  const std::int64_t last_turn = (lines.count - 1) / kMasks * kMasks;
  const std::int64_t whole =
      lines.count > 1 ? last_turn + t.own.below(1u << 30, lines.count - last_turn) : -1;
  struct Masked {
    Part part;
    double value = 0;
  };
  std::vector<Masked> masks(static_cast<std::size_t>(lines.count));
  for (std::int64_t line = 0; line < lines.count; ++line) {
    const std::int64_t kind = (first_kind + line) % kMasks;
    masks[static_cast<std::size_t>(line)] =
        line == whole ? Masked{{0, lines.length}, -std::numeric_limits<double>::infinity()}
                      : Masked{masked_part(t.own, kind, line, lines.length), masked_value(t, kind, line)};
  }
  Walk walk(t.shape, t.axes);
  for (std::size_t i = 0; i < values.size(); ++i, walk.next()) {
    const Masked& m = masks[static_cast<std::size_t>(walk.line())];
    values[i] = walk.place() >= m.part.begin && walk.place() < m.part.end ? m.value : normal(t.own, i);
  }
}

bool has_each_mask(std::span<const std::int64_t> shape, std::span<const std::size_t> axes) {
  const Lines lines = lines_of(shape, axes);
  // Two turns, and the line that is all masked.
  return lines.count > 2 * kMasks && lines.length > kFronts.back();
}

}  // namespace assay
