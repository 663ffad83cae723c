#include "movement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace assay {
namespace {

template <class... Args>
[[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) {
  throw MovementError(fmt::format(format, std::forward<Args>(args)...));
}

const View& view(const assay_value& v) { return *static_cast<const View*>(v.as.tensor); }

constexpr std::size_t kMostDimensions = 64;  // as in PyTorch
constexpr std::int64_t kMostElements = std::int64_t{1} << 62;
constexpr std::int64_t kMostPieces = 10'000;

// Sizes that a text may have given: that they can be counted, empty ones aside.
const Shape& countable(const Shape& shape) {
  if (shape.size() > kMostDimensions)
    wrong("{} dimensions are more than the {} that a tensor has", shape.size(), kMostDimensions);
  std::int64_t n = 1;
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(n, std::max<std::int64_t>(size, 1), &n) || n > kMostElements)
      wrong("[{}] has more elements than can be counted", text(shape));
  return shape;
}

// What a tensor is before it is moved.
struct Source {
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  Dtype dtype = Dtype::f32;

  explicit Source(const View& v) : shape(v.sizes().begin(), v.sizes().end()), dtype(v.type()) {
    strides = row_major(shape);
  }
  static std::vector<std::int64_t> row_major(const Shape& shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t n = 1;
    for (std::size_t d = shape.size(); d-- > 0; n *= shape[d]) strides[d] = n;
    return strides;
  }
  std::vector<Moved> moved() && {
    countable(shape);
    return {{.shape = std::move(shape),
             .dtype = dtype,
             .parts = {{.offset = offset, .strides = std::move(strides)}}}};
  }
};

// A dimension of a tensor of this rank, counted from the end if it is negative.
std::size_t dimension(std::string_view name, std::int64_t written, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (written < -n || written >= n)
    wrong("{} is {}, but self has {} dimension{}", name, written, rank, rank == 1 ? "" : "s");
  return static_cast<std::size_t>(written < 0 ? written + n : written);
}
std::span<const std::int64_t> integers(const assay_value& v) { return {v.as.integers, v.count}; }
std::int64_t integer(const assay_value& v, std::int64_t otherwise) {
  return v.kind == ASSAY_KIND_NONE ? otherwise : v.as.integer;
}

std::vector<Moved> same(std::span<const assay_value> a) { return Source(view(a[0])).moved(); }

std::vector<Moved> rounded(std::span<const assay_value> a) {
  std::vector<Moved> all = same(a);
  all[0].rounded_to = dtype_of(a[1].as.dtype);
  if (!all[0].rounded_to || !is_float(*all[0].rounded_to) || !is_float(all[0].dtype))
    wrong("dtype: numbers are rounded from a floating-point dtype to another");
  return all;
}

std::vector<Moved> to(std::span<const assay_value> a) {
  std::vector<Moved> all = rounded(a);
  all[0].dtype = *all[0].rounded_to;
  return all;
}

std::vector<Moved> as_shape(const Source& from, Shape shape, std::string_view name) {
  const std::int64_t elements = numel(from.shape);
  std::int64_t known = 1, open = -1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1 && open < 0)
      open = static_cast<std::int64_t>(d);
    else if (shape[d] < 0)
      wrong("{} is [{}]: sizes are from 0, and one may be -1", name, text(shape));
    else if (__builtin_mul_overflow(known, shape[d], &known))
      wrong("{} is [{}], but self is [{}]", name, text(shape), text(from.shape));
  }
  if (open >= 0) {
    if (known == 0 || elements % known != 0)
      wrong("{} is [{}], which [{}] has too few or too many elements for", name, text(shape),
            text(from.shape));
    shape[static_cast<std::size_t>(open)] = elements / known;
    known = elements;
  }
  if (known != elements) wrong("{} is [{}], but self is [{}]", name, text(shape), text(from.shape));
  Source s = from;
  s.strides = Source::row_major(countable(shape));
  s.shape = std::move(shape);
  return std::move(s).moved();
}

std::vector<Moved> reshape(std::span<const assay_value> a) {
  const auto sizes = integers(a[1]);
  return as_shape(Source(view(a[0])), Shape(sizes.begin(), sizes.end()), "shape");
}

