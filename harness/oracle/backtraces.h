// The price of torch's errors.
#pragma once

namespace assay::oracle {

// Makes torch stop symbolising a backtrace for every error it throws: 1 ms each, for a text that nobody sees.
// Precondition: torch is loaded. Does nothing where torch has no such switch.
void drop_backtraces();

}  // namespace assay::oracle
