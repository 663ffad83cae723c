// Parts of Assay that are built only when something asks for them: libraries of kernels beside the program.
//
// `./assay` builds them when --impl names one of their kernels, when there is a GPU, or when told to (`./assay build cuda`);
// a packager builds the target `programs`, which has all of them. A part that is there is loaded by every command, in worker
// processes of its own; its kernels' names have no prefix.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct Part {
  std::string_view name;     // `./assay build NAME`, CMake's target part_NAME
  std::string_view library;  // of the file libassay_LIBRARY_plugin.so
  std::string_view kernels;  // names that stand for those of its kernels, with spaces between them
  std::string_view lacks;    // why this build cannot have it, as CMake found, or empty
};

std::span<const Part> parts();

// Where a build or an installation has a library of kernels: "cpu", or a part's.
std::string kernel_library(const std::string& program, std::string_view which);

// The names of its kernels.
std::vector<std::string> kernels_of(const Part& part);

// Whether the library lies beside the program.
bool is_built(const std::string& program, const Part& part);

// The parts that are not built, of which a glob of --impl selects a kernel.
std::vector<const Part*> unbuilt_parts(const std::string& program, const std::string& glob);

// "onednn.avx2 is in a part of Assay that is not built here; `./assay build onednn` builds it", for a person.
std::string how_to_build(const Part& part);

// What was asked for is in a part that is not built.
struct NotBuilt : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace assay
