// Descriptors of the timing process that are no kernel's: its socket, standard input and output, what else was open before it loaded
// anything.
#pragma once

#include <string>

namespace assay {

// Those that are open now are kept, with a copy of each from which it can be put back.
void keep_files();

// What kernels have done to them since: "closed file descriptor 5, which it had not opened", or "". Puts them back. Where the copies are
// gone, too, the process has nobody left to tell, and ends.
std::string files_changed();

// How many descriptors are open.
std::size_t files_open();

}  // namespace assay
