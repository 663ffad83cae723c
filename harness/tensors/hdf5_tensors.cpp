#include "hdf5_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "../files/hdf5.h"
#include "layout.h"

namespace assay::tensors {
namespace {

using hdf5::checked;
using hdf5::Handle;

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr std::size_t kFirstUserBlock = 512;  // signatures stand at 0, 512, 1024, 2048, ..
constexpr int kDeepestGroup = 100;

// An enumeration of two, FALSE = 0 and TRUE = 1, over 8 bits.
bool is_h5py_bool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  for (const auto& [name, number] : {std::pair("FALSE", 0), std::pair("TRUE", 1)}) {
    std::int8_t value = -1;
    if (H5Tenum_valueof(type, name, &value) < 0 || value != number) return false;
  }
  return true;
}

struct Stored {
  std::string path;
  bool big_endian = false;  // what HDF5 converts when it reads
  bool is_enum = false;
  std::span<const std::byte> plain;  // where the file is mapped, if it lies there as it should
  bool is_plain = false;
};

// The type in the file, whether big-endian or not, in the form of hdf5::storage_type().
bool holds(hid_t type, Dtype dtype, Stored& stored) {
  if (H5Tequal(type, hdf5::storage_type(dtype)) > 0) return true;
  const Handle big = hdf5::storage_type(dtype);
  checked(H5Tset_order(big, H5T_ORDER_BE), "HDF5 cannot make a type");
  stored.big_endian = H5Tequal(type, big) > 0;
  return stored.big_endian;
}

std::optional<Dtype> dtype_of(hid_t dataset, hid_t type, Stored& stored, const Place& place) {
  if (hdf5::has_attribute(dataset, "dtype") && hdf5::is_text(dataset, "dtype")) {
    const std::string label = hdf5::read_text(dataset, "dtype");
    if (const std::optional<Dtype> dtype = dtype_named(label)) {
      if (!holds(type, *dtype, stored))
        place.fail(
            fmt::format("attribute dtype is {}, and its HDF5 type does not hold that", in_quotes(label)));
      return dtype;
    }
  }
  stored.is_enum = is_h5py_bool(type);
  if (stored.is_enum) return Dtype::boolean;
  for (const Dtype d :
       {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8})
    if (holds(type, d, stored)) return d;
  return std::nullopt;
}

std::string type_name(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{} integers of {} bytes", H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned" : "signed",
                         size);
    case H5T_FLOAT:
      return fmt::format("floats of {} bytes that are not IEEE's", size);
    case H5T_STRING:
      return "texts";
    case H5T_COMPOUND:
      return "a compound of fields (h5py writes complex numbers so)";
    case H5T_ENUM:
      return "an enumeration";
    case H5T_OPAQUE:
      return fmt::format("opaque values of {} bytes", size);
    default:
      return "no numbers";
  }
}

class Hdf5 : public TensorFile {
 public:
  explicit Hdf5(FileBytes file) : TensorFile(file.name), map_(std::move(file)), file_(open(map_.name)) {}
  ~Hdf5() override {
    const hdf5::Session session;
    H5Fclose(file_);
  }

  void list_all() {
    const Place whole{path(), ""};
    try {
      const hdf5::Session session;
      const Handle root(H5Gopen2(file_, "/", H5P_DEFAULT), H5Gclose, "it has no groups");
      list(root, "", 0);
    } catch (const hdf5::Error& e) {
      whole.fail(e.what());
    }
  }

  RecordedTensor read(const TensorEntry& entry) const override {
    const Place place{path(), entry.name};
    try {
      return with_memory(place, entry.size, [&] { return read_stored(entry); });
    } catch (const hdf5::Error& e) {
      place.fail(e.what());
    }
  }

  std::optional<std::span<const std::byte>> view(const TensorEntry& entry) const override {
    const Stored& stored = stored_.at(entry.index);
    if (!stored.is_plain) return std::nullopt;
    return stored.plain;
  }

