// What is known of the engine's results: as its dump has them, or as a reference computes them from its other numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../files/case_file.h"
#include "origin.h"

namespace assay {

// Calls whose results the dump does not have, and that were taken for right: their places in the trace, and their names.
using Assumed = std::set<std::pair<std::size_t, std::string>>;

// A result of the engine's, and within what each of its numbers is known (diagnose/rounding.h); empty: to the bit.
struct KnownResult {
  TensorData data;
  std::vector<double> within;
  bool computed =
      false;  // by the reference, as the dump does not have it: the engine's may be rounded otherwise
  std::vector<std::string> written_by = {};  // calls that have written into it since
  Assumed assumed = {};                      // that it follows from, since the dump's numbers
  // The numbers are PyTorch's, and the engine's are nobody knows which: this call, which cannot be computed, was given others.
  std::string lost_in = {};
};
using KnownResults = std::map<std::pair<std::size_t, std::string>, KnownResult>;  // by call and output

// The part that an input (or output) of this shape and dtype is, as it is now; nothing if that is not known.
std::optional<KnownResult> known_part(const KnownResults& results, const Origin& origin, const Shape& shape,
                                      Dtype dtype);

bool writes_over_parts(const RecordedCall& call);
// Whether an output is no result, but all of the memory that a result of the same call is a part of.
bool is_memory_of_its_own(const RecordedCall& recorded, std::size_t call, const std::string& output);
// What a call that only copies writes, as far as its source is known.
std::optional<KnownResult> copied(const KnownResults& results, const RecordedCall& call,
                                  const TensorData& written);

// A call that wrote in place over parts of earlier results (`onto.OUTPUT` of the trace) changes what is known of those: they have
// its results there. Precondition: those are known.
void write_over(KnownResults& results, const CaseFile& trace, std::size_t call);

// Where the numbers of a part lie in a whole of so many elements: each(its row-major number in the part, in the whole). False if it
// does not lie within.
bool for_each_place(const Origin& part, const Shape& shape, std::int64_t in_whole,
                    const std::function<void(std::int64_t, std::int64_t)>& each);

}  // namespace assay
