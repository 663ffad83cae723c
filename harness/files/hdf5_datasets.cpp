// Datasets: small ones inside the object's header, whose checksum covers them; larger ones compressed in
// chunks with a checksum each.
#include <fmt/format.h>

#include <algorithm>

#include "hdf5.h"

namespace assay::hdf5 {
namespace {

constexpr std::size_t kMostCompactBytes = 32 << 10;  // HDF5's limit is 64 KiB less the header
constexpr std::size_t kMostChunkBytes = 16 << 20;
constexpr unsigned kDeflateLevel = 1;
// Deflate shrinks by at most 1032: a dataset that claims more than that was never written.
constexpr std::size_t kMostExpansion = 1032;

// nullopt if the number of bytes does not fit.
std::optional<std::size_t> byte_count(const Shape& shape, Dtype dtype) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::size_t total = static_cast<std::size_t>(bytes(dtype));
  for (const std::int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(total, static_cast<std::size_t>(size), &total))
      return std::nullopt;
  return total;
}

Handle make_space(const Shape& shape) {
  if (shape.empty()) return {H5Screate(H5S_SCALAR), H5Sclose, "HDF5 cannot make a space"};
  const std::vector<hsize_t> sizes(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose,
          "HDF5 cannot make a space"};
}

// The whole tensor, cut along its outer dimensions until a chunk is small enough.
std::vector<hsize_t> chunk_of(const Shape& shape, Dtype dtype) {
  std::vector<hsize_t> chunk(shape.begin(), shape.end());
  std::size_t size = *byte_count(shape, dtype);
  for (hsize_t& extent : chunk) {
    if (size <= kMostChunkBytes) break;
    const std::size_t inner = size / extent;
    extent = std::max<hsize_t>(1, kMostChunkBytes / inner);
    size = inner * extent;
  }
  return chunk;
}

Handle storage_plan(const Shape& shape, Dtype dtype, std::size_t size) {
  Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "HDF5 cannot make a property list");
  const char* refused = "HDF5 refuses a property";
  checked(H5Pset_obj_track_times(plan, false), refused);
  if (size <= kMostCompactBytes) {
    checked(H5Pset_layout(plan, H5D_COMPACT), refused);
    return plan;
  }
  const std::vector<hsize_t> chunk = chunk_of(shape, dtype);
  checked(H5Pset_chunk(plan, static_cast<int>(chunk.size()), chunk.data()), refused);
  checked(H5Pset_shuffle(plan), refused);
  checked(H5Pset_deflate(plan, kDeflateLevel), refused);
  // Last, so that a reader checks the bytes before it unpacks them.
  checked(H5Pset_fletcher32(plan), refused);
  return plan;
}

Dtype dtype_of_type(hid_t type) {
  for (const Dtype dtype :
       {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8})
    if (H5Tequal(type, storage_type(dtype)) > 0) return dtype;
  throw Error("its HDF5 type is that of no dtype, and it has no attribute dtype");
}

Dtype labelled_dtype(hid_t dataset, hid_t type) {
  if (!has_attribute(dataset, "dtype")) return dtype_of_type(type);
  const std::string label = read_text(dataset, "dtype");
  const std::optional<Dtype> dtype = dtype_named(label);
  if (!dtype) throw Error(fmt::format("attribute dtype is \"{}\", which is no dtype", label));
  if (H5Tequal(type, storage_type(*dtype)) <= 0)
    throw Error(fmt::format("its HDF5 type does not hold {}, which its attribute dtype says", label));
  return *dtype;
}

Shape shape_of(hid_t space) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) throw Error("it has no elements and no shape");
  const int rank = checked(H5Sget_simple_extent_ndims(space), "its shape cannot be read");
  std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
  checked(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), "its shape cannot be read");
  Shape shape;
  for (const hsize_t size : sizes) {
    if (size > static_cast<hsize_t>(INT64_MAX)) throw Error("its shape is too large");
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return shape;
}

// Before memory is taken for it: whether the dataset is in this file, and can be as large as it says. How much is stored.
std::size_t require_stored(hid_t dataset, std::size_t size) {
  const Handle plan(H5Dget_create_plist(dataset), H5Pclose, "its storage cannot be read");
  const H5D_layout_t layout = H5Pget_layout(plan);
  if (layout == H5D_VIRTUAL || (layout == H5D_CONTIGUOUS && H5Pget_external_count(plan) != 0))
    throw Error("its data is kept in another file");
  const std::size_t stored = H5Dget_storage_size(dataset);
  if (stored < size / kMostExpansion || (size > 0 && stored == 0))
    throw Error(fmt::format("its shape needs {} bytes, but only {} are stored", size, stored));
  return stored;
}

