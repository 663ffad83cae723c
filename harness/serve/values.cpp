#include "values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operands.h"
#include "reports/text.h"
#include "vocabulary/domain.h"

namespace assay::serve {
namespace {

std::string kind_of(const RequestValue& value) {
  struct Names {
    std::string operator()(None) const { return "None"; }
    std::string operator()(bool b) const { return b ? "True" : "False"; }
    std::string operator()(std::int64_t i) const { return fmt::format("{}", i); }
    std::string operator()(double x) const { return fmt::format("{}", x); }
    std::string operator()(const std::string& s) const {
      return fmt::format("\"{}\"", printable(s.substr(0, 40)));
    }
    std::string operator()(Dtype d) const { return fmt::format("the dtype {}", name(d)); }
    std::string operator()(MemoryFormat f) const { return fmt::format("the memory format {}", name(f)); }
    std::string operator()(const TensorPlace& t) const {
      return fmt::format("the tensor {}[{}]", name(t.dtype), text(t.shape));
    }
    std::string operator()(const RequestList& l) const { return fmt::format("a list of {}", l.size()); }
  };
  return std::visit(Names{}, value.is);
}

std::string_view wanted(const Argument& a) {
  constexpr std::array<std::string_view, 8> kOne{"a tensor", "a number",       "a whole number",
                                                 "a number", "True or False",  "a text",
                                                 "a dtype",  "a memory format"};
  constexpr std::array<std::string_view, 8> kList{
      "a list of tensors",        "a list of numbers", "a list of whole numbers", "a list of numbers",
      "a list of True and False", "a list of texts",   "a list of dtypes",        "a list of memory formats"};
  return (a.list ? kList : kOne)[static_cast<std::size_t>(a.type)];
}

class Conversion {
 public:
  Conversion(const Operator& op, const Argument& argument, const ReadMemory& read)
      : op_(op), argument_(argument), read_(read) {}

  [[noreturn]] void fail(const RequestValue& value) const {
    throw RequestError(kArgument, fmt::format("{}: {} is {}, but must be {}{}: {}", op_.schema.name,
                                              argument_.name, kind_of(value), wanted(argument_),
                                              argument_.optional ? " or None" : "", op_.schema.text));
  }

  // A tensor of one element, where a number is wanted, is that number.
  RequestValue number(const RequestValue& value) const {
    const auto* place = std::get_if<TensorPlace>(&value.is);
    if (place == nullptr || !place->shape.empty()) return value;
    const TensorData t = tensor_at(*place, read_);
    if (t.dtype == Dtype::boolean) return {t.get(0) != 0};
    if (is_float(t.dtype)) return {t.get(0)};
    return {load_integer(t.element(0), t.dtype)};
  }

  std::int64_t integer(const RequestValue& value) const {
    const RequestValue n = number(value);
    if (const auto* i = std::get_if<std::int64_t>(&n.is)) return *i;
    fail(value);
  }
  double real(const RequestValue& value) const {
    const RequestValue n = number(value);
    if (const auto* x = std::get_if<double>(&n.is)) return *x;
    if (const auto* i = std::get_if<std::int64_t>(&n.is)) return static_cast<double>(*i);
    fail(value);
  }
  bool truth(const RequestValue& value) const {
    const RequestValue n = number(value);
    if (const auto* b = std::get_if<bool>(&n.is)) return *b;
    fail(value);
  }

  CallValue one(const RequestValue& value) const {
    const auto* text = std::get_if<std::string>(&value.is);
    switch (argument_.type) {
      case Type::scalar: {
        const RequestValue n = number(value);
        if (const auto* b = std::get_if<bool>(&n.is)) return *b;
        if (const auto* i = std::get_if<std::int64_t>(&n.is)) return *i;
        return real(value);
      }
      case Type::integer:
        return integer(value);
      case Type::real:
        return real(value);
      case Type::boolean:
        return truth(value);
      case Type::string:
        if (text != nullptr) return *text;
        break;
      case Type::dtype:
        if (const auto* d = std::get_if<Dtype>(&value.is)) return *d;
        if (text != nullptr)
          for (int d = 0; d < kDtypes; ++d)
            if (const DtypeInfo& known = kDtypeInfo[static_cast<std::size_t>(d)];
                *text == known.name || *text == known.torch)
              return static_cast<Dtype>(d);
        break;
      case Type::memory_format:
        if (const auto* f = std::get_if<MemoryFormat>(&value.is)) return *f;
        if (text != nullptr)
          if (const auto at = std::ranges::find(kMemoryFormats, *text); at != kMemoryFormats.end())
            return static_cast<MemoryFormat>(at - kMemoryFormats.begin());
        break;
      case Type::tensor:
        break;
    }
    fail(value);
  }