 private:
  RecordedTensor read_stored(const TensorEntry& entry) const {
    const Stored& stored = stored_.at(entry.index);
    RecordedTensor t{entry.dtype, entry.shape, {}};
    if (stored.is_plain) {
      t.data.assign(stored.plain.begin(), stored.plain.end());
      return t;
    }
    if (entry.size == 0) return t;
    const hdf5::Session session;
    t.data.resize(entry.size);
    const Handle dataset(H5Dopen2(file_, stored.path.c_str(), H5P_DEFAULT), H5Dclose, "it cannot be opened");
    // An enumeration is read as it is: between it and integers, HDF5 converts nothing.
    const Handle type = stored.is_enum ? Handle(H5Dget_type(dataset), H5Tclose, "its type cannot be read")
                                       : hdf5::storage_type(entry.dtype);
    checked(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, t.data.data()), "its data is damaged");
    return t;
  }

  static hid_t open(const std::string& path) {
    const hdf5::Session session;
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
      try {
        hdf5::fail("it is cut short or damaged, or another program has it open for writing");
      } catch (const hdf5::Error& e) {
        Place{path, ""}.fail(e.what());
      }
    }
    return file;
  }

  void list(hid_t group, const std::string& prefix, int depth) {
    // Groups may contain themselves by hard links; each is listed once, under the first of its names.
    H5O_info_t info;
    checked(H5Oget_info(group, &info), fmt::format("group \"/{}\" is damaged", prefix));
    if (!groups_.insert(info.addr).second) return;
    if (depth > kDeepestGroup)
      Place{path(), prefix}.fail(fmt::format("its groups are nested more than {} deep", kDeepestGroup));
    for (const std::string& name : hdf5::children(group)) {
      const std::string full = prefix + name;
      const Place place{path(), full};
      try {
        H5L_info_t link;
        checked(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT), "its link is damaged");
        if (link.type != H5L_TYPE_HARD)
          place.unsupported("it is a link to another place; give that file or name");
        const Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose, "it cannot be opened");
        if (H5Iget_type(object) == H5I_GROUP) list(object, full + "/", depth + 1);
        if (H5Iget_type(object) == H5I_DATASET) add_dataset(object, full, place);
      } catch (const Unsupported& e) {
        unsupported_.push_back({full, e.what()});
      } catch (const hdf5::Error& e) {
        place.fail(e.what());
      }
    }
  }

  void add_dataset(hid_t dataset, const std::string& full, const Place& place) {
    Stored stored;
    stored.path = full;
    const Handle type(H5Dget_type(dataset), H5Tclose, "its type cannot be read");
    const std::optional<Dtype> dtype = dtype_of(dataset, type, stored, place);
    if (!dtype)
      place.unsupported(fmt::format("its HDF5 type is {}, which Assay has no dtype for", type_name(type)));
    Shape shape = shape_of(dataset, place);
    const std::size_t size = byte_count(shape, *dtype, place, "shape");
    require_stored(dataset, size, place);
    // Where data begins that lies in one piece and uncompressed, HDF5 tells.
    const haddr_t begin = H5Dget_offset(dataset);
    if (begin != HADDR_UNDEF && size > 0 && !stored.big_endian) {
      if (begin > map_.bytes.size() || size > map_.bytes.size() - begin)
        place.fail(fmt::format("its data, {} bytes from {}, goes beyond the file's {}", size, begin,
                               map_.bytes.size()));
      stored.plain = map_.bytes.subspan(static_cast<std::size_t>(begin), size);
      stored.is_plain = true;
    }
    add(full, *dtype, std::move(shape), size);
    stored_.push_back(std::move(stored));
  }

  static Shape shape_of(hid_t dataset, const Place& place) {
    const Handle space(H5Dget_space(dataset), H5Sclose, "its shape cannot be read");
    if (H5Sget_simple_extent_type(space) == H5S_NULL) place.unsupported("it has no elements and no shape");
    const int rank = checked(H5Sget_simple_extent_ndims(space), "its shape cannot be read");
    std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
    checked(H5Sget_simple_extent_dims(space, sizes.data(), nullptr), "its shape cannot be read");
    Shape shape;
    for (const hsize_t n : sizes) {
      if (n > static_cast<hsize_t>(INT64_MAX)) place.fail(fmt::format("shape has the size {}", n));
      shape.push_back(static_cast<std::int64_t>(n));
    }
    return shape;
  }

  // Before memory is taken for it: whether the dataset is in this file, and can be as large as it says.
  static void require_stored(hid_t dataset, std::size_t size, const Place& place) {
    const Handle plan(H5Dget_create_plist(dataset), H5Pclose, "its storage cannot be read");
    const H5D_layout_t layout = H5Pget_layout(plan);
    if (layout == H5D_VIRTUAL || (layout == H5D_CONTIGUOUS && H5Pget_external_count(plan) != 0))
      place.unsupported("its data is kept in another file");
    const std::size_t stored = H5Dget_storage_size(dataset);
    if (stored < size / kMostExpansion || (size > 0 && stored == 0))
      place.fail(fmt::format("its shape needs {} bytes, and {} are stored", size, stored));
  }

  FileBytes map_;
  hid_t file_;
  std::set<haddr_t> groups_;
  std::vector<Stored> stored_;
};

}  // namespace

bool looks_like_hdf5(const FileBytes& file) {
  const std::string_view text = file.text();
  if (text.starts_with(kSignature)) return true;
  for (std::size_t at = kFirstUserBlock; at < text.size(); at *= 2)
    if (text.substr(at).starts_with(kSignature)) return true;
  return false;
}

std::unique_ptr<TensorFile> open_hdf5(FileBytes file) {
  auto tensors = std::make_unique<Hdf5>(std::move(file));
  tensors->list_all();
  return tensors;
}

}  // namespace assay::tensors
