#include "check.h"

#include <fmt/format.h>

#include <algorithm>

#include "attribute_check.h"
#include "graph/graph_check.h"
#include "layout.h"
#include "shape_function.h"

namespace assay {
namespace {

// "i64 or i32"
std::string names(const std::vector<Dtype>& dtypes) {
  std::string list;
  for (const Dtype d : dtypes) list += fmt::format("{}{}", list.empty() ? "" : " or ", name(d));
  return list;
}

class Check : AttributeCheck {
 public:
  Check(const Operator& op, std::span<const assay_value> arguments) : AttributeCheck(op, arguments) {}

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
    if (op_.graph != nullptr) {
      step(Checked::Fault::attribute, [&] {
        for (std::size_t i = 0; i < values_.size() && checked_.ok(); ++i) attribute(i);
      });
      return checked_.ok() ? check_graph(op_, values_) : checked_;
    }
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
      std::vector<const View*> decide;
      for (std::size_t i = 0; i < values_.size(); ++i)
        if (is_tensor(i) && !has_own_dtype(i)) decide.push_back(&tensor(i));
      if (!decide.empty()) result = promoted(decide.data(), decide.size());
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
      checked_.outputs.push_back({(op_.positions >> k & 1) != 0 ? Dtype::i64
                                  : (op_.truths >> k & 1) != 0  ? Dtype::boolean
                                                                : result_,
                                  std::move(r.shapes[k]), result_});
  }

  void blame(int i, std::string error) {
    if (error.empty()) return;
    checked_.error = std::move(error);
    checked_.argument = argument(static_cast<std::size_t>(i)).name;
  }

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
