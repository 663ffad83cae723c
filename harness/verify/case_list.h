// Lists of cases: what `assay verify --cases-from` reads.
//
//   # Sizes around every vector width.
//   softmax.int:{f64,f32}:self={1,5}x{1..40},dim={0,1}:seed=1
//
// A case on each line, or many where it has braces (../generate/braces.h). Empty lines and what stands after "#" are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/case.h"

namespace assay {

inline constexpr std::uint64_t kMostListed = 100'000;  // cases of one file; more than that is a slip of the pen

// Whether cases of the operator of this name are wanted; the others are counted, and not looked at.
using WantsOperator = std::function<bool(const std::string& op)>;

// In the order of the file. Throws FileError that names file, line and what is wrong there; a case whose arguments a kernel has to turn
// down is wrong, too, for a slip of the pen would pass for one on every kernel. So is a file without any case.
std::vector<Case> read_case_list(const std::string& path, const WantsOperator& wants);
// The same of one file's text, which has no more cases than `most`.
std::vector<Case> case_list_from(std::string_view text, const std::string& file, const WantsOperator& wants,
                                 std::uint64_t most = kMostListed);

}  // namespace assay
