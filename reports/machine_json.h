// The machine as run files and benchmark files have it.
#pragma once

#include "json_reader.h"
#include "result.h"

namespace assay {

// Throws FileError that names the file and the key that is wrong.
Machine read_machine(const JsonReader& value);

}  // namespace assay
