// What numbers that a kernel used have to do with those that it was given.
#pragma once

#include <span>
#include <string>

#include "solve.h"

namespace assay::diagnose {

// Whether they are those that were given, in order, as exactly as they are known.
bool are_given(const Agreement& used, std::span<const double> given);

// "those given", "those given, shifted by 2", "1.07 times those given", or else the numbers themselves. `name` is the argument.
std::string relation(const Agreement& used, std::span<const double> given, const std::string& name);

// A number in few digits, as many as are known: "1.07", "0.01".
std::string few_digits(double x, double within);

}  // namespace assay::diagnose
