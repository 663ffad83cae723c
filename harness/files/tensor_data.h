// Tensors of files in memory, and back.
#pragma once

#include <cstring>

#include "../model/call.h"
#include "case_file.h"

namespace assay {

inline TensorData tensor_of(const RecordedTensor& r) {
  TensorData t(r.dtype, r.shape);
  if (!r.data.empty()) std::memcpy(t.memory.data(), r.data.data(), r.data.size());
  return t;
}

inline RecordedTensor recorded(const TensorData& t) { return {t.dtype, t.shape, t.packed()}; }

}  // namespace assay
