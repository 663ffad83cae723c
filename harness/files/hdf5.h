// The part of HDF5's C API that we use, as values that close themselves and functions that throw.
//
// HDF5 keeps global state: hold a Session while calling anything here. It admits one thread at a time and
// silences the printing of HDF5's error stack.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vocabulary/dtype.h"
#include "vocabulary/shape_rule.h"

namespace assay::hdf5 {

// What went wrong, in plain words, with the reason that HDF5 gave; the file is for the caller to name.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

// Throws Error "what: reason".
[[noreturn]] void fail(const std::string& what);

// The result of a call that says by a negative number that it failed.
template <class Result>
Result checked(Result result, const std::string& what) {
  if (result < 0) fail(what);
  return result;
}

// A file, group, dataset, type, space, attribute or property list.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close closer, const std::string& what) : id_(checked(id, what)), close_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }
  // For what only closing tells: throws Error.
  void close(const std::string& what) { checked(close_(std::exchange(id_, H5I_INVALID_HID)), what); }

 private:
  hid_t id_;
  Close close_;
};

// ---- Files in memory --------------------------------------------------------------------------------------

// The bytes of a file whose root group `fill` fills.
std::string build_file(const std::function<void(hid_t)>& fill);
// The file that these bytes are, read-only.
Handle open_image(std::span<const std::byte> bytes);

// How much may still be read of a file: each byte once. Hard links make one object many, which would all be read.
class Budget {
 public:
  explicit Budget(std::size_t file) : file_(file), left_(file) {}
  // For an object of which so many bytes are stored, besides its header. Throws Error.
  void take(std::size_t stored);

 private:
  std::size_t file_, left_;
};

// ---- Groups -----------------------------------------------------------------------------------------------

Handle create_group(hid_t parent, const std::string& name);
// Throws Error if it is missing, a link to elsewhere, or something other than a group.
Handle open_group(hid_t parent, const std::string& name);
bool contains(hid_t group, const std::string& name);
// Throws Error if it is missing or a link to elsewhere.
bool is_group(hid_t parent, const std::string& name);
std::vector<std::string> children(hid_t group);  // their names, sorted

// ---- Attributes -------------------------------------------------------------------------------------------

void write_text(hid_t object, const std::string& name, const std::string& value);
void write_texts(hid_t object, const std::string& name, const std::vector<std::string>& values);
void write_number(hid_t object, const std::string& name, std::uint64_t value);
bool has_attribute(hid_t object, const std::string& name);
std::vector<std::string> attributes(hid_t object);  // their names, sorted
// Whether it is one text. The readers below throw Error if the attribute is missing or something else.
bool is_text(hid_t object, const std::string& name);
std::string read_text(hid_t object, const std::string& name);
std::vector<std::string> read_texts(hid_t object, const std::string& name);
std::uint64_t read_number(hid_t object, const std::string& name);

// ---- Datasets ---------------------------------------------------------------------------------------------

// How elements of this dtype lie in a file. Little-endian, so that equal tensors make equal files.
Handle storage_type(Dtype dtype);

// data: packed, row-major. With `labelled` the dtype's name becomes the attribute `dtype`.
void write_dataset(hid_t group, const std::string& name, Dtype dtype, const Shape& shape,
                   std::span<const std::byte> data, bool labelled);

struct Array {
  Dtype dtype = Dtype::f32;
  Shape shape;
  std::vector<std::byte> data;
};
// The dtype is that of the attribute `dtype`, or else that of the HDF5 type. Throws Error if the dataset is
// missing, a link to elsewhere, of a type that does not hold its dtype, or holds less data than its shape
// says, or more than the budget has.
Array read_dataset(hid_t group, const std::string& name, Budget* budget = nullptr);

}  // namespace assay::hdf5
