// From the text of a kernel to a program: functions that it calls are inlined, for nvcc's code has no recursion.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "program.h"

namespace assay::cuda::ptx {

// The text of a function between its parentheses, and of its body.
struct Function {
  std::string_view name, results, parameters, body;
};
using Functions = std::map<std::string, Function, std::less<>>;

struct Surroundings {
  std::string_view text;  // the file, of which all views are
  const Functions& functions;
  const std::vector<std::string_view>& shared;  // declarations of shared variables outside functions
  const std::map<std::uint64_t, std::string>& files;
};

// Throws std::runtime_error that names the line and what in it cannot be interpreted.
Program link(const Surroundings& around, const Function& entry);

}  // namespace assay::cuda::ptx
