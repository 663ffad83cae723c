// What a row leaves unknown although nothing failed: cases that were refused and not replaced, kinds of ordinary calls that no case
// judged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "result.h"
#include "row.h"
#include "style.h"

namespace assay {

// A row of fewer judged cases has a gap: half of those asked for, 100 at most.
std::uint64_t least_judged(std::uint64_t asked);

// In plain words, "judged 49 of 250 cases, which is fewer than 100"; "every call of the class `groups above 1` was refused (34
// cases): only groups 1". Refusals whose reasons may be (Row::may_refuse) are none. Of a row without Row::asked there are none.
std::vector<std::string> gaps(const Row& row);

// Classes of ordinary calls that no case of the row was of, refused or judged.
std::vector<std::string> never_called(const Row& row);

// "Gaps" of the rows that decide, for the terminal; empty where there are none.
std::string gap_list(const RunResult& run, const Rules& rules, const Style& style);

// Every class of every row that decides, with how many cases of it were judged and refused: `verify --classes`.
std::string class_table(const RunResult& run, const Rules& rules);

}  // namespace assay