std::vector<Moved> flatten(std::span<const assay_value> a) {
  const Source s(view(a[0]));
  if (s.shape.empty()) return as_shape(s, {1}, "self");
  const std::size_t first = dimension("start_dim", a[1].as.integer, s.shape.size()),
                    last = dimension("end_dim", a[2].as.integer, s.shape.size());
  if (first > last) wrong("start_dim is {}, which stands after end_dim, {}", first, last);
  Shape shape(s.shape.begin(), s.shape.begin() + static_cast<std::ptrdiff_t>(first));
  shape.push_back(numel(std::span(s.shape).subspan(first, last - first + 1)));
  shape.insert(shape.end(), s.shape.begin() + static_cast<std::ptrdiff_t>(last + 1), s.shape.end());
  return as_shape(s, std::move(shape), "self");
}

std::vector<Moved> transpose(std::span<const assay_value> a) {
  Source s(view(a[0]));
  const std::size_t rank = std::max<std::size_t>(s.shape.size(), 1);  // of a number, 0 and -1 are dimensions
  const std::size_t x = dimension("dim0", a[1].as.integer, rank),
                    y = dimension("dim1", a[2].as.integer, rank);
  if (s.shape.empty()) return std::move(s).moved();
  std::swap(s.shape[x], s.shape[y]);
  std::swap(s.strides[x], s.strides[y]);
  return std::move(s).moved();
}

std::vector<Moved> t(std::span<const assay_value> a) {
  Source s(view(a[0]));
  if (s.shape.size() > 2) wrong("self has {} dimensions, but may have two at most", s.shape.size());
  std::ranges::reverse(s.shape);
  std::ranges::reverse(s.strides);
  return std::move(s).moved();
}

std::vector<Moved> permute(std::span<const assay_value> a) {
  const Source s(view(a[0]));
  Source r = s;
  const auto dims = integers(a[1]);
  if (dims.size() != s.shape.size())
    wrong("dims has {} numbers, but self has {} dimensions", dims.size(), s.shape.size());
  std::vector<bool> seen(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::size_t from = dimension("dims", dims[d], dims.size());
    if (seen[from]) wrong("dims names dimension {} twice", from);
    seen[from] = true;
    r.shape[d] = s.shape[from];
    r.strides[d] = s.strides[from];
  }
  return std::move(r).moved();
}

std::vector<Moved> unsqueeze(std::span<const assay_value> a) {
  Source s(view(a[0]));
  const auto at = static_cast<std::ptrdiff_t>(dimension("dim", a[1].as.integer, s.shape.size() + 1));
  s.shape.insert(s.shape.begin() + at, 1);
  s.strides.insert(s.strides.begin() + at, 0);
  return std::move(s).moved();
}

std::vector<Moved> squeeze(std::span<const assay_value> a) {
  Source s(view(a[0]));
  const auto at = static_cast<std::ptrdiff_t>(
      dimension("dim", a[1].as.integer, std::max<std::size_t>(s.shape.size(), 1)));
  if (s.shape.empty()) return std::move(s).moved();
  if (s.shape[static_cast<std::size_t>(at)] != 1) return std::move(s).moved();
  s.shape.erase(s.shape.begin() + at);
  s.strides.erase(s.strides.begin() + at);
  return std::move(s).moved();
}

std::vector<Moved> expand(std::span<const assay_value> a) {
  Source s(view(a[0]));
  const auto sizes = integers(a[1]);
  if (sizes.size() < s.shape.size())
    wrong("size has {} numbers, but self has {} dimensions", sizes.size(), s.shape.size());
  const auto added = static_cast<std::ptrdiff_t>(sizes.size() - s.shape.size());
  s.shape.insert(s.shape.begin(), static_cast<std::size_t>(added), 1);
  s.strides.insert(s.strides.begin(), static_cast<std::size_t>(added), 0);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == s.shape[d] || (sizes[d] == -1 && static_cast<std::ptrdiff_t>(d) >= added)) continue;
    if (s.shape[d] != 1 || sizes[d] < 0)
      wrong("size is [{}], to which [{}] does not broadcast", fmt::join(sizes, ","),
            text(Source(view(a[0])).shape));
    s.shape[d] = sizes[d];
    s.strides[d] = 0;
  }
  return std::move(s).moved();
}

// Those from `first` to `end`, each step-th.
void cut(Source& s, std::size_t d, std::int64_t first, std::int64_t end, std::int64_t step) {
  s.offset += first * s.strides[d];
  s.shape[d] = end > first ? (end - first - 1) / step + 1 : 0;
  if (s.shape[d] > 1) s.strides[d] *= step;  // else no stride matters
}

