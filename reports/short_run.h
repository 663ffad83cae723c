// What a short run left out, in words.
#pragma once

#include <string>

#include "result.h"

namespace assay {

// "This was the short run: 40 of 250 cases for each operator and dtype. Left out: 70,000 generated cases; cuda.ptx (CUDA kernels on
// the processor). All of them: assay verify --thorough". Empty of a run that was none, left nothing out, or is incomplete, which is said
// elsewhere.
std::string short_run_note(const RunResult& run);

}  // namespace assay
