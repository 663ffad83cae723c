#include "turned.h"

#include <fmt/format.h>

#include "region.h"

namespace assay::diagnose {
namespace {

constexpr std::uint64_t kLeastTurned = 6;  // elements that diverge

// Where a tile lies in a result.
struct Tile {
  Region region;
  std::size_t down, across;  // dimensions

  bool is_square() const {
    const std::int64_t side = region.last[down] - region.first[down];
    return side > 0 && side == region.last[across] - region.first[across];
  }
  // The element whose number stands here.
  std::int64_t from(std::int64_t at) const {
    if (!region.has(at)) return at;
    std::int64_t inner_down = 1, inner_across = 1;
    for (std::size_t d = down + 1; d < region.shape.size(); ++d) inner_down *= region.shape[d];
    for (std::size_t d = across + 1; d < region.shape.size(); ++d) inner_across *= region.shape[d];
    const std::int64_t i = at / inner_down % region.shape[down] - region.first[down];
    const std::int64_t k = at / inner_across % region.shape[across] - region.first[across];
    return at + (k - i) * inner_down + (i - k) * inner_across;
  }
};

Variant transposed(const Tile& tile, std::size_t output) {
  Variant v{.name = fmt::format("results.tile_transposed_in_dimensions_{}_and_{}", tile.down, tile.across),
            .says = fmt::format(
                "has the tile transposed whose dimension {} is {} to {} and whose dimension {} is {} to {}",
                tile.down, tile.region.first[tile.down], tile.region.last[tile.down], tile.across,
                tile.region.first[tile.across], tile.region.last[tile.across])};
  v.results = [tile, output](std::vector<VariantResult>& results, const Call&) {
    if (results.size() <= output || results[output].shape != tile.region.shape) return;
    results[output].move([&](std::size_t i) -> std::optional<std::size_t> {
      return static_cast<std::size_t>(tile.from(static_cast<std::int64_t>(i)));
    });
  };
  v.moves = true;
  return v;
}

}  // namespace

std::vector<Variant> turned_of(Evidence& evidence) {
  std::vector<Variant> all;
  const Call& call = evidence.call();
  for (std::size_t o = 0; o < call.outputs.size() && all.empty(); ++o) {
    const Shape& shape = call.outputs[o].shape;
    const int output = static_cast<int>(o);
    if (!evidence.has(output) || evidence.mask(output).count() < kLeastTurned || shape.size() < 2) continue;
    const Region region(shape, evidence.mask(output));
    for (std::size_t down = 0; down + 1 < shape.size(); ++down)
      for (std::size_t across = down + 1; across < shape.size(); ++across)
        if (const Tile tile{region, down, across}; tile.is_square() && !region.everywhere)
          all.push_back(transposed(tile, o));
  }
  return all;
}

}  // namespace assay::diagnose
