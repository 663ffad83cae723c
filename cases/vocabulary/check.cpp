#include "check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "integers.h"
#include "layout.h"
#include "shape_function.h"
#include "view.h"

namespace assay {
namespace {

// "i64 or i32"
std::string names(const std::vector<Dtype>& dtypes) {
  std::string list;
  for (const Dtype d : dtypes) list += fmt::format("{}{}", list.empty() ? "" : " or ", name(d));
  return list;
}

class Check {
 public:
  Check(const Operator& op, std::span<const assay_value> arguments) : op_(op), values_(arguments) {}

  Checked run() {
    if (values_.size() != op_.schema.argument_count) {
      checked_.fault = Checked::Fault::arguments;
      checked_.error = fmt::format("{}: {} arguments given, the schema has {}: {}", op_.schema.name,
                                   values_.size(), op_.schema.argument_count, op_.schema.text);
      return checked_;
    }
    const auto step = [&](Checked::Fault fault, auto&& look) {
      if (!checked_.ok()) return;
      look();
      if (!checked_.ok()) checked_.fault = about_dtype_ ? Checked::Fault::dtype : fault;
    };
    step(Checked::Fault::arguments, [&] {
      for (std::size_t i = 0; i < values_.size() && checked_.ok(); ++i) kind(i);
    });
    step(Checked::Fault::dtype, [&] { dtypes(); });
    step(Checked::Fault::shape, [&] { match(); });
    step(Checked::Fault::attribute, [&] {
      for (std::size_t i = 0; i < values_.size() && checked_.ok(); ++i) attribute(i);
    });
    step(Checked::Fault::shape, [&] { results(); });
    // Last, because where anything else is wrong nobody knows what their numbers are converted to.
    step(Checked::Fault::attribute, [&] {
      for (std::size_t i = 0; i < values_.size() && checked_.ok(); ++i) nonzero(i);
    });
    if (!checked_.ok()) checked_.outputs.clear();
    return checked_;
  }

 private:
  const Argument& argument(std::size_t i) const { return op_.schema.argument_storage[i]; }

  template <class... Args>
  void fail(std::size_t i, fmt::format_string<Args...> format, Args&&... args) {
    checked_.argument = argument(i).name;
    checked_.error = fmt::format("{}: {} {}", op_.schema.name, argument(i).name,
                                 fmt::format(format, std::forward<Args>(args)...));
  }

  void kind(std::size_t i) {
    const Argument& a = argument(i);
    const std::uint32_t k = values_[i].kind;
    if (k == ASSAY_KIND_NONE) {
      if (!a.optional) fail(i, "is None, but the schema does not make it optional");
      return;
    }
    const auto fits = [&] {
      if (a.list) {
        if (a.type == Type::tensor) return k == ASSAY_KIND_TENSORS;
        if (a.type == Type::real) return k == ASSAY_KIND_DOUBLES;
        return k == (a.type == Type::boolean ? ASSAY_KIND_BOOLS : ASSAY_KIND_INTS);
      }
      switch (a.type) {
        case Type::tensor:
          return k == ASSAY_KIND_TENSOR;
        case Type::scalar:
          return k == ASSAY_KIND_INT || k == ASSAY_KIND_DOUBLE || k == ASSAY_KIND_BOOL;
        case Type::integer:
          return k == ASSAY_KIND_INT;
        case Type::real:
          return k == ASSAY_KIND_DOUBLE || k == ASSAY_KIND_INT;
        case Type::boolean:
          return k == ASSAY_KIND_BOOL;
        case Type::string:
          return k == ASSAY_KIND_STRING;
        case Type::dtype:
          return k == ASSAY_KIND_DTYPE;
        case Type::memory_format:
          return k == ASSAY_KIND_MEMORY_FORMAT && values_[i].as.integer >= 0 &&
                 values_[i].as.integer < static_cast<std::int64_t>(kMemoryFormats.size());
      }
      return false;
    };
    if (!fits()) fail(i, "is of another kind than the schema says: {}", op_.schema.text);
  }

