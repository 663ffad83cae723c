// What a bisection says of calls that it judged as one graph.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bisect.h"

namespace assay {

// Of a call that is wrong together with those before it.
std::string wrong_together(const BisectedCall& c);
// All of them, and why others were not judged so.
std::string together_text(const Bisection& b);
// Whether the call was judged with one after it.
bool is_inside_another(const Bisection& b, const BisectedCall& c);

nlohmann::json json_of(const std::optional<BisectedCall::Together>& t);
std::optional<BisectedCall::Together> together_of(const nlohmann::json& kept);

}  // namespace assay
