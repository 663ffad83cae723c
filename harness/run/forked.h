// Workers of a program that forks itself where another program would be started: a Python program that verifies functions which no file has.
//
// It listens on a sequenced-packet socket of the abstract namespace, "@NAME" as Environment::program. Its first packet, from here, holds the
// worker's arguments with zero bytes between them; what forked answers with its process id (4 bytes), and is the worker from then on.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "../model/kernel.h"
#include "descriptor.h"

namespace assay {

// Whether the environment is a program's that forks itself.
bool is_forked(const Environment& environment);

// Asks for a process of such an environment that begins with these arguments before the environment's own.
struct ForkedProcess {
  Descriptor socket;
  pid_t process = -1;
};
// Throws std::runtime_error where nobody listens.
ForkedProcess fork_process(const Environment& environment, std::string_view first);

}  // namespace assay
