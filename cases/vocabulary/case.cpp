#include "case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "check.h"
#include "operators.h"

namespace assay {
namespace {

[[noreturn]] void bad(std::string_view field, std::string_view text, std::string_view why) {
  throw CaseError(fmt::format("bad case text: {} is \"{}\": {}", field, text, why));
}

std::int64_t integer(std::string_view field, std::string_view s) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc{} || end != s.data() + s.size()) bad(field, s, "not an integer");
  return value;
}

// What needs no quotes within a case.
bool is_plain(std::string_view s) {
  return std::ranges::all_of(s, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  });
}

// The position of `separator` outside of brackets, parentheses and quotes.
std::size_t find_outside(std::string_view s, char separator) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == separator && depth == 0) return i;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = find_outside(s, separator);
    parts.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return parts;
    s.remove_prefix(at + 1);
  }
}

Shape parse_shape(std::string_view field, std::string_view whole) {
  Shape shape;
  if (whole.empty()) return shape;
  for (const std::string_view size : split(whole, 'x')) {
    std::int64_t n = -1;
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), n);
    if (error != std::errc{} || end != size.data() + size.size() || n < 0)
      bad(field, whole, "sizes are whole numbers from 0, joined by \"x\": 2x3x4");
    shape.push_back(n);
  }
  return shape;
}

Layout layout_of(std::string_view field, std::string_view whole, std::string_view layout) {
  try {
    return parse_layout(layout);
  } catch (const CaseError& e) {
    bad(field, whole, e.what());
  }
}

// "f32[2x3]@step2", "[2x3]" or "2x3".
TensorSpec parse_tensor(std::string_view field, std::string_view s, std::optional<Dtype> fallback) {
  TensorSpec t;
  const std::size_t open = s.find('[');
  std::string_view dtype_text;
  if (open == std::string_view::npos) {
    if (s.find('@') != std::string_view::npos) bad(field, s, "a layout needs brackets: [2x3]@step2");
    t.shape = parse_shape(field, s);
  } else {
    const std::size_t close = s.find(']');
    if (close == std::string_view::npos) bad(field, s, "\"]\" is missing");
    dtype_text = s.substr(0, open);
    t.shape = parse_shape(field, s.substr(open + 1, close - open - 1));
    const std::string_view rest = s.substr(close + 1);
    if (rest.starts_with('@'))
      t.layout = layout_of(field, s, rest.substr(1));
    else if (!rest.empty())
      bad(field, s, "text after \"]\" that is no \"@layout\"");
  }
  if (!dtype_text.empty()) {
    const std::optional<Dtype> d = dtype_named(dtype_text);
    if (!d) bad(field, s, fmt::format("\"{}\" is not a dtype", dtype_text));
    t.dtype = *d;
  } else if (fallback) {
    t.dtype = *fallback;
  } else {
    bad(field, s, "it has no dtype (write f32[2x3], or op:f32:...)");
  }
  try {
    strided(t.shape, t.layout);
  } catch (const CaseError& e) {
    bad(field, s, e.what());
  }
  return t;
}

double real(std::string_view field, std::string_view s) {
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc{} || end != s.data() + s.size()) bad(field, s, "not a number");
  return value;
}

bool looks_integer(std::string_view s) {
  if (s.starts_with('-')) s.remove_prefix(1);
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}

CaseValue parse_scalar(std::string_view field, std::string_view s, const Argument& a) {
  switch (a.type) {
    case Type::integer:
      return integer(field, s);
    case Type::real:
      return real(field, s);
    case Type::scalar:
      if (looks_integer(s)) return integer(field, s);
      return real(field, s);
    case Type::boolean:
      if (s == "true" || s == "True") return true;
      if (s == "false" || s == "False") return false;
      bad(field, s, "neither true nor false");
    case Type::string:
      if (s.size() >= 2 && (s.front() == '"' || s.front() == '\'') && s.back() == s.front())
        s = s.substr(1, s.size() - 2);
      if (!is_plain(s))
        bad(field, s, "a string is written with letters, digits, \"_\", \"-\" and \".\" only");
      return std::string(s);
    case Type::dtype: {
      const std::optional<Dtype> d = dtype_named(s);
      if (!d) bad(field, s, "not a dtype");
      return *d;
    }
    case Type::memory_format: {
      const auto at = std::ranges::find(kMemoryFormats, s);
      if (at == kMemoryFormats.end())
        bad(field, s, fmt::format("not a memory format ({})", fmt::join(kMemoryFormats, ", ")));
      return static_cast<MemoryFormat>(at - kMemoryFormats.begin());
    }
    case Type::tensor:
      break;
  }
  return None{};
}

