// What oneDNN said about the last call, for the result row.
#pragma once

#include <string>

namespace assay {

// The impl_info_str of the primitive that this thread ran last ("brg:avx512_core", "ref:any"): the code that
// a verdict is about. Empty before the first call, after a refusal, and in builds without oneDNN.
#ifdef ASSAY_HAVE_ONEDNN
std::string onednn_information();
#else
inline std::string onednn_information() { return {}; }
#endif

}  // namespace assay
