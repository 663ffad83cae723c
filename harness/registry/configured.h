// What CMake found, for the program to use when it runs: the one place where it is written down, so that all other sources compile
// to the same objects wherever the tree lies.
//
//   run_program(configured::python, {"-B", configured::record_script, ...});
//
// Paths are those of the machine that built the program.
#pragma once

namespace assay::configured {

extern const char* const python;         // PyTorch's, unless ASSAY_TORCH_PYTHON names another one
extern const char* const opinfo_script;  // makes fixtures of PyTorch's samples
extern const char* const record_script;  // records a model's calls
extern const char* const graph_script;   // traces a model to a graph
extern const char* const shapes;         // the folder of the cases that `assay bench` times
extern const char* const cuda_toolkit;   // nvcc's version; empty without one
extern const bool simulator_checks;      // whether kernels of the simulator report their accesses
// Why this build cannot have a part of registry/parts.h; empty if it can.
extern const char* const lacks_onednn;
extern const char* const lacks_openblas;
extern const char* const lacks_cuda;

}  // namespace assay::configured
