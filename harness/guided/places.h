// The numbers of a case that a kernel may compare with others: sizes, integers and reals among its arguments, strides.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vocabulary/case.h"

namespace assay {

struct CasePlace {
  enum class Kind : std::uint8_t { size, attribute, stride, real } kind = Kind::size;
  std::size_t which = 0;  // of a size: as sizes_in() counts; else the argument
  std::size_t item = 0;   // of a list of integers; of a stride the dimension
  std::int64_t value = 0;
  double real = 0;
};

std::vector<CasePlace> places_of(const Case& c);

// The case with another number there. None where it would be none that is allowed, or too large.
std::optional<Case> with_value(const Case& c, Dtype result_dtype, const CasePlace& place, std::int64_t value);
std::optional<Case> with_real(const Case& c, const CasePlace& place, double value);

}  // namespace assay
