// How elements lie in a file, and the errors that all formats share.
#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../files/case_file.h"

namespace assay::tensors {

// A tensor that is well-formed, but of a kind that Assay has not. Files of several tensors go on without it.
struct Unsupported : FileError {
  using FileError::FileError;
};

// What a message speaks of. Throws FileError "cannot read FILE: tensor NAME: WHAT", or the same as Unsupported.
struct Place {
  std::string_view file;
  std::string_view tensor;  // empty: the file as a whole

  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& what) const;
};

// What `work` gives, which takes memory for so many bytes. Fails if there is none.
template <class Work>
auto with_memory(const Place& place, std::size_t bytes, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  place.fail("there is no memory for its " + std::to_string(bytes) + " bytes");
}

// A name or value from a file, in quotes; cut where it is long, with \xNN for what cannot be printed.
std::string in_quotes(std::string_view text);

// Deflate, the compression of npz and HDF5, shrinks by at most 1032 to 1.
inline constexpr std::size_t kMostExpansion = 1032;

// More dimensions than a kernel takes, and than NumPy writes.
inline constexpr std::size_t kMostDimensions = 64;

// The number of bytes of all elements. Fails, naming the field, if it cannot be that of a tensor: a size below 0, too
// many dimensions, or a product that does not fit.
std::size_t byte_count(const Shape& shape, Dtype dtype, const Place& place, std::string_view field);

struct Layout {
  bool big_endian = false;
  bool fortran_order = false;  // the first index runs fastest
};

// Whether such elements lie there as RecordedTensor has them.
bool is_plain(const Layout& layout, Dtype dtype, const Shape& shape);

// Precondition: `stored` has byte_count() bytes, which has found the shape possible.
RecordedTensor unpack(std::span<const std::byte> stored, Dtype dtype, const Shape& shape,
                      const Layout& layout);

}  // namespace assay::tensors