CaseValue parse_value(std::string_view s, const Argument& a, std::optional<Dtype> dtype) {
  const std::string_view field = a.name;
  const bool is_text = a.type == Type::string && !a.list && !a.optional;  // gelu's approximate=none
  if (!is_text && (s == "none" || s == "None")) {
    if (!a.optional) bad(field, s, "the schema does not make it optional");
    return None{};
  }
  if (a.type == Type::tensor && !a.list) return parse_tensor(field, s, dtype);
  if (!a.list) return parse_scalar(field, s, a);

  std::vector<std::string_view> items;
  if (s.starts_with('[') && s.ends_with(']')) {
    s = s.substr(1, s.size() - 2);
    while (s.starts_with(' ')) s.remove_prefix(1);
    if (!s.empty()) items = split(s, ',');
  } else if (a.list_size > 0 && a.type != Type::tensor) {
    items.assign(static_cast<std::size_t>(a.list_size), s);  // one number stands for all of int[2]
  } else {
    bad(field, s, "a list is written [1,2]");
  }
  for (std::string_view& item : items)
    while (item.starts_with(' ')) item.remove_prefix(1);
  if (a.type == Type::tensor) {
    std::vector<TensorSpec> list;
    for (const std::string_view item : items) list.push_back(parse_tensor(field, item, dtype));
    return list;
  }
  if (a.type == Type::real) {
    std::vector<double> list;
    for (const std::string_view item : items) list.push_back(real(field, item));
    return list;
  }
  std::vector<std::int64_t> list;
  for (const std::string_view item : items)
    list.push_back(a.type == Type::boolean ? static_cast<std::int64_t>(item == "true" || item == "True")
                                           : integer(field, item));
  return list;
}

std::string tensor_text(const TensorSpec& t, bool with_dtype) {
  const std::string dims = text(t.shape);
  if (!with_dtype && t.layout == Layout{} && !t.shape.empty()) return dims;
  const std::string s = fmt::format("{}[{}]", with_dtype ? name(t.dtype) : "", dims);
  return t.layout == Layout{} ? s : s + "@" + text(t.layout);
}

std::string number_text(double x) {
  // Shortest text that reads back the same, and never mistaken for an integer.
  std::string s = fmt::format("{}", x);
  return s.find_first_not_of("-0123456789") == std::string::npos ? s + ".0" : s;
}

std::string argument_text(const CaseValue& value, const Argument& a, bool with_dtype) {
  if (const auto* t = std::get_if<TensorSpec>(&value)) return tensor_text(*t, with_dtype);
  if (const auto* list = std::get_if<std::vector<TensorSpec>>(&value)) {
    std::vector<std::string> items;
    for (const TensorSpec& t : *list) items.push_back(tensor_text(t, with_dtype));
    return fmt::format("[{}]", fmt::join(items, ","));
  }
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
      list != nullptr && a.type == Type::boolean) {
    std::vector<std::string_view> items;
    for (const std::int64_t i : *list) items.push_back(i != 0 ? "true" : "false");
    return fmt::format("[{}]", fmt::join(items, ","));
  }
  return text(value);
}

// Tensors of the dtype that is usual for their argument alone need not say it.
std::optional<Dtype> own_dtype(const Operator& op, std::size_t argument) {
  const std::vector<Dtype> own = domain(op, op.schema.argument_storage[argument].name).own;
  return own.empty() ? std::nullopt : std::optional(own.front());
}

// Of all tensors that may have any.
std::optional<Dtype> shared_dtype(const Case& c) {
  std::optional<Dtype> shared;
  const auto see = [&](const TensorSpec& t) {
    if (shared && *shared != t.dtype) return false;
    shared = t.dtype;
    return true;
  };
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const CaseValue& v = c.arguments[i];
    if (const auto* t = std::get_if<TensorSpec>(&v)) {
      const std::optional<Dtype> own = own_dtype(*c.op, i);
      if (own ? t->dtype != *own : !see(*t)) return std::nullopt;
    }
    if (const auto* list = std::get_if<std::vector<TensorSpec>>(&v))
      for (const TensorSpec& t : *list)
        if (!see(t)) return std::nullopt;
  }
  return shared;
}

}  // namespace

CaseValue parse_argument(std::string_view text, const Argument& a) {
  return parse_value(text, a, std::nullopt);
}

CaseValue default_value(const Argument& a) { return parse_value(a.default_text, a, std::nullopt); }

std::string_view operator_in(std::string_view whole) {
  std::size_t colon = whole.find(':');
  if (colon != std::string_view::npos && whole.substr(colon).starts_with("::") &&
      is_namespace(whole.substr(0, colon)))
    colon = whole.find(':', colon + 2);
  return whole.substr(0, colon);
}

