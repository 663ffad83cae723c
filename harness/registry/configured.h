// What CMake found, for the program to use when it runs: the one place where it is written down, so that all other sources compile
// to the same objects wherever the tree lies.
//
//   run_program(configured::python, {"-B", data_file("harness/python/record.py"), ...});
//
// Paths are those of the machine that built the program: installed.h finds files where they are when it runs.
#pragma once

namespace assay::configured {

extern const char* const python;        // PyTorch's, unless ASSAY_TORCH_PYTHON names another one
extern const char* const source;        // the source tree
extern const char* const cuda_toolkit;  // nvcc's version; empty without one
extern const bool simulator_checks;     // whether kernels of the simulator report their accesses
// Why this build cannot have a part of registry/parts.h; empty if it can.
extern const char* const lacks_onednn;
extern const char* const lacks_openblas;
extern const char* const lacks_cuda;
extern const char* const lacks_simulator;
// The same of PyTorch's worker, where no other build of this kind can have it.
extern const char* const lacks_torch;

}  // namespace assay::configured
