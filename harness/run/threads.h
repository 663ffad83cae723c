// Threads of a process besides the one that kernels are called on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace assay {

// So begins what is said of a kernel's thread that goes on after its call.
inline constexpr std::string_view kThreadOfIts = "a thread that it had started";

// How many threads this process has.
std::uint32_t thread_count();

// Whether each thread of the process but the first waits until another one wakes it, as those of a pool do: none that works, or
// sleeps for a while. False where that cannot be seen.
bool others_wait(pid_t process);

}  // namespace assay
