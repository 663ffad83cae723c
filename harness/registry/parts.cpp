#include "parts.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace assay {
namespace {

// What the launcher looks for in --impl stands there again: ci/check/parts compares.
constexpr std::array kParts{
    Part{"onednn", "onednn", "onednn.sse41 onednn.avx2 onednn.avx512 onednn.avx512_bf16 onednn.amx",
         ASSAY_LACKS_ONEDNN},
    Part{"openblas", "openblas", "openblas", ASSAY_LACKS_OPENBLAS},
    Part{"cuda", "cuda", "cuda.gpu cublaslt cudnn", ASSAY_LACKS_CUDA},
    Part{"simulator", "cuda_simulator", "cuda.emulated cuda.ptx", ""},
};

}  // namespace

std::span<const Part> parts() { return kParts; }

std::string kernel_library(const std::string& program, std::string_view which) {
  return (std::filesystem::path(program).parent_path().parent_path() / "optimized" /
          fmt::format("libassay_{}_plugin.so", which))
      .string();
}

bool is_built(const std::string& program, const Part& part) {
  std::error_code none;
  return std::filesystem::exists(kernel_library(program, part.library), none);
}

std::vector<const Part*> unbuilt_parts(const std::string& program, const std::string& glob) {
  std::vector<const Part*> found;
  for (const Part& part : kParts) {
    if (is_built(program, part)) continue;
    std::string_view rest = part.kernels;
    while (!rest.empty()) {
      const std::string name(rest.substr(0, rest.find(' ')));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (fnmatch(glob.c_str(), name.c_str(), 0) != 0) continue;
      found.push_back(&part);
      break;
    }
  }
  return found;
}

std::string how_to_build(const Part& part) {
  if (!part.lacks.empty())
    return fmt::format("the part \"{}\" is not in this build: {}", part.name, part.lacks);
  return fmt::format("the part \"{}\" is not built here; `./assay build {}` builds it", part.name, part.name);
}

}  // namespace assay
