// Which dimensions of a tensor a list of axes names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace assay {

class Axes {
 public:
  // All of them if the list is empty, as in ATen's reductions. Precondition: each is from -rank to rank - 1, where a
  // scalar tensor counts as one dimension, and rank <= 64.
  Axes(std::span<const std::int64_t> list, int rank) {
    if (list.empty()) bits_ = ~std::uint64_t{0};
    for (const std::int64_t axis : list)
      bits_ |= std::uint64_t{1} << (axis < 0 ? axis + (rank == 0 ? 1 : rank) : axis);
  }
  Axes(std::optional<std::span<const std::int64_t>> list, int rank)
      : Axes(list.value_or(std::span<const std::int64_t>{}), rank) {}
  // One, or all of them.
  Axes(std::optional<std::int64_t> axis, int rank)
      : Axes(axis ? std::span<const std::int64_t>(&*axis, 1) : std::span<const std::int64_t>{}, rank) {}

  bool contains(int dimension) const { return (bits_ >> dimension & 1) != 0; }

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace assay
