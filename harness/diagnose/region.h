// Which results have a fault: all of them, a block, or what diverges.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "../diff/compare.h"
#include "vocabulary/shape_rule.h"

namespace assay::diagnose {

struct Region {
  Shape shape, first, last;  // a block
  bool everywhere = false, is_block = false;
  std::shared_ptr<const diff::Mask> diverging;  // or else these

  // The block around all that diverges: of its elements, some may err too little to be seen. Precondition: something diverges.
  Region(const Shape& out, const diff::Mask& mask);
  // What diverges, and nothing else.
  void only(const diff::Mask& mask);

  bool has(std::int64_t at) const;
  std::string says() const;  // ", in the results whose dimension 0 is 16 to 31"; empty: everywhere
  std::string name() const;  // "_in_a_block"
};

}  // namespace assay::diagnose
