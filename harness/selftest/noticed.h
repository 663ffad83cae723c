// What others notice of results: ways of comparing that people use, on the same cases.
#pragma once

#include <array>
#include <vector>

#include "../examine/examine.h"
#include "rivals.h"

namespace assay {

// The rounded reference of a case, which rivals compare with.
struct Expected {
  std::vector<std::vector<double>> outputs;
};
Expected expected(const Call& call);

// Which rivals notice that these results are wrong. A kernel that does not come back is noticed by everybody; memory that
// is not the kernel's own by nobody, as nothing around it is guarded there.
// What was left unwritten is taken to be wrong, although it often is the right result of another call.
std::array<bool, kRivals> noticed(const Finding& f, const Call& call, const Expected& e);
void merge(std::array<bool, kRivals>& into, const std::array<bool, kRivals>& more);

// Whether Assay does.
bool is_found(const Judgement& j);

// What did not run has neither been found nor survived. Throws std::runtime_error.
void expect_run(const std::vector<Examined>& examined);

}  // namespace assay
