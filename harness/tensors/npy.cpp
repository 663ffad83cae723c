#include "npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "mapped_tensors.h"
#include "npy_dict.h"

namespace assay::tensors {
namespace {

struct Descr {
  std::string_view descr;  // without byte order
  Dtype dtype;
};
constexpr std::array<Descr, 12> kDescrs{{{"f8", Dtype::f64},
                                         {"f4", Dtype::f32},
                                         {"f2", Dtype::f16},
                                         {"f1", Dtype::f8e5m2},
                                         {"V2", Dtype::bf16},
                                         {"i8", Dtype::i64},
                                         {"i4", Dtype::i32},
                                         {"i2", Dtype::i16},
                                         {"i1", Dtype::i8},
                                         {"u1", Dtype::u8},
                                         {"b1", Dtype::boolean},
                                         {"?", Dtype::boolean}}};

// What a descr is that Assay has not, and what to do.
std::string explanation(std::string_view kind) {
  if (kind == "V1")
    return "one of several formats of 8 bits; save it as raw bytes, for \"raw:f8e4m3[SHAPE]@PATH\"";
  switch (kind.empty() ? '\0' : kind[0]) {
    case 'c':
      return "complex numbers; save their real and imaginary parts";
    case 'O':
      return "Python objects, which only Python can read; save the numbers in them";
    case 'S':
    case 'U':
    case 'a':
      return "texts";
    case 'M':
    case 'm':
      return "times";
    case 'V':
      return "bytes without a type";
    case 'u':
      return "integers that Assay has no dtype for; save them with astype('i8') if they fit";
    default:
      return "no dtype of Assay; save it with astype() to one of f2 f4 f8 i1 i2 i4 i8 u1 b1";
  }
}

void set_dtype(const NpyDict& dict, NpyHeader& h, const Place& place) {
  if (dict.is_structured)
    place.unsupported(
        fmt::format("descr is {}: a structured dtype; save each field on its own", in_quotes(dict.descr)));
  std::string_view kind = dict.descr;
  const char order =
      !kind.empty() && std::string_view("<>|=").find(kind[0]) != std::string_view::npos ? kind[0] : '=';
  if (kind.starts_with(order)) kind.remove_prefix(1);
  h.layout.big_endian = order == '>';
  for (const Descr& k : kDescrs)
    if (k.descr == kind && !(kind[0] == 'V' && h.layout.big_endian)) {
      h.dtype = k.dtype;
      return;
    }
  for (const DtypeInfo& d : kDtypeInfo)
    if (d.torch == dict.descr) {
      h.dtype = *dtype_named(d.name);
      return;
    }
  place.unsupported(fmt::format("descr is {}: {}", in_quotes(dict.descr), explanation(kind)));
}

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t n = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) n = n << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return n;
}

// Version 1.0 has a header of up to 65535 bytes.
std::size_t length_bytes(std::span<const std::byte> prefix) { return prefix[6] == std::byte{1} ? 2 : 4; }

}  // namespace

std::size_t npy_header_bytes(std::span<const std::byte> prefix) {
  if (prefix.size() < kNpyPrefix) return prefix.size();
  const std::size_t width = length_bytes(prefix);
  return std::min(8 + width + little_endian(prefix.subspan(8, width)), kMostNpyHeader);
}

NpyHeader read_npy_header(std::span<const std::byte> first, std::size_t total, const Place& place) {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  if (total == 0) place.fail("it is empty");
  if (!text.starts_with(kNpyMagic.substr(0, text.size())))
    place.fail("it does not begin as .npy does (\\x93NUMPY)");
  if (total < 10) place.fail(fmt::format("it is cut short: {} bytes are no header of .npy", total));
  const auto major = std::to_integer<unsigned>(first[6]), minor = std::to_integer<unsigned>(first[7]);
  if (major < 1 || major > 3 || minor != 0)
    place.unsupported(fmt::format("its version of .npy is {}.{}; 1.0, 2.0 and 3.0 are read", major, minor));
  const std::size_t width = length_bytes(first);
  if (total < 8 + width) place.fail(fmt::format("it is cut short: {} bytes are no header of .npy", total));
  const std::size_t length = little_endian(first.subspan(8, width));
  NpyHeader h;
  h.begin = 8 + width + length;
  if (h.begin > total)
    place.fail(
        fmt::format("it is cut short: the header's length is {}, and there are {} bytes", length, total));
  if (h.begin > kMostNpyHeader || h.begin > first.size())
    place.fail(fmt::format("the header's length is {}, which no array needs; up to {} bytes are read", length,
                           kMostNpyHeader));
  const NpyDict dict = parse_npy_dict(text.substr(8 + width, length), place);
  h.shape = dict.shape;
  h.layout.fortran_order = dict.fortran_order;
  set_dtype(dict, h, place);
  h.size = byte_count(h.shape, h.dtype, place, "shape");
  const std::size_t there = total - h.begin;
  if (h.size > there)
    place.fail(fmt::format("it is cut short: shape [{}] of {} needs {} bytes, and there are {}",
                           assay::text(h.shape), name(h.dtype), h.size, there));
  if (h.size < there)
    place.fail(
        fmt::format("shape [{}] of {} needs {} bytes, and there are {}; save several arrays with numpy.savez",
                    assay::text(h.shape), name(h.dtype), h.size, there));
  return h;
}

std::unique_ptr<TensorFile> open_npy(const FileBytes& file) {
  const std::string stem = file.stem();
  NpyHeader h = read_npy_header(file.bytes, file.bytes.size(), {file.name, stem});
  auto tensors = std::make_unique<MappedTensors>(file.name);
  tensors->add(file, stem, h.dtype, std::move(h.shape), file.bytes.subspan(h.begin, h.size), h.layout);
  return tensors;
}

}  // namespace assay::tensors