  CallValue list(const RequestValue& value) const {
    const auto* given = std::get_if<RequestList>(&value.is);
    // One number stands for all of int[2].
    RequestList repeated;
    if (given == nullptr) {
      if (argument_.list_size == 0) fail(value);
      repeated.assign(static_cast<std::size_t>(argument_.list_size), value);
      given = &repeated;
    }
    if (argument_.type == Type::real) {
      std::vector<double> all;
      for (const RequestValue& v : *given) all.push_back(real(v));
      return all;
    }
    if (argument_.type != Type::integer && argument_.type != Type::boolean) fail(value);
    std::vector<std::int64_t> all;
    for (const RequestValue& v : *given)
      all.push_back(argument_.type == Type::boolean ? static_cast<std::int64_t>(truth(v)) : integer(v));
    return all;
  }

 private:
  const Operator& op_;
  const Argument& argument_;
  const ReadMemory& read_;
};

TensorData without_memory(const TensorPlace& place) {
  TensorData t;
  t.dtype = place.dtype;
  t.shape = place.shape;
  return t;
}

}  // namespace

CallValue default_of(const Argument& argument) {
  if (!argument.has_default) return None{};
  return std::visit(
      [](auto&& v) -> CallValue {
        using V = std::decay_t<decltype(v)>;
        // No schema has a tensor for a default.
        if constexpr (std::is_same_v<V, TensorSpec> || std::is_same_v<V, std::vector<TensorSpec>>)
          return None{};
        else
          return v;
      },
      default_value(argument));
}

std::optional<Dtype> dtype_of_numbers(const Operator& op, const std::vector<const RequestValue*>& values) {
  if (op.dtype_rule != DtypeRule::promote || op.graph != nullptr) return std::nullopt;
  std::optional<Dtype> among_scalars;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* t = values[i] == nullptr ? nullptr : std::get_if<TensorPlace>(&values[i]->is);
    if (t == nullptr || !is_float(t->dtype) || !domain(op, op.schema.argument_storage[i].name).own.empty())
      continue;
    if (!t->shape.empty()) return Dtype::f64;  // which yields to it, and loses nothing
    among_scalars = among_scalars ? promote(*among_scalars, t->dtype) : t->dtype;
  }
  return among_scalars.value_or(Dtype::f32);
}

CallValue argument_of(const Operator& op, const Argument& argument, const RequestValue& value,
                      std::optional<Dtype> of_numbers, std::vector<const TensorPlace*>& places,
                      const ReadMemory& read) {
  const Conversion conversion(op, argument, read);
  if (std::holds_alternative<None>(value.is)) {
    if (!argument.optional) conversion.fail(value);
    return None{};
  }
  if (!argument.is_tensor()) return argument.list ? conversion.list(value) : conversion.one(value);
  if (!argument.list) {
    if (const auto* t = std::get_if<TensorPlace>(&value.is)) {
      places.push_back(t);
      return without_memory(*t);
    }
    const auto* i = std::get_if<std::int64_t>(&value.is);
    if (!of_numbers || (i == nullptr && !std::holds_alternative<double>(value.is))) conversion.fail(value);
    TensorData number(i != nullptr ? Dtype::i64 : *of_numbers, {});
    if (i != nullptr)
      store_integer(number.element(0), Dtype::i64, *i);
    else
      number.set(0, std::get<double>(value.is));
    return number;
  }
  const auto* list = std::get_if<RequestList>(&value.is);
  if (list == nullptr) conversion.fail(value);
  std::vector<TensorData> all;
  for (const RequestValue& item : *list) {
    const auto* t = std::get_if<TensorPlace>(&item.is);
    if (t == nullptr) conversion.fail(value);
    places.push_back(t);
    all.push_back(without_memory(*t));
  }
  return all;
}

}  // namespace assay::serve
