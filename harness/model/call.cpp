#include "call.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "strided_copy.h"

namespace assay {

namespace {

std::size_t memory_bytes(const Strided& s, Dtype dtype) {
  return static_cast<std::size_t>(s.offset + s.span) * static_cast<std::size_t>(bytes(dtype));
}

std::unique_ptr<assay_tensor> tensor_of(const TensorData& t) {
  auto view = std::make_unique<assay_tensor>();
  const std::size_t offset =
      static_cast<std::size_t>(t.strided.offset) * static_cast<std::size_t>(bytes(t.dtype));
  view->data = const_cast<std::byte*>(t.memory.data() + offset);
  view->device = {ASSAY_CPU, 0};
  view->ndim = static_cast<std::int32_t>(t.shape.size());
  view->dtype = info(t.dtype).dlpack;
  view->shape = const_cast<std::int64_t*>(t.shape.data());
  view->strides = const_cast<std::int64_t*>(t.strided.strides.data());
  return view;
}

}  // namespace

TensorData::TensorData(Dtype element, Shape sizes, const Layout& layout)
    : dtype(element), shape(std::move(sizes)), strided(assay::strided(shape, layout)) {
  memory.resize(memory_bytes(strided, dtype));
}

std::int64_t TensorData::numel() const { return assay::numel(shape); }

bool TensorData::in_order() const {
  std::size_t d = shape.size();
  for (std::int64_t step = 1; d > 0 && strided.strides[d - 1] == step; --d) step *= shape[d - 1];
  return d == 0;
}

const std::byte* TensorData::element(std::int64_t index) const {
  // Of elements one after the other the index says where they are; dividing by each size takes ten times as long.
  if (in_order()) return memory.data() + (strided.offset + index) * bytes(dtype);

  std::int64_t at = strided.offset;
  for (std::size_t d = shape.size(); d-- > 1;) {
    at += index % shape[d] * strided.strides[d];
    index /= shape[d];
  }
  if (!shape.empty()) at += index * strided.strides[0];
  return memory.data() + at * bytes(dtype);
}

std::byte* TensorData::element(std::int64_t index) {
  return const_cast<std::byte*>(std::as_const(*this).element(index));
}

namespace {

constexpr std::int64_t kBlock = 4096;

void load_block(const TensorData& t, bool in_order, std::int64_t first, std::span<double> numbers) {
  if (in_order) return load_all(t.element(first), t.dtype, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = t.get(first + static_cast<std::int64_t>(i));
}

}  // namespace

void TensorData::each_block(const std::function<void(std::int64_t, std::span<const double>)>& f) const {
  const std::int64_t n = numel();
  const bool ordered = in_order();
  std::vector<double> block(static_cast<std::size_t>(std::min(n, kBlock)));
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::span numbers = std::span(block).first(static_cast<std::size_t>(std::min(n - first, kBlock)));
    load_block(*this, ordered, first, numbers);
    f(first, numbers);
  }
}

bool TensorData::change_blocks(const std::function<bool(std::int64_t, std::span<double>)>& f) {
  const std::int64_t n = numel();
  const bool ordered = in_order();
  bool other = false;
  std::vector<double> before(static_cast<std::size_t>(std::min(n, kBlock))), after(before.size());
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const auto size = static_cast<std::size_t>(std::min(n - first, kBlock));
    const std::span was = std::span(before).first(size), now = std::span(after).first(size);
    load_block(*this, ordered, first, was);
    std::ranges::copy(was, now.begin());
    if (!f(first, now)) continue;
    if (ordered && is_float(dtype)) {
      store_all(element(first), dtype, now);
    } else {  // what stays stays to the bit: doubles do not hold every integer
      for (std::size_t i = 0; i < size; ++i)
        if (std::bit_cast<std::uint64_t>(now[i]) != std::bit_cast<std::uint64_t>(was[i]))
          set(first + static_cast<std::int64_t>(i), now[i]);
    }
    if (other) continue;
    load_block(*this, ordered, first, now);  // as the dtype holds them
    other = !std::ranges::equal(
        was, now, [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
  }
  return other;
}

std::vector<std::byte> TensorData::packed() const {
  return gather(memory.data() + strided.offset * bytes(dtype), shape, strided.strides, bytes(dtype));
}

TensorData packed_copy(const TensorData& t) {
  TensorData c(t.dtype, t.shape);
  c.memory = t.packed();
  return c;
}

namespace {

bool store_exactly(std::byte* to, Dtype dtype, const std::byte* from, Dtype from_dtype) {
  const double x = load(from, from_dtype);
  if (!is_float(from_dtype) && !is_float(dtype)) {
    const std::int64_t integer = load_integer(from, from_dtype);
    store_integer(to, dtype, integer);
    return load_integer(to, dtype) == integer;
  }
  if (!is_float(dtype)) {
    const auto [least, greatest] = integer_range(dtype);
    // The greatest i64 is 2^63 as a double, which is too large already.
    if (!(x == std::nearbyint(x) && x >= least && (x < greatest || (x == greatest && dtype != Dtype::i64))))
      return false;
    store_integer(to, dtype, static_cast<std::int64_t>(x));
    return true;
  }
  store(to, dtype, x);
  if (std::isnan(x)) return std::isnan(load(to, dtype));
  if (load(to, dtype) != x) return false;
  return is_float(from_dtype) ||
         (std::fabs(x) < 0x1p63 && static_cast<std::int64_t>(x) == load_integer(from, from_dtype));
}

}  // namespace

std::optional<TensorData> exactly_as(const TensorData& t, Dtype dtype, std::int64_t* misfit) {
  TensorData other(dtype, t.shape);
  if (t.dtype == dtype) {
    other.memory = t.packed();
    return other;
  }
  for (std::int64_t i = 0; i < t.numel(); ++i)
    if (!store_exactly(other.element(i), dtype, t.element(i), t.dtype)) {
      if (misfit != nullptr) *misfit = i;
      return std::nullopt;
    }
  return other;
}

bool same_bits(const TensorData& a, const TensorData& b) {
  return a.dtype == b.dtype && a.shape == b.shape && same_bytes(a.packed(), b.packed());
}

Arguments::Arguments(const Call& call) {
  const std::span<const Argument> schema = call.op->schema.arguments();
  values_.reserve(call.arguments.size());
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const Argument declared = i < schema.size() ? schema[i] : Argument{};
    assay_value v{};
    v.count = 1;

    // A number becomes what the schema declares: 2 for a float is 2.0, 2 for an int[2] is [2, 2].
    const auto number = [&](std::int64_t integer, double real, bool is_real) {
      if (declared.list) {
        const std::size_t n = declared.list_size > 0 ? static_cast<std::size_t>(declared.list_size) : 1;
        v.count = static_cast<std::uint32_t>(n);
        if (declared.type == Type::real) {
          v.kind = ASSAY_KIND_DOUBLES;
          v.as.reals = reals_.emplace_back(n, is_real ? real : static_cast<double>(integer)).data();
        } else {
          v.kind = declared.type == Type::boolean ? ASSAY_KIND_BOOLS : ASSAY_KIND_INTS;
          v.as.integers = integers_.emplace_back(n, integer).data();
        }
      } else if (is_real || declared.type == Type::real) {
        v.kind = ASSAY_KIND_DOUBLE;
        v.as.real = is_real ? real : static_cast<double>(integer);
      } else {
        v.kind = declared.type == Type::boolean ? ASSAY_KIND_BOOL : ASSAY_KIND_INT;
        v.as.integer = integer;
      }
    };

    const CallValue& value = call.arguments[i];
    if (const auto* tensor = std::get_if<TensorData>(&value)) {
      v.kind = ASSAY_KIND_TENSOR;
      v.as.tensor = tensors_.emplace_back(tensor_of(*tensor)).get();
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      number(*integer, 0, false);
    } else if (const auto* real = std::get_if<double>(&value)) {
      number(0, *real, true);
    } else if (const auto* boolean = std::get_if<bool>(&value)) {
      v.kind = ASSAY_KIND_BOOL;
      v.as.integer = *boolean ? 1 : 0;
    } else if (const auto* string = std::get_if<std::string>(&value)) {
      v.kind = ASSAY_KIND_STRING;
      v.as.string = string->c_str();
    } else if (const auto* dtype = std::get_if<Dtype>(&value)) {
      v.kind = ASSAY_KIND_DTYPE;
      v.as.dtype = info(*dtype).dlpack;
    } else if (const auto* format = std::get_if<MemoryFormat>(&value)) {
      v.kind = ASSAY_KIND_MEMORY_FORMAT;
      v.as.integer = static_cast<std::int64_t>(*format);
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
      v.count = static_cast<std::uint32_t>(integers->size());
      if (declared.type == Type::real) {
        v.kind = ASSAY_KIND_DOUBLES;
        v.as.reals = reals_.emplace_back(integers->begin(), integers->end()).data();
      } else {
        v.kind = declared.type == Type::boolean ? ASSAY_KIND_BOOLS : ASSAY_KIND_INTS;
        v.as.integers = integers->data();
      }
    } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
      v.kind = ASSAY_KIND_DOUBLES;
      v.count = static_cast<std::uint32_t>(reals->size());
      v.as.reals = reals->data();
    } else if (const auto* tensors = std::get_if<std::vector<TensorData>>(&value)) {
      v.kind = ASSAY_KIND_TENSORS;
      v.count = static_cast<std::uint32_t>(tensors->size());
      std::vector<const assay_tensor*>& list = lists_.emplace_back();
      for (const TensorData& t : *tensors) list.push_back(tensors_.emplace_back(tensor_of(t)).get());
      v.as.tensors = list.data();
    }
    values_.push_back(v);
  }
}

}  // namespace assay
