// Graphs of what PyTorch programs compute.
//
//   const TorchGraph g = graph_of_torch({.file = "model.py"});     // its Model, called with what its get_inputs() returns
//   g.json                                                         // assay.graph/1, see graph_file.h
//
// The program is a Python file. It is traced by harness/python/graph.py, in PyTorch's own process, without computing anything.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace assay {

struct TorchProgram {
  std::string file;
  std::string
      member{};  // a function, or a module or its class; empty: Model, else model, else the only function
  std::string name{};                 // of the graph; empty: from the file's
  std::vector<std::string> inputs{};  // "f32[2x3]"; none: what get_inputs() of the file returns
};

struct TorchGraph {
  std::string json;
  std::vector<std::string> notes;  // what is worth knowing of it
  std::string printed;             // by the program
};

// What the program does is no graph. The message names the place in the file.
struct NoTorchGraph : std::runtime_error {
  NoTorchGraph(const std::string& what, std::string printed_before)
      : std::runtime_error(what), printed(std::move(printed_before)) {}
  std::string printed;
};
// There is no PyTorch. The message says what to install.
struct NoTorch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Operators must have been enrolled. Throws the above.
TorchGraph graph_of_torch(const TorchProgram& program);

}  // namespace assay
