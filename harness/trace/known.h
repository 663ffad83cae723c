// What is known of the engine's results: as its dump has them, or as a reference computes them from its other numbers.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../files/case_file.h"
#include "origin.h"

namespace assay {

// A result of the engine's, and within what each of its numbers is known (diagnose/rounding.h); empty: to the bit.
struct KnownResult {
  TensorData data;
  std::vector<double> within;
  bool computed =
      false;  // by the reference, as the dump does not have it: the engine's may be rounded otherwise
  std::vector<std::string> written_by = {};  // calls that have written into it since
};
using KnownResults = std::map<std::pair<std::size_t, std::string>, KnownResult>;  // by call and output

// The part that an input (or output) of this shape and dtype is, as it is now; nothing if that is not known.
std::optional<KnownResult> known_part(const KnownResults& results, const Origin& origin, const Shape& shape,
                                      Dtype dtype);

bool writes_over_parts(const RecordedCall& call);
// Whether an output is no result, but all of the memory that a result of the same call is a part of.
bool is_memory_of_its_own(const RecordedCall& recorded, std::size_t call, const std::string& output);

// A call that wrote in place over parts of earlier results (`onto.OUTPUT` of the trace) changes what is known of those: they have
// its results there, or what PyTorch wrote if the call was given nothing else than PyTorch's. If neither is known, nothing is.
void write_over(KnownResults& results, const CaseFile& trace, std::size_t call, bool given_as_recorded);

}  // namespace assay
