#include "safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mapped_tensors.h"
#include "reports/json_reader.h"

namespace assay::tensors {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeader = 100'000'000;  // that of safetensors itself
constexpr std::size_t kMostDepth = 8;               // a header has three levels

struct DtypeName {
  std::string_view text;
  Dtype dtype;
};
constexpr std::array<DtypeName, 12> kDtypeNames{{{"F64", Dtype::f64},
                                                 {"F32", Dtype::f32},
                                                 {"F16", Dtype::f16},
                                                 {"BF16", Dtype::bf16},
                                                 {"F8_E4M3", Dtype::f8e4m3},
                                                 {"F8_E5M2", Dtype::f8e5m2},
                                                 {"I64", Dtype::i64},
                                                 {"I32", Dtype::i32},
                                                 {"I16", Dtype::i16},
                                                 {"I8", Dtype::i8},
                                                 {"U8", Dtype::u8},
                                                 {"BOOL", Dtype::boolean}}};

// As JSON writes it, cut where it is long.
std::string shown(const json& value) {
  constexpr std::size_t kMost = 200;
  const std::string s = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return s.size() > kMost ? s.substr(0, kMost) + ".." : s;
}

std::uint64_t header_length(const FileBytes& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.bytes.data(), kLengthBytes);
  return length;
}

json parse_header(std::string_view text, const Place& place) {
  const JsonOutline outline = json_outline(text);
  if (outline.depth > kMostDepth)
    place.fail(fmt::format("its header is nested more than {} deep", kMostDepth));
  json header;
  try {
    header = json::parse(text);
  } catch (const json::exception& e) {
    place.fail(fmt::format("its header is no JSON: {}", in_quotes(json_error(e))));
  }
  // JSON does not forbid it, and here the second would hide the first.
  if (outline.repeated_key)
    place.fail(fmt::format("its header has the name {} twice", shown(*outline.repeated_key)));
  if (!header.is_object()) place.fail("its header is no object of JSON");
  return header;
}

const json& field(const json& tensor, const char* name, const Place& place) {
  const auto found = tensor.find(name);
  if (found == tensor.end()) place.fail(fmt::format("{} is missing in its header", name));
  return *found;
}

// A list of whole numbers from 0 to 2^63 - 1.
std::vector<std::int64_t> numbers(const json& list, const char* name, const Place& place) {
  std::vector<std::int64_t> values;
  if (!list.is_array()) place.fail(fmt::format("{} is {}, and no list of numbers", name, shown(list)));
  for (const json& n : list) {
    if (!n.is_number_unsigned() || n.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
      place.fail(fmt::format("{} has {}, which is no size", name, shown(n)));
    values.push_back(n.get<std::int64_t>());
  }
  return values;
}

struct Range {
  std::size_t begin, end;
  std::string name;
};

Range range_of(const std::string& name, const json& tensor, std::size_t size, const Place& place) {
  const json& stated = field(tensor, "data_offsets", place);
  const std::vector<std::int64_t> offsets = numbers(stated, "data_offsets", place);
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    place.fail(fmt::format("data_offsets is {}, and not [begin, end]", shown(stated)));
  if (offsets[1] > static_cast<std::int64_t>(size))
    place.fail(
        fmt::format("data_offsets is {}, and there are {} bytes of data: the file is cut short or damaged",
                    shown(stated), size));
  return {static_cast<std::size_t>(offsets[0]), static_cast<std::size_t>(offsets[1]), name};
}

void add_tensor(MappedTensors& tensors, const FileBytes& file, std::span<const std::byte> data,
                const json& tensor, const Range& range, const Place& place) try {
  const json& dtype = field(tensor, "dtype", place);
  if (!dtype.is_string()) place.fail(fmt::format("dtype is {}, and no text", shown(dtype)));
  const Shape shape = numbers(field(tensor, "shape", place), "shape", place);
  const DtypeName* known = nullptr;
  for (const DtypeName& k : kDtypeNames)
    if (k.text == dtype.get_ref<const std::string&>()) known = &k;
  if (known == nullptr) place.unsupported(fmt::format("dtype is {}, which Assay has not", shown(dtype)));
  const std::size_t needed = byte_count(shape, known->dtype, place, "shape");
  if (needed != range.end - range.begin)
    place.fail(fmt::format("shape [{}] of {} needs {} bytes, and data_offsets [{},{}] are {}", text(shape),
                           known->text, needed, range.begin, range.end, range.end - range.begin));
  tensors.add(file, range.name, known->dtype, shape, data.subspan(range.begin, needed), {});
} catch (const Unsupported& e) {
  tensors.add_unsupported(range.name, e.what());
}

// Without gaps and overlaps, as the format wants it: what no tensor names would be hidden.
void check_ranges(std::vector<Range> ranges, std::size_t size, const std::string& file) {
  std::ranges::sort(ranges, [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::size_t end = 0;
  const Range* before = nullptr;
  for (const Range& r : ranges) {
    if (r.begin < end)
      Place{file, r.name}.fail(fmt::format("data_offsets [{},{}] overlap those of {}, [{},{}]", r.begin,
                                           r.end, in_quotes(before->name), before->begin, before->end));
    if (r.begin > end)
      Place{file, r.name}.fail(
          fmt::format("data_offsets [{},{}] leave a gap: the data before end at {}", r.begin, r.end, end));
    end = r.end;
    before = &r;
  }
  if (end != size)
    Place{file, ""}.fail(fmt::format("there are {} bytes of data, and its tensors end at {}", size, end));
}

}  // namespace

bool looks_like_safetensors(const FileBytes& file) {
  return file.bytes.size() > kLengthBytes && header_length(file) <= kMostHeader &&
         static_cast<char>(file.bytes[kLengthBytes]) == '{';
}

std::unique_ptr<TensorFile> open_safetensors(const FileBytes& file) {
  const Place whole{file.name, ""};
  if (file.bytes.size() < kLengthBytes)
    whole.fail(fmt::format("it is cut short: {} bytes are no header of safetensors", file.bytes.size()));
  const std::uint64_t length = header_length(file);
  if (length > kMostHeader)
    whole.fail(fmt::format("the header's length is {}; safetensors allows {}", length, kMostHeader));
  if (length > file.bytes.size() - kLengthBytes)
    whole.fail(fmt::format("it is cut short: the header's length is {}, and there are {} bytes after it",
                           length, file.bytes.size() - kLengthBytes));
  const std::span<const std::byte> data = file.bytes.subspan(kLengthBytes + static_cast<std::size_t>(length));
  const json header = parse_header(file.text().substr(kLengthBytes, static_cast<std::size_t>(length)), whole);

  auto tensors = std::make_unique<MappedTensors>(file.name);
  std::vector<Range> ranges;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const Place place{file.name, name};
    if (!tensor.is_object()) place.fail(fmt::format("its header is {}, and no object", shown(tensor)));
    ranges.push_back(range_of(name, tensor, data.size(), place));
    add_tensor(*tensors, file, data, tensor, ranges.back(), place);
  }
  check_ranges(std::move(ranges), data.size(), file.name);
  return tensors;
}

}  // namespace assay::tensors
