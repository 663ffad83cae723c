// Runs kernels as the PTX that nvcc made of them, on the processor.
//
// The lanes of a warp run together as long as they are at one instruction; where they part, those whose next instruction
// comes first go on, until all meet again. Warps run one after another from barrier to barrier: from the first to the last,
// from the last to the first, or beginning anywhere. Shared memory starts as NaN or as random bits.
//
// What ends a launch with an error, with the thread, the line of the source and the instruction: accesses out of bounds or
// misaligned, inputs that are written, a mask that names lanes which have ended or leaves the caller out, a barrier in a
// branch, threads that wait for each other without end.
//
// Instructions that approximate (ex2.approx, rsqrt.approx, ...) are exact here, but for one rounding: how far those of a GPU
// are off is the matter of contracts.
#pragma once

#include <string>

#include "../emulation/launch.h"
#include "program.h"

namespace assay::cuda::ptx {

// Throws Fault.
void run(const Program& program, const emulation::Launch& launch, const emulation::Options& options);

// A kernel of the PTX of this build, by its name as the compiler writes it; it stays as long as this thread. Throws
// std::runtime_error if there is none, or it cannot be interpreted.
const Program& program_of(const char* kernel);

// While this lives, the launches of this thread are of the PTX of this build.
class Interpreted {
 public:
  Interpreted();
  ~Interpreted();
  Interpreted(const Interpreted&) = delete;
  Interpreted& operator=(const Interpreted&) = delete;
};
// Whether one does.
bool interpreted();
// What launches call then. Throws Fault.
void run(const emulation::Launch& launch);

}  // namespace assay::cuda::ptx
