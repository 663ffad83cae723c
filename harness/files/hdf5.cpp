#include "hdf5.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace assay::hdf5 {
namespace {

constexpr std::size_t kEndOfFileAddress = 28;  // in the superblock, versions 2 and 3
constexpr std::size_t kLeastHeader = 32;       // of an object; those of datasets have 50 bytes and more

std::mutex& session_mutex() {
  static std::mutex mutex;
  return mutex;
}

// The description at the root of HDF5's error stack, such as "incorrect metadata checksum after all read
// attempts".
std::string reason() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* result) -> herr_t {
        std::string& description = *static_cast<std::string*>(result);
        if (description.empty() && error->desc != nullptr) description = error->desc;
        return 0;
      },
      &text);
  return text;
}

// HDF5 knows open files by their names, even where there is none on the disk.
std::string unused_name() {
  static std::uint64_t files = 0;
  return fmt::format("memory {}", files++);
}

Handle property_list(hid_t kind) { return {H5Pcreate(kind), H5Pclose, "HDF5 cannot make a property list"}; }

void* resized(void* bytes, std::size_t size) try {
  std::string& memory = *static_cast<std::string*>(bytes);
  memory.resize(size);
  return memory.data();
} catch (const std::exception&) {
  return nullptr;  // HDF5 then says that memory ran out
}

// Nothing of HDF5's 1.8 formats (whose metadata has no checksums), nothing newer than 1.10, which everybody
// reads.
Handle file_access() {
  Handle access = property_list(H5P_FILE_ACCESS);
  checked(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110),
          "HDF5 lacks the file format of 1.10");
  checked(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "HDF5 refuses a property");
  checked(H5Pset_fapl_core(access, 1 << 16, false), "HDF5 cannot keep files in memory");
  return access;
}

// Equal content makes equal bytes: no creation times. Attributes stay in the object's header.
template <class Id>
void set_reproducible(const Id& creation) {
  checked(H5Pset_obj_track_times(creation, false), "HDF5 refuses a property");
  checked(H5Pset_attr_phase_change(creation, 64, 32), "HDF5 refuses a property");
}

// HDF5's file in memory grows inside of `bytes`, which has all of it once the file is closed.
// (H5Fget_file_image() would return a superblock whose checksum is wrong: it clears a flag there.)
void keep_memory_in(hid_t access, std::string& bytes) {
  H5FD_file_image_callbacks_t callbacks{};
  callbacks.image_malloc = [](std::size_t size, H5FD_file_image_op_t, void* data) {
    return resized(data, size);
  };
  callbacks.image_memcpy = [](void* to, const void* from, std::size_t size, H5FD_file_image_op_t, void*) {
    return std::memcpy(to, from, size);
  };
  callbacks.image_realloc = [](void*, std::size_t size, H5FD_file_image_op_t, void* data) {
    return resized(data, size);
  };
  callbacks.image_free = [](void*, H5FD_file_image_op_t, void*) -> herr_t { return 0; };
  callbacks.udata_copy = [](void* data) { return data; };
  callbacks.udata_free = [](void*) -> herr_t { return 0; };
  callbacks.udata = &bytes;
  checked(H5Pset_file_image_callbacks(access, &callbacks), "HDF5 refuses a property");
}

// A soft or external link could lead anywhere, even to another file.
void require_here(hid_t parent, const std::string& name) {
  H5L_info_t info;
  if (!contains(parent, name)) throw Error(fmt::format("{} is missing", name));
  checked(H5Lget_info(parent, name.c_str(), &info, H5P_DEFAULT), fmt::format("{} cannot be read", name));
  if (info.type != H5L_TYPE_HARD) throw Error(fmt::format("{} is a link to another place", name));
}

}  // namespace

Session::Session() : lock_(session_mutex()) {
  // After it has met a damaged object, HDF5 prints "infinite loop closing library" from its exit handler.
  static const herr_t without_exit_handler = H5dont_atexit();
  static_cast<void>(without_exit_handler);
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Session::~Session() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }

void fail(const std::string& what) {
  std::string why = reason();
  if (why.find("bad version number") != std::string::npos)
    why +=
        ": written for readers newer than HDF5 1.10, which h5py does without libver or with libver=(\"v110\", \"v110\") not";
  throw Error(why.empty() ? what : fmt::format("{} (HDF5: {})", what, why));
}

std::string build_file(const std::function<void(hid_t)>& fill) {
  std::string bytes;
  Handle creation = property_list(H5P_FILE_CREATE);
  set_reproducible(creation);
  const Handle access = file_access();
  keep_memory_in(access, bytes);
  Handle file(H5Fcreate(unused_name().c_str(), H5F_ACC_TRUNC, creation, access), H5Fclose,
              "HDF5 cannot make a file");
  fill(file);
  file.close("HDF5 cannot finish the file");
  // HDF5 takes memory in steps; where the file ends stands in the superblock.
  std::uint64_t end = 0;
  std::memcpy(&end, bytes.data() + kEndOfFileAddress, sizeof end);
  bytes.resize(static_cast<std::size_t>(end));
  return bytes;
}

Handle open_image(std::span<const std::byte> bytes) {
  const Handle access = file_access();
  // HDF5 copies the image before it changes anything.
  checked(H5Pset_file_image(access, const_cast<std::byte*>(bytes.data()), bytes.size()),
          "it cannot be loaded");
  return {H5Fopen(unused_name().c_str(), H5F_ACC_RDONLY, access), H5Fclose, "it is truncated or damaged"};
}

void Budget::take(std::size_t stored) {
  if (left_ < kLeastHeader || left_ - kLeastHeader < stored)
    throw Error(fmt::format(
        "with it, more than the file's {} bytes would be read: hard links make one object many", file_));
  left_ -= kLeastHeader + stored;
}

Handle create_group(hid_t parent, const std::string& name) {
  const Handle creation = property_list(H5P_GROUP_CREATE);
  set_reproducible(creation);
  return {H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose,
          fmt::format("{} cannot be written", name)};
}

Handle open_group(hid_t parent, const std::string& name) {
  if (!is_group(parent, name)) throw Error(fmt::format("{} is not a group", name));
  return {H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, fmt::format("{} cannot be read", name)};
}

bool contains(hid_t group, const std::string& name) {
  return checked(H5Lexists(group, name.c_str(), H5P_DEFAULT), fmt::format("{} cannot be looked up", name)) >
         0;
}

bool is_group(hid_t parent, const std::string& name) {
  require_here(parent, name);
  const Handle object(H5Oopen(parent, name.c_str(), H5P_DEFAULT), H5Oclose,
                      fmt::format("{} cannot be read", name));
  return H5Iget_type(object) == H5I_GROUP;
}

std::vector<std::string> children(hid_t group) {
  std::vector<std::string> names;
  // Unsorted: on its way to sorted names, HDF5 1.10 frees what it never set when the group is damaged.
  const auto collect = [](hid_t, const char* name, const auto*, void* result) -> herr_t {
    static_cast<std::vector<std::string>*>(result)->emplace_back(name);
    return 0;
  };
  checked(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect, &names),
          "a group cannot be listed");
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace assay::hdf5