std::vector<Moved> slice(std::span<const assay_value> a) {
  Source s(view(a[0]));
  const std::size_t d = dimension("dim", a[1].as.integer, s.shape.size());
  const std::int64_t size = s.shape[d], step = a[4].as.integer;
  if (step < 1) wrong("step is {}, but must be positive", step);
  const auto place = [&](std::int64_t written) {
    return std::clamp<std::int64_t>(written < 0 ? written + size : written, 0, size);
  };
  cut(s, d, place(integer(a[2], 0)), place(integer(a[3], size)), step);
  return std::move(s).moved();
}

std::vector<Moved> select(std::span<const assay_value> a) {
  Source s(view(a[0]));
  const std::size_t d = dimension("dim", a[1].as.integer, s.shape.size());
  const std::int64_t size = s.shape[d], written = a[2].as.integer;
  if (written < -size || written >= size)
    wrong("index is {}, but dimension {} of self has {} elements", written, d, size);
  cut(s, d, written < 0 ? written + size : written, size, size);
  s.shape.erase(s.shape.begin() + static_cast<std::ptrdiff_t>(d));
  s.strides.erase(s.strides.begin() + static_cast<std::ptrdiff_t>(d));
  return std::move(s).moved();
}

// Pieces of `each` elements along a dimension, the last one smaller; one, should there be nothing to cut.
std::vector<Moved> pieces(const Source& s, std::size_t d, std::int64_t each) {
  std::vector<Moved> all;
  const std::int64_t size = s.shape[d];
  if (size / std::max<std::int64_t>(each, 1) > kMostPieces)
    wrong("self would be cut into more than {} pieces", kMostPieces);
  for (std::int64_t first = 0; first < std::max<std::int64_t>(size, 1);
       first += std::max<std::int64_t>(each, 1)) {
    Source piece = s;
    cut(piece, d, first, std::min(first + each, size), 1);
    all.push_back(std::move(piece).moved()[0]);
  }
  return all;
}

std::vector<Moved> chunk(std::span<const assay_value> a) {
  const Source s(view(a[0]));
  const std::int64_t n = a[1].as.integer;
  if (n < 1) wrong("chunks is {}, but must be positive", n);
  const std::size_t d = dimension("dim", a[2].as.integer, s.shape.size());
  return pieces(s, d, s.shape[d] == 0 ? 0 : (s.shape[d] - 1) / n + 1);
}

std::vector<Moved> split(std::span<const assay_value> a) {
  const Source s(view(a[0]));
  if (a[1].as.integer < 1) wrong("split_size is {}, but must be positive", a[1].as.integer);
  return pieces(s, dimension("dim", a[2].as.integer, s.shape.size()), a[1].as.integer);
}

