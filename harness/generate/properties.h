// Relations between two runs of a kernel that hold bit for bit, whatever the right numbers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../model/call.h"
#include "vocabulary/contract.h"

namespace assay {

// What a call gave: of each output, the elements in row-major order without gaps.
using PackedOutputs = std::vector<std::vector<std::byte>>;

// A second call, and what its results have to do with those of the first.
struct Derived {
  std::string property;
  Call call;
  // A plain sentence that says what is wrong, or "" if the relation holds. Any two NaN count as equal, and, where the
  // contract ignores the sign of zero, any two zeros.
  std::function<std::string(const PackedOutputs& original, const PackedOutputs& derived)> compare;
};

// One of the relations that apply to this call, by the operator's properties and the contract; `choice` picks it, and
// which elements it looks at. nullopt if none applies: the call has no outputs or an empty one, the contract does not
// promise the same bits twice, or it promises nothing for NaN and infinities and there are some.
//
//   position    one element, or a stretch of elements, of an elementwise operator alone
//   rows        one row of a row-wise operator, or of a matrix product's first operand, alone
//   layout      the same values in other layouts: all contiguous, or not
//   expanded    copies in place of stride 0, or stride 0 for dimensions of size 1
//   in place    the result written over the input
//   idempotence f(f(x)) = f(x), where f(x) is what the reference says
std::optional<Derived> derive(const Call& call, const Contract& contract, std::uint64_t choice);

}  // namespace assay
