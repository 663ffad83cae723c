// Registers whose numbers are never needed at the same time share a row, as they share a register of a GPU. nvcc writes PTX
// with a register for every result: rows of all of them would not stay in a cache.
#pragma once

#include "program.h"

namespace assay::cuda::ptx {

// Renumbers the rows of a program that is linked. Those of constants and special registers stay their own. What may be read where
// nobody has written keeps its row until then, and is listed (Program::unwritten).
void share_rows(Program& program);

}  // namespace assay::cuda::ptx
