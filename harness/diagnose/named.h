// Causes as a diagnosis names them: those that were found, and those that results say by themselves (see read_off() in diagnosis.h, too).
#pragma once

#include <cstddef>

#include "admitting.h"
#include "causes.h"
#include "diagnosis.h"

namespace assay::diagnose {

Named named(const Cause& c);

// "arithmetic.approximate": results of which so many elements diverge have about so many correct bits.
Named approximation(int bits, std::size_t diverging);

// "arithmetic.inaccurate_tanh".
Named inaccurate(const Admitting& a, std::size_t diverging);

// A cause that is nothing but functions that are less accurate.
bool is_of_functions(const Named& c);

}  // namespace assay::diagnose