// Of elements in row-major order, as PyTorch counts those of a contiguous tensor.
std::vector<Moved> as_strided(std::span<const assay_value> a) {
  Source s(view(a[0]));
  const auto size = integers(a[1]), stride = integers(a[2]);
  const std::int64_t elements = numel(s.shape);
  if (size.size() != stride.size())
    wrong("stride has {} numbers, but size has {}", stride.size(), size.size());
  if (std::ranges::any_of(size, [](std::int64_t n) { return n < 0; }))
    wrong("size is [{}]: sizes are from 0", fmt::join(size, ","));
  if (std::ranges::any_of(stride, [](std::int64_t n) { return n < 0; }))
    wrong("stride is [{}]: strides are from 0", fmt::join(stride, ","));
  s.shape.assign(size.begin(), size.end());
  s.strides.assign(stride.begin(), stride.end());
  s.offset = integer(a[3], 0);
  std::int64_t last = s.offset;
  for (std::size_t d = 0; d < s.shape.size(); ++d)
    if (std::int64_t reach = 0;
        __builtin_mul_overflow(std::max<std::int64_t>(s.shape[d] - 1, 0), s.strides[d], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      wrong("stride is [{}], which leads outside of self", fmt::join(stride, ","));
  if (s.offset < 0 || (numel(countable(s.shape)) > 0 && last >= elements))
    wrong("storage_offset is {} and stride [{}], which leads outside of the {} elements of self", s.offset,
          fmt::join(stride, ","), elements);
  return std::move(s).moved();
}

// Tensors that differ in the size of one dimension only.
std::vector<Moved> joined(const std::vector<Source>& all, std::size_t d) {
  Moved r{.shape = all[0].shape, .dtype = all[0].dtype, .along = static_cast<int>(d)};
  r.shape[d] = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    Shape rest = all[k].shape;
    if (rest.size() == r.shape.size()) rest[d] = r.shape[d];
    if (rest != r.shape || all[k].dtype != r.dtype)
      wrong("tensors: number {} is {}[{}], which does not go with {}[{}]", k, name(all[k].dtype),
            text(all[k].shape), name(r.dtype), text(all[0].shape));
    r.parts.push_back({k, r.shape[d], all[k].offset, all[k].strides});
    r.shape[d] += all[k].shape[d];
    countable(r.shape);
  }
  return {std::move(r)};
}

std::vector<Source> listed(const assay_value& v) {
  std::vector<Source> all;
  for (std::uint32_t k = 0; k < v.count; ++k) all.emplace_back(*static_cast<const View*>(v.as.tensors[k]));
  if (all.empty()) wrong("tensors is empty");
  return all;
}

std::vector<Moved> cat(std::span<const assay_value> a) {
  const std::vector<Source> all = listed(a[0]);
  return joined(all, dimension("dim", a[1].as.integer, all[0].shape.size()));
}

std::vector<Moved> stack(std::span<const assay_value> a) {
  std::vector<Source> all = listed(a[0]);
  const std::size_t d = dimension("dim", a[1].as.integer, all[0].shape.size() + 1);
  for (Source& s : all) {
    if (s.shape.size() + 1 <= d) wrong("tensors have different numbers of dimensions");
    s.shape.insert(s.shape.begin() + static_cast<std::ptrdiff_t>(d), 1);
    s.strides.insert(s.strides.begin() + static_cast<std::ptrdiff_t>(d), 0);
  }
  return joined(all, d);
}

constexpr std::array kMovements{
    Movement{parse_schema("to.dtype(Tensor self, ScalarType dtype) -> Tensor"), to},
    Movement{parse_schema("assay::rounded(Tensor self, ScalarType dtype) -> Tensor"), rounded},
    Movement{parse_schema("reshape(Tensor self, SymInt[] shape) -> Tensor"), reshape},
    Movement{parse_schema("view(Tensor self, SymInt[] shape) -> Tensor"), reshape},
    Movement{parse_schema("flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor"),
             flatten},
    Movement{parse_schema("transpose.int(Tensor self, int dim0, int dim1) -> Tensor"), transpose},
    Movement{parse_schema("t(Tensor self) -> Tensor"), t},
    Movement{parse_schema("permute(Tensor self, int[] dims) -> Tensor"), permute},
    Movement{parse_schema("unsqueeze(Tensor self, int dim) -> Tensor"), unsqueeze},
    Movement{parse_schema("squeeze.dim(Tensor self, int dim) -> Tensor"), squeeze},
    Movement{parse_schema("expand(Tensor self, SymInt[] size) -> Tensor"), expand},
    Movement{
        parse_schema(
            "slice.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor"),
        slice},
    Movement{parse_schema("select.int(Tensor self, int dim, SymInt index) -> Tensor"), select},
    Movement{
        parse_schema(
            "as_strided(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"),
        as_strided},
    Movement{parse_schema("chunk(Tensor self, int chunks, int dim=0) -> Tensor[]"), chunk},
    Movement{parse_schema("split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"), split},
    Movement{parse_schema("cat(Tensor[] tensors, int dim=0) -> Tensor"), cat},
    Movement{parse_schema("stack(Tensor[] tensors, int dim=0) -> Tensor"), stack},
    Movement{parse_schema("contiguous(Tensor self) -> Tensor"), same},
    Movement{parse_schema("detach(Tensor self) -> Tensor"), same},
};

}  // namespace

Moved::Place Moved::from(std::int64_t n) const {
  const Shape index = index_of(shape, n);
  const Part* part = &parts[0];
  for (const Part& p : parts)
    if (parts.size() > 1 && index[static_cast<std::size_t>(along)] >= p.first) part = &p;
  std::int64_t element = part->offset;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const std::int64_t at = index[d] - (static_cast<int>(d) == along ? part->first : 0);
    element += at * part->strides[d];
  }
  return {part->tensor, element};
}

std::span<const Movement> movements() { return kMovements; }

const Movement* find_movement(std::string_view name) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  for (const Movement& m : kMovements)
    if (m.schema.name == name || m.schema.base == name) return &m;
  return nullptr;
}

}  // namespace assay
