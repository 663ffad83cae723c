// The gate on fixtures instead of generated cases.
#pragma once

#include "../recorded/fixture.h"
#include "verify.h"

namespace assay {

// Every kernel on the recorded calls, judged as on generated ones; and what the producers gave, in rows of their own
// that decide the run: where the reference and others disagree, one of them is wrong. Of the options, those that choose
// generated cases mean nothing here, and jobs is 1. Throws SelectionError when nothing matches.
RunResult verify_fixtures(const Registry& registry, const Fixtures& fixtures, const VerifyOptions& options,
                          const std::atomic<bool>& interrupted,
                          const std::function<void(const Progress&)>& progress);

}  // namespace assay
