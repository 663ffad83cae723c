#include "kernel.h"

#include <algorithm>
#include <array>

namespace assay {

void set_variable(Environment& environment, const std::string& variable, bool replace) {
  const auto name = [](std::string_view assignment) { return assignment.substr(0, assignment.find('=')); };
  for (std::string& known : environment.variables)
    if (name(known) == name(variable)) {
      if (replace) known = variable;
      return;
    }
  environment.variables.push_back(variable);
}

bool is_cuda_on_the_processor(const Kernel& kernel) {
  constexpr std::array<std::string_view, 2> kNames{"cuda.emulated", "cuda.ptx"};
  return std::ranges::find(kNames, kernel.name) != kNames.end();
}

}  // namespace assay