Array read_here(hid_t group, const std::string& name, Budget* budget) try {
  const Handle dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT), H5Dclose, "it cannot be read");
  const Handle type(H5Dget_type(dataset), H5Tclose, "its type cannot be read");
  const Handle space(H5Dget_space(dataset), H5Sclose, "its shape cannot be read");

  Array array;
  array.shape = shape_of(space);
  array.dtype = labelled_dtype(dataset, type);
  const std::optional<std::size_t> size = byte_count(array.shape, array.dtype);
  if (!size) throw Error(fmt::format("its shape {} is too large", text(array.shape)));
  const std::size_t stored = *size == 0 ? 0 : require_stored(dataset, *size);
  if (budget != nullptr) budget->take(stored);
  if (*size == 0) return array;
  array.data.resize(*size);
  checked(H5Dread(dataset, storage_type(array.dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, array.data.data()),
          "its data is damaged");
  return array;
} catch (const Error& error) {
  throw Error(fmt::format("dataset {}: {}", name, error.what()));
}

}  // namespace

Handle storage_type(Dtype dtype) {
  const auto copy = [](hid_t type) { return Handle(H5Tcopy(type), H5Tclose, "HDF5 cannot make a type"); };
  switch (dtype) {
    case Dtype::f64:
      return copy(H5T_IEEE_F64LE);
    case Dtype::f32:
      return copy(H5T_IEEE_F32LE);
    case Dtype::f16: {
      Handle half =
          copy(H5T_IEEE_F32LE);  // made narrower: sign at bit 15, 5 bits of exponent, 10 of mantissa
      checked(H5Tset_fields(half, 15, 10, 5, 0, 10), "HDF5 cannot make a type");
      checked(H5Tset_precision(half, 16), "HDF5 cannot make a type");
      checked(H5Tset_size(half, 2), "HDF5 cannot make a type");
      checked(H5Tset_ebias(half, 15), "HDF5 cannot make a type");
      return half;
    }
    case Dtype::bf16:
      return copy(H5T_STD_U16LE);
    case Dtype::i64:
      return copy(H5T_STD_I64LE);
    case Dtype::i32:
      return copy(H5T_STD_I32LE);
    case Dtype::i16:
      return copy(H5T_STD_I16LE);
    case Dtype::i8:
      return copy(H5T_STD_I8LE);
    case Dtype::f8e4m3:
    case Dtype::f8e5m2:
    case Dtype::u8:
    case Dtype::boolean:
      break;
  }
  return copy(H5T_STD_U8LE);
}

void write_dataset(hid_t group, const std::string& name, Dtype dtype, const Shape& shape,
                   std::span<const std::byte> data, bool labelled) {
  const std::optional<std::size_t> size = byte_count(shape, dtype);
  if (!size || *size != data.size())
    throw Error(fmt::format("{} has {} bytes of data, which is not {}[{}]", name, data.size(),
                            assay::name(dtype), text(shape)));
  if (shape.size() > H5S_MAX_RANK)
    throw Error(fmt::format("{} has {} dimensions; HDF5 allows {}", name, shape.size(), H5S_MAX_RANK));
  const Handle type = storage_type(dtype);
  const Handle space = make_space(shape);
  const Handle plan = storage_plan(shape, dtype, *size);
  const std::string what = fmt::format("{} cannot be written", name);
  const Handle dataset(H5Dcreate2(group, name.c_str(), type, space, H5P_DEFAULT, plan, H5P_DEFAULT), H5Dclose,
                       what);
  // The same type in memory and in the file: nothing is converted, so NaN payloads survive.
  if (*size > 0) checked(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), what);
  if (labelled) write_text(dataset, "dtype", std::string(assay::name(dtype)));
}

Array read_dataset(hid_t group, const std::string& name, Budget* budget) {
  if (is_group(group, name)) throw Error(fmt::format("{} is a group, not a dataset", name));
  return read_here(group, name, budget);
}

}  // namespace assay::hdf5
