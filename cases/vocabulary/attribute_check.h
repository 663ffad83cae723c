// The part of the argument check (check.h) that is about numbers: those of attributes, of indices, and of what integers are divided by.
#pragma once

#include <cstddef>
#include <span>

#include "call_check.h"

namespace assay {

class AttributeCheck : protected CallCheck {
 protected:
  AttributeCheck(const Operator& op, std::span<const assay_value> arguments) : CallCheck(op, arguments) {}

  // Of an argument of the right kind, dtype and rank, whether its domain has it. What is wrong is said by fail().
  void attribute(std::size_t i);
  // Of a tensor that integers are divided by, converted to their dtype first; where there is data to look at.
  void nonzero(std::size_t i);

 private:
  void index(std::size_t i, const Domain& d);
  void given(std::size_t i, const Domain& d);
  void integer_attribute(std::size_t i, const Domain& d);
  void spatial(std::size_t i, const Domain& d);
  void axes(std::size_t i, const Domain& d);
};

}  // namespace assay
