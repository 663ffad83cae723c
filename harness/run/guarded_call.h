// Calls of kernels that keep to the registers they may change. Code that a compiler made does; assembly by hand forgets now and then, and
// whoever called it goes on with other numbers.
#pragma once

#include <assay/kernel.h>

#include <cstdint>
#include <string>

namespace assay {

// Calls `kernel(call)`, and puts the registers right again that a function must leave as they were: rbx, rbp, r12 to r15. Exceptions pass
// through. `changed` gets a bit for each of them that was not as before, in this order; it keeps its bits where there was none.
extern "C" int assay_guarded_call(int (*kernel)(const assay_call*), const assay_call* call,
                                  std::uint32_t* changed);

// "the registers rbx and r12, which a function must leave as they were, changed"; empty where there are none.
std::string registers_text(std::uint32_t changed);

}  // namespace assay
