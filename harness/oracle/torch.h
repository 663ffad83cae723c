// PyTorch as a table of kernels: torch.ops.aten.<operator>, called by schema.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "call.h"
#include "tensors.h"
#include "vocabulary/operator.h"

namespace assay::oracle {

// Torch, imported. Lives as long as the process: Python objects must not be destroyed after main().
class Torch {
 public:
  // Precondition: start_interpreter() was called, and the GIL is held. Imports torch, with as many threads as
  // OMP_NUM_THREADS says. Throws Missing.
  Torch();

  // A kernel named "torch" for each operator of namespace aten, and where torch was built with CUDA one named "torch.cuda". One whose schema differs from torch's own, or that
  // torch lacks, is unavailable and says so. Valid as long as this object.
  std::vector<assay_kernel> kernels(std::span<const Operator* const> operators);

  // Why a call by this schema would not be the call of torch's operator of that name, with both texts; empty if it
  // would.
  std::string drift(std::string_view schema) const;

  const std::string& version() const { return version_; }
  std::string information() const;  // "torch 1.13.0 AVX2"

  // In a forked child, before the first call. The GIL need not be held.
  void after_fork() const;

 private:
  py::object overload(std::string_view name) const;  // null if torch has none
  void add_out(TorchOperator& entry, std::string_view name) const;

  py::module_ torch_;
  std::string version_;
  std::string capability_;
  Tensors tensors_;
  std::unique_ptr<TorchDevice> device_;  // where torch was built with CUDA
  std::deque<TorchOperator> operators_;
};

}  // namespace assay::oracle
