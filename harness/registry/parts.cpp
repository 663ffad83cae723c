#include "parts.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "configured.h"
#include "installed.h"

namespace assay {
namespace {

// What the launcher looks for in --impl stands there again: ci/check/parts compares.
const std::array kParts{
    Part{"onednn", "onednn", "onednn.sse41 onednn.avx2 onednn.avx512 onednn.avx512_bf16 onednn.amx",
         configured::lacks_onednn},
    Part{"openblas", "openblas", "openblas", configured::lacks_openblas},
    Part{"cuda", "cuda", "cuda.gpu cublaslt cudnn", configured::lacks_cuda},
    Part{"simulator", "cuda_simulator", "cuda.emulated cuda.ptx", configured::lacks_simulator},
};

}  // namespace

std::span<const Part> parts() { return kParts; }

std::string kernel_library(const std::string& program, std::string_view which) {
  return library_file(program, fmt::format("libassay_{}_plugin.so", which));
}

std::vector<std::string> kernels_of(const Part& part) {
  std::vector<std::string> names;
  std::istringstream words{std::string(part.kernels)};
  for (std::string name; words >> name;) names.push_back(name);
  return names;
}

bool is_built(const std::string& program, const Part& part) {
  std::error_code none;
  return std::filesystem::exists(kernel_library(program, part.library), none);
}

std::vector<const Part*> unbuilt_parts(const std::string& program, const std::string& glob) {
  std::vector<const Part*> found;
  for (const Part& part : kParts) {
    if (is_built(program, part)) continue;
    if (std::ranges::any_of(kernels_of(part), [&](const std::string& name) {
          return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
        }))
      found.push_back(&part);
  }
  return found;
}

std::string how_to_build(const Part& part) {
  if (!part.lacks.empty())
    return fmt::format("the part \"{}\" is not in this build: {}", part.name, part.lacks);
  return fmt::format("the part \"{}\" is not built here; `./assay build {}` builds it", part.name, part.name);
}

}  // namespace assay
