// Attributes: texts as UTF-8 of fixed length, because HDF5 keeps texts of variable length without a checksum.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "hdf5.h"

namespace assay::hdf5 {
namespace {

constexpr hsize_t kMostTexts = 1'000'000;
constexpr std::size_t kMostTextBytes = std::size_t{1} << 30;

Handle text_type(std::size_t length) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "HDF5 cannot make a type");
  // HDF5 has no type of length 0.
  checked(H5Tset_size(type, std::max<std::size_t>(length, 1)), "HDF5 cannot make a type");
  checked(H5Tset_strpad(type, H5T_STR_NULLPAD), "HDF5 cannot make a type");
  checked(H5Tset_cset(type, H5T_CSET_UTF8), "HDF5 cannot make a type");
  return type;
}

void write_attribute(hid_t object, const std::string& name, hid_t type, hid_t space, const void* data) {
  const std::string what = fmt::format("attribute {} cannot be written", name);
  const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         what);
  checked(H5Awrite(attribute, type, data), what);
}

Handle scalar_space() { return {H5Screate(H5S_SCALAR), H5Sclose, "HDF5 cannot make a space"}; }

struct Attribute {
  Attribute(hid_t object, const std::string& attribute_name)
      : name(attribute_name),
        id(open(object, attribute_name)),
        type(H5Aget_type(id), H5Tclose, unreadable()),
        space(H5Aget_space(id), H5Sclose, unreadable()) {}

  std::string unreadable() const { return fmt::format("attribute {} cannot be read", name); }
  H5T_class_t kind() const { return H5Tget_class(type); }
  bool is_scalar() const { return H5Sget_simple_extent_type(space) == H5S_SCALAR; }
  std::size_t count() const {
    return static_cast<std::size_t>(checked(H5Sget_simple_extent_npoints(space), unreadable()));
  }

  std::string name;
  Handle id, type, space;

 private:
  static Handle open(hid_t object, const std::string& name) {
    if (!has_attribute(object, name)) throw Error(fmt::format("attribute {} is missing", name));
    return {H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose,
            fmt::format("attribute {} cannot be read", name)};
  }
};

std::string up_to_padding(const char* text, std::size_t length) {
  while (length > 0 && text[length - 1] == '\0') --length;
  return {text, length};
}

std::vector<std::string> texts_of(const Attribute& attribute) {
  if (attribute.kind() != H5T_STRING) throw Error(fmt::format("attribute {} is not text", attribute.name));
  if (H5Tis_variable_str(attribute.type) != 0)
    throw Error(
        fmt::format("attribute {} is text of variable length, which HDF5 keeps without a checksum; write it "
                    "with a fixed length (numpy.bytes_ in h5py)",
                    attribute.name));
  const std::size_t count = attribute.count();
  const std::size_t length = H5Tget_size(attribute.type);
  if (count > kMostTexts || length > kMostTextBytes / std::max<std::size_t>(count, 1))
    throw Error(fmt::format("attribute {} is too large", attribute.name));
  std::string bytes(count * length, '\0');
  if (count > 0) checked(H5Aread(attribute.id, attribute.type, bytes.data()), attribute.unreadable());
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(up_to_padding(bytes.data() + i * length, length));
  return values;
}

}  // namespace

void write_text(hid_t object, const std::string& name, const std::string& value) {
  const Handle type = text_type(value.size());
  const Handle space = scalar_space();
  write_attribute(object, name, type, space, value.c_str());
}

void write_texts(hid_t object, const std::string& name, const std::vector<std::string>& values) {
  std::size_t length = 1;
  for (const std::string& value : values) length = std::max(length, value.size());
  std::string bytes;
  for (const std::string& value : values) {
    bytes += value;
    bytes.append(length - value.size(), '\0');
  }
  const Handle type = text_type(length);
  const hsize_t count = values.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, "HDF5 cannot make a space");
  write_attribute(object, name, type, space, bytes.data());
}

void write_number(hid_t object, const std::string& name, std::uint64_t value) {
  const Handle space = scalar_space();
  write_attribute(object, name, H5T_NATIVE_UINT64, space, &value);
}

bool has_attribute(hid_t object, const std::string& name) {
  return checked(H5Aexists(object, name.c_str()), fmt::format("attribute {} cannot be looked up", name)) > 0;
}

std::vector<std::string> attributes(hid_t object) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* result) -> herr_t {
    static_cast<std::vector<std::string>*>(result)->emplace_back(name);
    return 0;
  };
  // Unsorted, for the reason that children() gives.
  checked(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect, &names),
          "attributes cannot be listed");
  std::sort(names.begin(), names.end());
  return names;
}

bool is_text(hid_t object, const std::string& name) {
  const Attribute attribute(object, name);
  return attribute.kind() == H5T_STRING && attribute.is_scalar() && H5Tis_variable_str(attribute.type) == 0;
}

std::string read_text(hid_t object, const std::string& name) {
  const Attribute attribute(object, name);
  std::vector<std::string> values = texts_of(attribute);
  if (values.size() != 1)
    throw Error(fmt::format("attribute {} is not one text but {}", name, values.size()));
  return values.front();
}

std::vector<std::string> read_texts(hid_t object, const std::string& name) {
  return texts_of(Attribute(object, name));
}

std::uint64_t read_number(hid_t object, const std::string& name) {
  const Attribute attribute(object, name);
  if (attribute.kind() != H5T_INTEGER || attribute.count() != 1 || H5Tget_size(attribute.type) > 8)
    throw Error(fmt::format("attribute {} is not an integer", name));
  // Conversion to uint64 would turn a negative number into 0.
  if (H5Tget_sign(attribute.type) == H5T_SGN_2) {
    std::int64_t value = 0;
    checked(H5Aread(attribute.id, H5T_NATIVE_INT64, &value), attribute.unreadable());
    if (value < 0) throw Error(fmt::format("attribute {} is {}, below 0", name, value));
    return static_cast<std::uint64_t>(value);
  }
  std::uint64_t value = 0;
  checked(H5Aread(attribute.id, H5T_NATIVE_UINT64, &value), attribute.unreadable());
  return value;
}

}  // namespace assay::hdf5
