// A file of PTX as nvcc writes it, of which kernels are read one by one when they are asked for.
//
// What is read is the part of the PTX ISA (version 9) that nvcc uses for our kernels; anything else is an error that names
// the instruction.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linker.h"
#include "program.h"

namespace assay::cuda::ptx {

class Module {
 public:
  // Throws std::runtime_error for what is no PTX: "line 12: WHAT: "TOKEN"".
  explicit Module(std::string text);
  Module(Module&&) = delete;
  // From a file. Throws std::runtime_error that names it.
  static std::unique_ptr<Module> of_file(const std::string& path);

  // The kernel of that plain name (below). Null if there is none. Throws std::runtime_error, as above, for what cannot be
  // interpreted.
  const Program* kernel(const std::string& name);
  std::vector<std::string> kernels() const;

 private:
  void add(const Function& f, bool entry);

  std::string text_;                            // of which all views are
  Functions functions_;                         // by mangled name
  std::map<std::string, std::string> entries_;  // from plain names to mangled ones
  std::map<std::string, std::unique_ptr<Program>> programs_;
  std::vector<std::string_view> shared_;  // declarations of shared variables outside functions
  std::map<std::uint64_t, std::string> files_;
  std::string path_;  // "FILE: ", or ""
};

// A kernel's name as its author wrote it, without arguments and without the namespace that tells GPU and emulation apart:
// "prelu_kernel<float>". `mangled` is its own or that of the type which carries it (call.h).
std::string plain_name(const char* mangled);

}  // namespace assay::cuda::ptx
