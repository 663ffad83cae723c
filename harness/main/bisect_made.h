// What `assay bisect` compares, where it makes the trace or the dump itself: of a PyTorch program, and of an engine's model.
//
//   assay bisect model.py model.onnx        records the program, and runs ONNX Runtime on what the program gave its model
//
// The files lie in a folder of their own in that of results: bisect-model/trace.h5, onnxruntime.safetensors, onnxruntime.nodes.json. A run
// that ends early leaves none of which it cannot be said what they are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay {

struct MadeFlags {
  std::string engine;                    // --engine; empty: that of the model's file
  std::vector<std::string> inputs;       // NAME=FILE.npy
  std::vector<std::string> options;      // NAME=VALUE of the engine's
  std::vector<std::string> arguments;    // of the program
  std::uint64_t call = 1;                // of an outermost module
  std::optional<std::uint64_t> limit;    // of the trace, in bytes
  bool any_of_engine() const { return !engine.empty() || !inputs.empty() || !options.empty(); }
};

// "model.py"
bool is_program(const std::string& trace);
// "model.onnx", "model.xml", "model.param", "engine.py:run"
bool is_model(const std::string& dump);

// The trace and the dump that are to be compared.
struct ToCompare {
  std::string trace, dump;  // as they were given, or the files that were made
  std::string nodes;        // about the dump, assay.engine/1, if an engine was run
  std::optional<int> ended;  // the exit code, if there is nothing to compare, which was said
};

class MadeFiles {
 public:
  // Makes the trace if `trace` is a program, and the dump if `dump` is a model. Throws UsageError that says what is wrong with the program,
  // the model or the inputs.
  MadeFiles(const std::string& trace, const std::string& dump, const MadeFlags& flags);
  ~MadeFiles();
  MadeFiles(const MadeFiles&) = delete;
  MadeFiles& operator=(const MadeFiles&) = delete;

  const ToCompare& files() const { return files_; }

 private:
  void take_folder(const std::string& name);
  std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }
  void record_program(const std::string& script, const std::string& exported);
  void run_engine(const std::string& model);
  void remove_parts() const;
  void remove_earlier() const;

  const MadeFlags& flags_;
  ToCompare files_;
  std::string folder_;
  int lock_ = -1;  // so that another run at the same time takes another folder
};

}  // namespace assay
