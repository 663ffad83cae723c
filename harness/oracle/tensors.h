// Our tensors as torch's, without a copy, and torch's dtypes as ours.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <stdexcept>
#include <string>

#include "vocabulary/view.h"

namespace assay::oracle {

namespace py = pybind11;

// Torch has no way to take this tensor or value; the message is the reason.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Tensors {
 public:
  // Precondition: the GIL is held, as for every function here.
  explicit Tensors(const py::module_& torch);

  // A torch tensor over the same memory, in any strides from 0 up. `tensor` and its memory must outlive it.
  // Throws Unsupported, or py::error_already_set with what torch said.
  py::object wrap(const assay_tensor& tensor) const;

  // A tensor of the same dtype and shape, all zeros. Throws as wrap() does; the data is not looked at.
  py::object zeros(const assay_tensor& tensor) const;

  // The object torch.float32 for f32. Throws Unsupported.
  py::handle dtype(assay_dtype dtype) const;

  // Copies a result of torch into an output of ours. Returns why it cannot: another dtype or shape than the output,
  // no tensor at all. Empty if it could.
  std::string store(py::handle result, const assay_tensor& output) const;

 private:
  // The torch dtype of a tensor that torch can take.
  py::handle accepted(const assay_tensor& tensor) const;
  std::string described(py::handle tensor) const;

  std::string version_;
  py::object tensor_type_;
  py::object from_dlpack_;
  py::object zeros_;
  std::array<py::object, kDtypes> dtypes_;  // empty where torch has none
  py::str dtype_name_{"dtype"}, shape_name_{"shape"}, view_name_{"view"}, copy_name_{"copy_"};
};

}  // namespace assay::oracle
