// What a benchmark file says of the run as a whole.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "placement.h"

namespace assay {

// What times depend on: processor, instruction sets, caches, kernel of the system, huge pages, frequency governor. Absolute times
// of two runs may be compared only if this is equal, and then with care.
std::string machine_fingerprint();

// The commit of the checkout that the command runs in, "-dirty" after it if files have been changed since; empty outside of one.
std::string commit_here();

// The keys "format", "command", "machine", "commit" (that the kernels are of), "placement" and "notes".
nlohmann::ordered_json bench_context(const Placements& placements, const std::string& commit);

}  // namespace assay