  const View& tensor(std::size_t i) const { return *static_cast<const View*>(values_[i].as.tensor); }
  bool is_tensor(std::size_t i) const { return values_[i].kind == ASSAY_KIND_TENSOR; }

  bool has_own_dtype(std::size_t i) const { return !domain(op_, argument(i).name).own.empty(); }

  void dtypes() {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < values_.size() && checked_.ok(); ++i) {
      if (!is_tensor(i)) continue;
      const std::optional<Dtype> d = dtype_of(tensor(i).dtype);
      if (const std::vector<Dtype> own = domain(op_, argument(i).name).own; !own.empty()) {
        if (!d || std::ranges::find(own, *d) == own.end())
          fail(i, "has dtype {}, but must be {}", d ? name(*d) : "unknown", names(own));
        continue;
      }
      if (!d || !op_.dtypes.contains(*d)) {
        fail(i, "has dtype {}, which {} does not take", d ? name(*d) : "unknown", op_.schema.name);
        return;
      }
      if (!first)
        first = i;
      else if (op_.dtype_rule != DtypeRule::promote && *d != tensor(*first).type())
        fail(i, "has dtype {}, but {} has {}", name(*d), argument(*first).name, name(tensor(*first).type()));
    }
    for (std::size_t i = 0; i < values_.size() && checked_.ok(); ++i) dtype_of_tensor(i);
    if (first) first_ = tensor(*first).type();
    if (checked_.ok()) result_ = result_dtype(first);
  }

  void dtype_of_tensor(std::size_t i) {
    const Domain& d = domain(op_, argument(i).name);
    if (d.kind != Domain::Kind::dtype_of || values_[i].kind != ASSAY_KIND_DTYPE) return;
    const auto of = static_cast<std::size_t>(d.of);
    const std::optional<Dtype> dtype = dtype_of(values_[i].as.dtype);
    if (dtype != tensor(of).type())
      fail(i, "is {}, but must be {}, the dtype of {}", dtype ? name(*dtype) : "unknown",
           name(tensor(of).type()), argument(of).name);
  }

  Dtype result_dtype(std::optional<std::size_t> first) const {
    Dtype result = first ? tensor(*first).type() : Dtype::f32;
    if (op_.dtype_rule == DtypeRule::promote) {
      // torch.result_type: tensors with dimensions decide, zero-dimensional ones only among themselves or when they
      // are of a higher kind (floating point over integer).
      std::optional<Dtype> by_rank[2];
      for (std::size_t i = 0; i < values_.size(); ++i) {
        if (!is_tensor(i) || has_own_dtype(i)) continue;
        std::optional<Dtype>& d = by_rank[tensor(i).rank() > 0 ? 1 : 0];
        d = d ? promote(*d, tensor(i).type()) : tensor(i).type();
      }
      if (!by_rank[1]) return by_rank[0].value_or(result);
      result = *by_rank[1];
      if (by_rank[0] && is_float(*by_rank[0]) && !is_float(result)) result = *by_rank[0];
    } else if (op_.dtype_rule == DtypeRule::dtype_argument) {
      const int i = op_.schema.find("dtype");
      if (i >= 0 && values_[static_cast<std::size_t>(i)].kind == ASSAY_KIND_DTYPE)
        return dtype_of(values_[static_cast<std::size_t>(i)].as.dtype).value_or(result);
      if (!is_float(result)) result = Dtype::i64;
    }
    return result;
  }

  void match() {
    match_ = match_shapes(op_, values_);
    blame(match_.argument, std::move(match_.error));
  }

