// A fault in tiles of the terms of a sum of products (tiles.h), as something that can be tried on a call.
#pragma once

#include <cstdint>

#include "../model/call.h"
#include "../variants/variant.h"
#include "products.h"
#include "region.h"

namespace assay::diagnose {

struct StepRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

enum class TileFaultKind : std::uint8_t {
  left_out,
  twice,
  both_stale,
  first_stale,
  second_stale,
  two_left_out
};

struct TileFault {
  TileFaultKind tile = TileFaultKind::left_out;
  StepRange steps, others{};  // others: of two
  std::int64_t distance = 0;  // stale: step k is that of k - distance
};

// "weight.64_to_95_of_dimension_1_left_out": the same fault of any call whose tensors have these shapes, in the region alone.
Variant variant_of(const TileFault& c, const Call& call, int output, const Products& products,
                   const Region& region);

}  // namespace assay::diagnose