Case parse_case(std::string_view whole) {
  Case c;
  std::vector<std::string_view> parts = split(whole, ':');
  if (const std::string_view op = operator_in(whole); op.size() > parts[0].size()) {
    parts.erase(parts.begin() + 1, parts.begin() + 3);
    parts[0] = op;
  }
  c.op = &operator_named(parts[0]);
  std::size_t at = 1;
  std::optional<Dtype> dtype;
  if (at < parts.size()) {
    dtype = dtype_named(parts[at]);
    if (dtype) ++at;
  }
  const auto arguments = c.op->schema.arguments();
  std::vector<bool> given(arguments.size(), false);
  c.arguments.assign(arguments.size(), None{});
  if (at < parts.size() && !parts[at].empty()) {
    const std::size_t first_equals = parts[at].find('=');
    if (first_equals == std::string_view::npos)
      bad("dtype or arguments", parts[at], "neither a dtype nor name=value");
    const std::string_view first = parts[at].substr(0, first_equals);
    if (c.op->schema.find(first) >= 0 || (first != "data" && first != "seed")) {
      for (const std::string_view item : split(parts[at], ',')) {
        const std::size_t equals = item.find('=');
        if (equals == std::string_view::npos) bad("argument", item, "not name=value");
        const int i = c.op->schema.find(item.substr(0, equals));
        if (i < 0)
          bad("argument", item,
              fmt::format("{} has no such argument: {}", c.op->schema.name, c.op->schema.text));
        const auto index = static_cast<std::size_t>(i);
        if (given[index]) bad("argument", item, "given twice");
        given[index] = true;
        const std::optional<Dtype> own = own_dtype(*c.op, index);
        c.arguments[index] = parse_value(item.substr(equals + 1), arguments[index], own ? own : dtype);
      }
      ++at;
    }
  }
  std::vector<std::string_view> known;
  for (; at < parts.size(); ++at) {
    if (parts[at].empty()) continue;
    const std::size_t equals = parts[at].find('=');
    const std::string_view key = parts[at].substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : parts[at].substr(equals + 1);
    if (std::ranges::find(known, key) != known.end()) bad(key, value, "given twice");
    known.push_back(key);
    if (key == "data") {
      if (value.empty() || !is_plain(value)) bad("data", value, "not the name of a data family");
      c.data = value;
    } else if (key == "seed") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), c.seed);
      if (error != std::errc{} || end != value.data() + value.size())
        bad("seed", value, "not a number from 0 to 2^64-1");
    } else {
      bad("key", parts[at], "keys are data=FAMILY and seed=NUMBER");
    }
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (given[i]) continue;
    if (!arguments[i].has_default && !arguments[i].optional)
      throw CaseError(
          fmt::format("bad case text: argument \"{}\" is missing: {}", arguments[i].name, c.op->schema.text));
    c.arguments[i] = arguments[i].has_default ? default_value(arguments[i]) : CaseValue{None{}};
  }
  return c;
}

bool operator==(const Case& a, const Case& b) {
  const auto same_number = [](double x, double y) {
    return x == y ? std::signbit(x) == std::signbit(y) : std::isnan(x) && std::isnan(y);
  };
  const auto same = [&](const CaseValue& x, const CaseValue& y) {
    if (x.index() != y.index()) return false;
    if (const auto* number = std::get_if<double>(&x)) return same_number(*number, std::get<double>(y));
    if (const auto* list = std::get_if<std::vector<double>>(&x))
      return std::ranges::equal(*list, std::get<std::vector<double>>(y), same_number);
    return x == y;
  };
  return a.op == b.op && a.data == b.data && a.seed == b.seed &&
         std::ranges::equal(a.arguments, b.arguments, same);
}

std::string text(const CaseValue& value) {
  struct Printer {
    std::string operator()(None) const { return "none"; }
    std::string operator()(const TensorSpec& t) const { return tensor_text(t, true); }
    std::string operator()(std::int64_t i) const { return fmt::format("{}", i); }
    std::string operator()(double d) const { return number_text(d); }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(Dtype d) const { return std::string(name(d)); }
    std::string operator()(MemoryFormat f) const { return std::string(name(f)); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ","));
    }
    std::string operator()(const std::vector<double>& v) const {
      std::vector<std::string> items;
      for (const double d : v) items.push_back(number_text(d));
      return fmt::format("[{}]", fmt::join(items, ","));
    }
    std::string operator()(const std::vector<TensorSpec>& v) const {
      std::vector<std::string> items;
      for (const TensorSpec& t : v) items.push_back(tensor_text(t, true));
      return fmt::format("[{}]", fmt::join(items, ","));
    }
  };
  return std::visit(Printer{}, value);
}

std::string text(const Case& c) {
  const std::optional<Dtype> dtype = shared_dtype(c);
  std::vector<std::string> items;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = c.op->schema.argument_storage[i];
    if (a.has_default && !a.is_tensor() && c.arguments[i] == default_value(a)) continue;
    items.push_back(fmt::format("{}={}", a.name, argument_text(c.arguments[i], a, !dtype)));
  }
  return fmt::format("{}:{}{}:data={}:seed={}", c.op->schema.name,
                     dtype ? fmt::format("{}:", name(*dtype)) : "", fmt::join(items, ","), c.data, c.seed);
}

}  // namespace assay
