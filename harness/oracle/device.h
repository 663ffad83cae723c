// Torch on a GPU: where tensors go, and its clock (assay/device_timing.h).
#pragma once

#include <assay/device_timing.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensors.h"

namespace assay::oracle {

class TorchDevice {
 public:
  // The GIL is held, as for every function here but those of timing().
  TorchDevice(const py::module_& torch, const Tensors& tensors, std::string name);

  // "cuda" if torch was built with CUDA; for tests, what ASSAY_TORCH_CUDA names ("cpu").
  static std::optional<std::string> named(const py::module_& torch);

  // The contract of torch's kernels on a GPU, for any operator.
  static const char* contract();

  // Why there is none, or null; for the last device that was made. Found out by a process of its own, so that this one, which
  // forks, never starts the driver. The GIL need not be held.
  static const char* missing();

  // A copy of the tensor there, in the same strides; of memory that is held, that copy. Throws as Tensors::wrap() does.
  py::object there(const assay_tensor& tensor) const;
  // The same of zeros.
  py::object zeros(const assay_tensor& tensor) const;

  // `call`, and after it a copy of each of its results to the tensor there in its place; None: no copy. It returns these.
  py::object with_copies(const py::object& call, const py::tuple& to) const;

  // Of the last device that was made. Its functions may be called by one thread.
  static const assay_device_timing* timing();

 private:
  struct Piece {
    const std::byte* begin;
    std::size_t bytes;
    std::vector<py::object> copies;  // of 8-bit integers
  };
  friend struct TorchTiming;

  // Elements from the first to the last that the strides reach, in one dimension.
  static assay_tensor in_a_row(const assay_tensor& tensor, std::int64_t& count);

  const Tensors& tensors_;
  py::dict python_;  // the names of the code that runs in Python
  py::object device_;
  std::vector<Piece> pieces_;
  std::size_t copy_ = 0;
  // Calls with their tensors there, by the call and the copy.
  std::map<std::pair<const assay_call*, std::size_t>, py::object> prepared_;
  py::object result_;  // of the last call that was timed
  const assay_call* called_ = nullptr;
};

}  // namespace assay::oracle
