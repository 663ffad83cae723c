// What torch says and counts beside its results.
#pragma once

namespace assay::oracle {

// Makes torch stop symbolising a backtrace for every error it throws, 1 ms each, for a text that nobody sees; and stop
// printing warnings about its own future ("An output with one or more elements was resized ..."). Where a torch has no
// such switch, nothing happens. Precondition: torch is loaded.
void quieten_torch();

}  // namespace assay::oracle
