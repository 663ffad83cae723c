// Where a failure's case file goes. Names say what failed, and no file of another run is lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "../files/case_file.h"

namespace assay {

// "prelu-cpu.avx2-f32-diverged-17": letters, digits and "._+-" only. What is too long for a file system keeps its ends,
// and a number that stands for all of it.
std::string safe_file_name(std::string_view text);

// Writes the file into the folder as NAME.h5, or NAME-2.h5, NAME-3.h5, .. where others hold something else; a file that
// holds the same is that file. Returns its path. Throws FileError.
std::filesystem::path keep_case_file(const std::filesystem::path& folder, const std::string& name,
                                     const CaseFile& file);

}  // namespace assay
