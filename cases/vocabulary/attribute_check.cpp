#include "attribute_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "integers.h"
#include "layout.h"
#include "shape_function.h"

namespace assay {

void AttributeCheck::nonzero(std::size_t i) {
  const Domain& d = domain(op_, argument(i).name);
  if (d.kind != Domain::Kind::integer || !d.filled || !is_tensor(i) || is_float(result_)) return;
  const View& divisors = tensor(i);
  if (divisors.data == nullptr) return;
  for (std::int64_t k = 0; k < divisors.numel(); ++k) {
    std::int64_t converted = 0;
    store_integer(&converted, result_, integer_of(divisors, k));
    if (converted == 0) return fail(i, "has an element 0, by which no {} is divided", name(result_));
  }
}

// Where there is no data to look at, only whether any index could be right.
void AttributeCheck::index(std::size_t i, const Domain& d) {
  const auto of = static_cast<std::size_t>(d.of);
  const std::int64_t rows = d.choices_of(tensor(of).sizes());
  const std::string_view what = d.plane ? "place" : "row";
  const View& indices = tensor(i);
  const std::int64_t n = indices.numel();
  if (n > 0 && rows == 0)
    return fail(i, "has shape [{}], but {} has no {}s",
                text({indices.sizes().begin(), indices.sizes().end()}), argument(of).name, what);
  if (indices.data == nullptr) return;
  const std::int64_t length = indices.rank() == 0 ? 1 : indices.size(indices.rank() - 1);
  for (std::int64_t k = 0; k < n; ++k) {
    if (k % length == 0 && row_below(indices, k, length, rows)) {
      k += length - 1;
      continue;
    }
    const std::int64_t row = integer_of(indices, k);
    if (row < 0 || row >= rows)
      return fail(i, "has the index {}, but {} has {} {}{}: it must be from 0 to {}", row,
                  d.plane ? "a plane of " + std::string(argument(of).name) : std::string(argument(of).name),
                  rows, what, rows == 1 ? "" : "s", rows - 1);
  }
}

void AttributeCheck::given(std::size_t i, const Domain& d) {
  const bool none = d.unless >= 0 && values_[static_cast<std::size_t>(d.unless)].as.integer != 0;
  if (none == (values_[i].kind == ASSAY_KIND_NONE)) return;
  const std::string_view where = d.unless < 0 ? "" : argument(static_cast<std::size_t>(d.unless)).name;
  if (!none)
    fail(i, "is None, but must be given{}{}{}", where.empty() ? "" : " where ", where,
         where.empty() ? "" : " is false");
  else if (is_tensor(i))
    fail(i, "has shape [{}], but must be None where {} is true",
         text({tensor(i).sizes().begin(), tensor(i).sizes().end()}), where);
  else
    fail(i, "must be None where {} is true", where);
}

// Where the result is of integers. Which numbers those take is a rule of ours, as which dtypes an operator takes. As in ATen 1.13, a number may be negative for unsigned ones, and wraps.
void AttributeCheck::integer_attribute(std::size_t i, const Domain& d) {
  const assay_value& v = values_[i];
  if (v.kind == ASSAY_KIND_NONE && d.for_integers)
    return fail(i, "is None, but must be given where the result is of {}", name(result_));
  if (argument(i).type != Type::scalar) return;
  about_dtype_ = true;
  if (v.kind == ASSAY_KIND_DOUBLE)
    return fail(i, "is {}, but must be an integer where the result is of {}", v.as.real, name(result_));
  if (v.kind == ASSAY_KIND_INT && result_ != Dtype::i64) {
    const IntegerRange range = integer_range(result_);
    const auto x = static_cast<double>(v.as.integer);
    if (x > range.greatest || x < std::min(range.least, -range.greatest))
      return fail(i, "is {}, which is beyond {}", v.as.integer, name(result_));
  }
  about_dtype_ = false;
}

void AttributeCheck::attribute(std::size_t i) {
  const Domain& d = domain(op_, argument(i).name);
  const assay_value& v = values_[i];
  if (d.kind == Domain::Kind::index && is_tensor(i)) return index(i, d);
  if (d.kind == Domain::Kind::integer && is_tensor(i)) return;  // nonzero()
  if (d.has_axes()) return axes(i, d);
  if (d.kind == Domain::Kind::given) return given(i, d);
  if (op_.in_integers && !is_float(result_)) integer_attribute(i, d);
  if (!checked_.ok()) return;
  if (v.kind == ASSAY_KIND_NONE) {
    if (d.unless >= 0 && values_[static_cast<std::size_t>(d.unless)].kind == ASSAY_KIND_NONE)
      fail(i, "is None, which it may only be where {} is given",
           argument(static_cast<std::size_t>(d.unless)).name);
    return;
  }
  switch (d.kind) {
    case Domain::Kind::one_of:
      if (std::ranges::find(d.choices, std::string_view(v.as.string)) == d.choices.end())
        fail(i, "is \"{}\", but must be one of {}", v.as.string, fmt::join(d.choices, ", "));
      return;
    case Domain::Kind::dtype: {
      const std::optional<Dtype> dtype = dtype_of(v.as.dtype);
      if (!dtype || !op_.dtypes.contains(*dtype))
        fail(i, "is {}, which {} does not compute in", dtype ? name(*dtype) : "unknown", op_.schema.name);
      else if (first_ && is_float(*first_) && !is_float(*dtype))
        fail(i, "is {}, which only tensors of integers are converted to, not one of {}", name(*dtype),
             name(*first_));
      return;
    }
    case Domain::Kind::scale:
      if (!(v.as.real > 0) || !std::isfinite(v.as.real)) fail(i, "is {}, but must be positive", v.as.real);
      return;
    case Domain::Kind::zero_point: {
      const assay_value& of = values_[static_cast<std::size_t>(d.of)];
      const Dtype dtype = *dtype_of(of.kind == ASSAY_KIND_DTYPE ? of.as.dtype : of.as.tensor->dtype);
      const IntegerRange range = integer_range(dtype);
      if (static_cast<double>(v.as.integer) < range.least ||
          static_cast<double>(v.as.integer) > range.greatest)
        fail(i, "is {}, but {} reaches from {} to {}", v.as.integer, name(dtype), range.least,
             range.greatest);
      return;
    }
    case Domain::Kind::format: {
      const auto format = static_cast<MemoryFormat>(v.as.integer);
      const auto of = static_cast<std::size_t>(d.of);
      if (rank_of(format) != 0 && tensor(of).rank() != static_cast<int>(rank_of(format)))
        fail(i, "is {}, which needs {} dimensions, but {} has {}", name(format), rank_of(format),
             argument(of).name, tensor(of).rank());
      return;
    }
    case Domain::Kind::natural:
      if (v.as.integer < 0) fail(i, "is {}, but must not be negative", v.as.integer);
      return;
    case Domain::Kind::integer:
      if (d.filled && v.as.integer == 0) fail(i, "is 0, which it must not be");
      return;
    case Domain::Kind::divisor: {
      const std::int64_t of = values_[static_cast<std::size_t>(d.of)].as.integer;
      if (v.as.integer <= 0 || of % v.as.integer != 0)
        fail(i, "is {}, but must be positive and divide {}, which is {}", v.as.integer,
             argument(static_cast<std::size_t>(d.of)).name, of);
      return;
    }
    case Domain::Kind::window:
    case Domain::Kind::positives:
    case Domain::Kind::naturals:
      return spatial(i, d);
    case Domain::Kind::mask:
      if (v.count != op_.schema.result_count)
        fail(i, "has {} values, but must have one for each of {} results", v.count, op_.schema.result_count);
      for (std::size_t k = 0; k < std::min<std::size_t>(v.count, d.choices.size()); ++k)
        if (v.as.integers[k] != 0 &&
            values_[static_cast<std::size_t>(op_.schema.find(d.choices[k]))].kind == ASSAY_KIND_NONE)
          return fail(i, "asks for the result of {}, which is None", d.choices[k]);
      return;
    default:
      return;
  }
}

void AttributeCheck::spatial(std::size_t i, const Domain& d) {
  const assay_value& v = values_[i];
  const Argument& a = argument(i);
  const std::int64_t all =
      d.of < 0 ? a.list_size : std::max(tensor(static_cast<std::size_t>(d.of)).rank() - 2, 0);
  const std::span<const std::int64_t> list(v.as.integers, v.count);
  const bool may_be_empty = a.has_default && a.default_text == "[]";
  if (!(v.count == 1 || v.count == all || (v.count == 0 && may_be_empty)))
    return fail(i, "is [{}], but must have {} numbers, or one for all dimensions", fmt::join(list, ","), all);
  const std::int64_t least = d.kind == Domain::Kind::naturals ? 0 : 1;
  if (std::ranges::any_of(list, [&](std::int64_t n) { return n < least; }))
    return fail(i, "is [{}], but must {}", fmt::join(list, ","),
                least == 1 ? "be positive" : "not be negative");
  if (std::ranges::any_of(list, [](std::int64_t n) { return n > kMostSpatial; }))
    return fail(i, "is [{}], but must not be above {}", fmt::join(list, ","), kMostSpatial);
}

// Of a list, of one number, or, where it is None or empty, all of them.
void AttributeCheck::axes(std::size_t i, const Domain& d) {
  const assay_value& v = values_[i];
  const auto at = static_cast<std::size_t>(d.of);
  const View& of = tensor(at);
  std::span<const std::int64_t> list;
  if (v.kind == ASSAY_KIND_INT) list = {&v.as.integer, 1};
  if (v.kind == ASSAY_KIND_INTS) list = {v.as.integers, v.count};
  const std::int64_t rank = std::max(of.rank(), 1);  // a scalar tensor counts as one dimension, as in ATen
  std::vector<bool> seen(static_cast<std::size_t>(rank));
  for (const std::int64_t axis : list) {
    if (axis < -rank || axis >= rank)
      return fail(i, "is {}, but {} has {} dimension{}: it must be from {} to {}", axis, argument(at).name,
                  of.rank(), of.rank() == 1 ? "" : "s", -rank, rank - 1);
    const auto dimension = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    if (seen[dimension]) return fail(i, "names dimension {} twice", dimension);
    seen[dimension] = true;
  }
  if (!d.filled) return;
  for (int k = 0; k < of.rank(); ++k)
    if (of.size(k) == 0 && (list.empty() || seen[static_cast<std::size_t>(k)]))
      return fail(at, "has shape [{}], but dimension {} must have elements",
                  text({of.sizes().begin(), of.sizes().end()}), k);
}

}  // namespace assay
