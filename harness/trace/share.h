// How much of a program a bisection judged, and how it found it in the dump, for people.
#pragma once

#include <string>

#include "bisect.h"

namespace assay {

// "Engine: onnxruntime 1.32.0. Results were matched ...  Judged: 13 of 15 calls, 4,096 of 5,120 elements."
std::string share_text(const Bisection& b);

// Of an engine that keeps numbers as integers: what that costs, by layer; the layers with most noise first. Empty if it keeps none so.
std::string quantised_text(const Bisection& b);

}  // namespace assay