  void results() {
    ResultShapes r = result_shapes(op_, match_, values_);
    blame(r.argument, std::move(r.error));
    for (const auto& [i, shape] : r.arguments) {
      const auto given = tensor(static_cast<std::size_t>(i)).sizes();
      if (checked_.ok() && !std::ranges::equal(given, shape))
        fail(static_cast<std::size_t>(i), "has shape [{}], but must have shape [{}]",
             text({given.begin(), given.end()}), text(shape));
    }
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (domain(op_, argument(i).name).kind == Domain::Kind::mask)
        for (std::size_t k = 0; k < r.shapes.size(); ++k)
          if (values_[i].as.integers[k] == 0) r.shapes[k] = {0};
    for (std::size_t k = 0; k < r.shapes.size(); ++k)
      checked_.outputs.push_back(
          {(op_.positions >> k & 1) != 0 ? Dtype::i64 : result_, std::move(r.shapes[k]), result_});
  }

  void blame(int i, std::string error) {
    if (error.empty()) return;
    checked_.error = std::move(error);
    checked_.argument = argument(static_cast<std::size_t>(i)).name;
  }

  // Of a tensor that integers are divided by, converted to their dtype first; where there is data to look at.
  void nonzero(std::size_t i) {
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
  void index(std::size_t i, const Domain& d) {
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

  void given(std::size_t i, const Domain& d) {
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
  void integer_attribute(std::size_t i, const Domain& d) {
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

  void attribute(std::size_t i) {
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
          fail(i, "has {} values, but must have one for each of {} results", v.count,
               op_.schema.result_count);
        for (std::size_t k = 0; k < std::min<std::size_t>(v.count, d.choices.size()); ++k)
          if (v.as.integers[k] != 0 &&
              values_[static_cast<std::size_t>(op_.schema.find(d.choices[k]))].kind == ASSAY_KIND_NONE)
            return fail(i, "asks for the result of {}, which is None", d.choices[k]);
        return;
      default:
        return;
    }
  }

  void spatial(std::size_t i, const Domain& d) {
    const assay_value& v = values_[i];
    const Argument& a = argument(i);
    const std::int64_t all =
        d.of < 0 ? a.list_size : std::max(tensor(static_cast<std::size_t>(d.of)).rank() - 2, 0);
    const std::span<const std::int64_t> list(v.as.integers, v.count);
    const bool may_be_empty = a.has_default && a.default_text == "[]";
    if (!(v.count == 1 || v.count == all || (v.count == 0 && may_be_empty)))
      return fail(i, "is [{}], but must have {} numbers, or one for all dimensions", fmt::join(list, ","),
                  all);
    const std::int64_t least = d.kind == Domain::Kind::naturals ? 0 : 1;
    if (std::ranges::any_of(list, [&](std::int64_t n) { return n < least; }))
      return fail(i, "is [{}], but must {}", fmt::join(list, ","),
                  least == 1 ? "be positive" : "not be negative");
    if (std::ranges::any_of(list, [](std::int64_t n) { return n > kMostSpatial; }))
      return fail(i, "is [{}], but must not be above {}", fmt::join(list, ","), kMostSpatial);
  }

  // Of a list, of one number, or, where it is None or empty, all of them.
  void axes(std::size_t i, const Domain& d) {
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

  const Operator& op_;
  std::span<const assay_value> values_;
  bool about_dtype_ = false;  // what is wrong with an attribute: it does not fit the dtype of the results
  Checked checked_;
  std::optional<Dtype> first_;  // of the first tensor whose dtype the dtype rule is about
  Dtype result_ = Dtype::f32;
  ShapeMatch match_;
};

}  // namespace

Checked check_arguments(const Operator& op, std::span<const assay_value> arguments) {
  return Check(op, arguments).run();
}

std::vector<std::pair<int, Shape>> computed_shapes(const Operator& op,
                                                   std::span<const assay_value> arguments) {
  const Checked checked = check_arguments(op, arguments);
  if (!checked.ok() && checked.fault != Checked::Fault::shape) return {};
  const ShapeMatch match = match_shapes(op, arguments);
  if (!match.error.empty()) return {};
  ResultShapes shapes = result_shapes(op, match, arguments);
  return shapes.error.empty() ? std::move(shapes.arguments) : std::vector<std::pair<int, Shape>>{};
}

}  // namespace assay
