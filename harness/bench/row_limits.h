// What the machine could do in the rounds in which a kernel was timed: which limit binds the kernel, and which times no kernel can have.
//
// `opened` and `limits` are what a timing process answered (timer.h) to "open", and to "measure" under that key.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench.h"

namespace assay {

// A list of such an answer, as the times of "cpu".
std::vector<double> numbers(const nlohmann::json& list);

// Where a set of operands of this size lies when a call begins: "L2", "DRAM".
std::string level(Cache cache, const nlohmann::json& opened);

// What binds a kernel that took so many nanoseconds in each round, whose operands lie at `where`. Nothing if the limits were not measured as
// often.
std::optional<BoundBy> bound_by(const nlohmann::json& limits, const BenchRow& row,
                                const std::vector<double>& times, const std::string& where);

// Why a time cannot be that of the operator, or "". All of its interval must lie beyond the limit.
std::string impossible_because(const nlohmann::json& limits, const BenchRow& row,
                               const nlohmann::json& opened, const std::string& where);

}  // namespace assay
