#include "tensors.h"

#include <fmt/format.h>

#include <cstddef>
#include <memory>

#include "vocabulary/shape_rule.h"

namespace assay::oracle {
namespace {

// DLPack's DLManagedTensor; an assay_tensor is a DLTensor field for field.
struct Managed {
  assay_tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

void end(Managed* managed) { delete managed; }

// Torch renames a capsule when it takes the tensor out of it, and calls the deleter later.
void end_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") != 0)
    end(static_cast<Managed*>(PyCapsule_GetPointer(capsule, "dltensor")));
}

std::size_t index(Dtype d) { return static_cast<std::size_t>(d); }

std::string bracketed(std::string_view dtype, const Shape& shape) {
  return fmt::format("{}[{}]", dtype, text(shape));
}

}  // namespace

Tensors::Tensors(const py::module_& torch)
    : version_(py::str(torch.attr("__version__"))),
      tensor_type_(torch.attr("Tensor")),
      from_dlpack_(torch.attr("_C").attr("_from_dlpack")),
      zeros_(torch.attr("zeros")) {
  for (std::size_t i = 0; i < kDtypes; ++i) {
    const std::string name(kDtypeInfo[i].torch);
    if (py::hasattr(torch, name.c_str())) dtypes_[i] = torch.attr(name.c_str());
  }
}

py::handle Tensors::dtype(assay_dtype dtype) const {
  const std::optional<Dtype> known = dtype_of(dtype);
  if (!known) throw Unsupported(fmt::format("unknown dtype (code {}, {} bits)", dtype.code, dtype.bits));
  if (!dtypes_[index(*known)])
    throw Unsupported(fmt::format("torch {} has no {}", version_, info(*known).torch));
  return dtypes_[index(*known)];
}

py::handle Tensors::accepted(const assay_tensor& tensor) const {
  if (tensor.device.type != ASSAY_CPU) throw Unsupported("torch is called on the CPU only");
  for (int d = 0; d < tensor.ndim; ++d)
    // Torch 1.13 ends the process on these: c10::Error thrown where nothing catches it.
    if (tensor.strides[d] < 0) throw Unsupported("torch has no negative strides");
  return dtype(tensor.dtype);
}

py::object Tensors::zeros(const assay_tensor& tensor) const {
  const py::handle type = accepted(tensor);
  py::tuple shape(tensor.ndim);
  for (int d = 0; d < tensor.ndim; ++d) shape[static_cast<std::size_t>(d)] = tensor.shape[d];
  return zeros_(shape, py::arg("dtype") = type);
}

py::object Tensors::wrap(const assay_tensor& tensor) const {
  const py::handle type = accepted(tensor);
  auto managed = std::make_unique<Managed>(Managed{tensor, nullptr, end});
  // Torch ignores DLPack's byte_offset.
  managed->tensor.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  managed->tensor.byte_offset = 0;
  // DLPack had no bool when torch 1.13 was made: an 8-bit integer, viewed as bool below.
  const bool boolean = tensor.dtype.code == ASSAY_BOOL;
  if (boolean) managed->tensor.dtype.code = ASSAY_UINT;

  const auto capsule =
      py::reinterpret_steal<py::object>(PyCapsule_New(managed.get(), "dltensor", end_capsule));
  if (!capsule) throw py::error_already_set();
  managed.release();
  auto wrapped = py::reinterpret_steal<py::object>(PyObject_CallOneArg(from_dlpack_.ptr(), capsule.ptr()));
  if (wrapped && boolean)
    wrapped = py::reinterpret_steal<py::object>(
        PyObject_CallMethodOneArg(wrapped.ptr(), view_name_.ptr(), type.ptr()));
  if (!wrapped) throw py::error_already_set();
  return wrapped;
}

std::string Tensors::described(py::handle tensor) const {
  const py::object type = tensor.attr(dtype_name_);
  std::string name = py::str(type);
  for (std::size_t i = 0; i < kDtypes; ++i)
    if (dtypes_[i] && dtypes_[i].is(type)) name = kDtypeInfo[i].name;
  Shape shape;
  for (const py::handle size : tensor.attr(shape_name_)) shape.push_back(size.cast<std::int64_t>());
  return bracketed(name, shape);
}

std::string Tensors::store(py::handle result, const assay_tensor& output) const {
  const View& view = static_cast<const View&>(output);
  const auto rule = [&] {
    return bracketed(name(view.type()), Shape(view.sizes().begin(), view.sizes().end()));
  };
  if (!py::isinstance(result, tensor_type_))
    return fmt::format("torch returned {}, the rule says {}",
                       std::string(py::str(py::type::handle_of(result).attr("__name__"))), rule());

  const py::object type = result.attr(dtype_name_), shape = result.attr(shape_name_);
  bool same = type.ptr() == dtype(output.dtype).ptr() && PyTuple_GET_SIZE(shape.ptr()) == output.ndim;
  for (int d = 0; same && d < output.ndim; ++d)
    same = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), d)) == output.shape[d];
  if (!same) return fmt::format("torch returned {}, the rule says {}", described(result), rule());

  const py::object target = wrap(output);
  const auto done = py::reinterpret_steal<py::object>(
      PyObject_CallMethodOneArg(target.ptr(), copy_name_.ptr(), result.ptr()));
  if (!done) throw py::error_already_set();
  return {};
}

}  // namespace assay::oracle
