#include "request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/text.h"

namespace assay::serve {
namespace {

using nlohmann::json;

// A piece of a request as a message has it: on one line, and not for ever.
std::string quoted(const json& j) {
  constexpr std::size_t kMost = 60;
  std::string text = printable(j.dump(-1, ' ', true, json::error_handler_t::replace));
  if (text.size() > kMost) text = text.substr(0, kMost) + "..";
  return text;
}
std::string quoted(const std::string& s) { return quoted(json(s)); }

template <class... Args>
[[noreturn]] void wrong(std::string_view kind, fmt::format_string<Args...> format, Args&&... args) {
  throw RequestError(kind, fmt::format(format, std::forward<Args>(args)...));
}

// A whole number that 64 bits hold.
std::optional<std::int64_t> integer(const json& j) {
  if (j.is_number_unsigned()) {
    const auto n = j.get<std::uint64_t>();
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(n);
  }
  if (j.is_number_integer()) return j.get<std::int64_t>();
  return std::nullopt;
}

const json* find(const json& object, std::string_view key) {
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

std::vector<std::int64_t> sizes(const json& tensor, std::string_view key, const std::string& whose) {
  std::vector<std::int64_t> all;
  const json* list = find(tensor, key);
  if (list == nullptr || !list->is_array())
    wrong(kTensor, "{}: its {} is {}, but must be a list of whole numbers", whose, key,
          list == nullptr ? "missing" : quoted(*list));
  if (list->size() > kMostRank)
    wrong(kTensor, "{}: it has {} dimensions, and a tensor has up to {}", whose, list->size(), kMostRank);
  for (const json& item : *list) {
    const auto n = integer(item);
    if (!n || *n < 0)
      wrong(kTensor, "{}: {} is no {}: it must be a whole number from 0{}", whose, quoted(item),
            key == "shape" ? "size" : "stride",
            n && key == "strides" ? " (a tensor that runs backwards must be copied first)" : "");
    all.push_back(*n);
  }
  return all;
}

// Far beyond any memory, and far from where products of 64-bit numbers overflow.
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

// Elements from the first to the last; nothing where they, or the elements, are more than any memory has.
std::optional<std::int64_t> span_of(const Shape& shape, const std::vector<std::int64_t>& strides) {
  std::int64_t last = 0, elements = 1;
  bool empty = false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t reach = 0;
    const std::int64_t size = std::max<std::int64_t>(shape[d], 1);
    if (__builtin_mul_overflow(size - 1, strides[d], &reach) || __builtin_add_overflow(last, reach, &last) ||
        __builtin_mul_overflow(elements, size, &elements) || elements > kMostElements ||
        last >= kMostElements)
      return std::nullopt;
    empty = empty || shape[d] == 0;
  }
  return empty ? 0 : last + 1;
}

std::vector<std::int64_t> dense(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    // Where it does not fit, span_of() says so: the sizes are those of a tensor that has too many elements.
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(shape[d], 1), &step))
      step = std::numeric_limits<std::int64_t>::max();
  }
  return strides;
}

TensorPlace tensor(const json& j, std::uint64_t memory, const std::string& whose) {
  if (!j.is_object()) wrong(kTensor, "{}: {} is no tensor", whose, quoted(j));
  TensorPlace t;
  const json* dtype = find(j, "dtype");
  const auto known =
      dtype != nullptr && dtype->is_string() ? dtype_named(dtype->get<std::string>()) : std::nullopt;
  if (!known)
    wrong(kTensor, "{}: its dtype is {}, which is none (f64 f32 f16 bf16 ...)", whose,
          dtype == nullptr ? "missing" : quoted(*dtype));
  t.dtype = *known;
  t.shape = sizes(j, "shape", whose);
  t.strides = j.contains("strides") ? sizes(j, "strides", whose) : dense(t.shape);
  if (t.strides.size() != t.shape.size())
    wrong(kTensor, "{}: it has {} strides for {} dimensions", whose, t.strides.size(), t.shape.size());
  const auto span = span_of(t.shape, t.strides);
  if (!span) wrong(kTensor, "{}: [{}] has more elements than any memory", whose, text(t.shape));
  t.span = *span;
  const json* offset = find(j, "offset");
  const auto at = offset == nullptr ? std::optional<std::int64_t>(0) : integer(*offset);
  if (!at || *at < 0)
    wrong(kTensor, "{}: its offset is {}: it must be a whole number from 0", whose, quoted(*offset));
  t.offset = static_cast<std::uint64_t>(*at);
  const auto size = static_cast<std::uint64_t>(bytes(t.dtype));
  const auto elements = static_cast<std::uint64_t>(t.span);
  if (elements > 0 && (t.offset > memory || elements > (memory - t.offset) / size))
    wrong(kTensor, "{}: {}[{}] at byte {} does not lie in the {} bytes that came with the request", whose,
          name(t.dtype), text(t.shape), t.offset, memory);
  return t;
}

double special_number(const json& j, const std::string& whose) {
  if (j == "inf") return std::numeric_limits<double>::infinity();
  if (j == "-inf") return -std::numeric_limits<double>::infinity();
  if (j == "nan") return std::numeric_limits<double>::quiet_NaN();
  wrong(kProtocol, "{}: {} is no number: inf, -inf or nan", whose, quoted(j));
}

RequestValue value(const json& j, std::uint64_t memory, const std::string& whose, std::size_t depth) {
  if (j.is_null()) return {None{}};
  if (j.is_boolean()) return {j.get<bool>()};
  if (j.is_number_float()) return {j.get<double>()};
  if (j.is_number()) {
    const auto n = integer(j);
    if (!n) wrong(kArgument, "{}: {} is too large for 64 bits", whose, quoted(j));
    return {*n};
  }
  if (j.is_string()) return {j.get<std::string>()};
  if (j.is_array()) {
    if (depth == 0) wrong(kProtocol, "{}: its lists are nested too deeply", whose);
    RequestList list;
    for (std::size_t i = 0; i < j.size(); ++i)
      list.push_back(value(j[i], memory, fmt::format("{}[{}]", whose, i), depth - 1));
    return {std::move(list)};
  }
  if (j.is_object() && j.size() == 1) {
    const std::string& key = j.begin().key();
    const json& item = j.begin().value();
    if (key == "tensor") return {tensor(item, memory, whose)};
    if (key == "number") return {special_number(item, whose)};
    if (key == "dtype" && item.is_string()) {
      if (const auto dtype = dtype_named(item.get<std::string>())) return {*dtype};
      wrong(kArgument, "{}: {} is not a dtype", whose, quoted(item));
    }
    if (key == "format" && item.is_string()) {
      const auto at = std::ranges::find(kMemoryFormats, item.get<std::string>());
      if (at == kMemoryFormats.end()) wrong(kArgument, "{}: {} is not a memory format", whose, quoted(item));
      return {static_cast<MemoryFormat>(at - kMemoryFormats.begin())};
    }
  }
  wrong(kProtocol, "{}: {} is no value", whose, quoted(j));
}

RequestList list(const json& request, std::string_view key, std::uint64_t memory) {
  RequestList all;
  const json* items = find(request, key);
  if (items == nullptr) return all;
  if (!items->is_array()) wrong(kProtocol, "{} is {}, but must be a list", key, quoted(*items));
  const std::string_view one = key == "results" ? "result" : "argument";
  for (std::size_t i = 0; i < items->size(); ++i)
    all.push_back(value((*items)[i], memory, fmt::format("{} {}", one, i), kMostNesting));
  return all;
}

std::string string(const json& request, std::string_view key) {
  const json* s = find(request, key);
  if (s == nullptr || s->is_null()) return {};
  if (!s->is_string()) wrong(kProtocol, "{} is {}, but must be a text", key, quoted(*s));
  return s->get<std::string>();
}

// 0 where it is left out.
std::uint64_t whole(const json& request, std::string_view key, std::uint64_t most) {
  const json* given = find(request, key);
  if (given == nullptr) return 0;
  const auto n = integer(*given);
  if (!n || *n < 0 || static_cast<std::uint64_t>(*n) > most)
    wrong(kArgument, "{} is {}: it must be a whole number from 0 to {}", key, quoted(*given), most);
  return static_cast<std::uint64_t>(*n);
}

// 0 where it is left out.
double tolerance(const json& request, std::string_view key) {
  const json* given = find(request, key);
  if (given == nullptr) return 0;
  if (!given->is_number() || !(given->get<double>() >= 0) || !std::isfinite(given->get<double>()))
    wrong(kArgument, "{} is {}: it must be a number from 0", key, quoted(*given));
  return given->get<double>();
}

Asked asked(const std::string& word) {
  constexpr std::array<std::string_view, 8> kWords{"judge",     "bounds", "diagnose", "diff",
                                                   "operators", "cases",  "call",     "audit"};
  const auto at = std::ranges::find(kWords, word);
  if (at == kWords.end())
    wrong(kProtocol,
          "there is no request {}: they are judge, bounds, diagnose, diff, operators, cases, call and audit",
          quoted(word));
  return static_cast<Asked>(at - kWords.begin());
}

void check_results(const RequestList& results) {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!std::holds_alternative<TensorPlace>(results[i].is) && !std::holds_alternative<None>(results[i].is))
      wrong(kArgument, "result {} is neither a tensor nor None", i);
}

std::optional<std::uint64_t> sample(const json& request) {
  const json* s = find(request, "sample");
  if (s == nullptr || s->is_null()) return std::nullopt;
  if (*s == "all") return kAllElements;
  const auto n = integer(*s);
  if (!n || *n < 1)
    wrong(kArgument, "sample is {}: it must be a whole number from 1, or \"all\"", quoted(*s));
  return static_cast<std::uint64_t>(*n);
}

// Of brackets that stand within each other, outside of texts: what is printed or taken apart recursively must have an end.
std::size_t depth_of(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return deepest;
}

}  // namespace

Request parse_request(std::string_view text, std::uint64_t memory) {
  if (depth_of(text) > kMostDepth) wrong(kProtocol, "a request is nested too deeply");
  const json j = json::parse(text, nullptr, false);
  if (j.is_discarded()) wrong(kProtocol, "a request is no JSON");
  if (!j.is_object()) wrong(kProtocol, "a request is an object, not {}", quoted(j));
  Request r;
  r.asked = asked(string(j, "do"));
  r.op = string(j, "op");
  r.graph = string(j, "graph");
  r.contract = string(j, "contract");
  r.arguments = list(j, "arguments", memory);
  r.results = list(j, "results", memory);
  check_results(r.results);
  if (const json* keywords = find(j, "keywords")) {
    if (!keywords->is_object()) wrong(kProtocol, "keywords is {}, but must be an object", quoted(*keywords));
    for (const auto& [key, item] : keywords->items())
      r.keywords.emplace_back(key, value(item, memory, key, kMostNesting));
  }
  r.sample = sample(j);
  r.relative = tolerance(j, "relative");
  r.absolute = tolerance(j, "absolute");
  r.case_text = string(j, "case");
  if (const std::string dtype = string(j, "dtype"); !dtype.empty()) {
    if (!dtype_named(dtype))
      wrong(kArgument, "dtype is {}, which is none (f64 f32 f16 bf16 ...)", quoted(dtype));
    r.dtype = *dtype_named(dtype);
  }
  r.count = whole(j, "count", kMostCases);
  r.seed = whole(j, "seed", std::numeric_limits<std::int64_t>::max());
  if (const json* first = find(j, "first")) {
    const auto n = integer(*first);
    if (!n || *n < 0 || *n > 10'000)
      wrong(kArgument, "first is {}: it must be from 0 to 10000", quoted(*first));
    r.first = static_cast<std::uint64_t>(*n);
  }
  if (const json* seconds = find(j, "seconds")) {
    if (!seconds->is_number() || !(seconds->get<double>() >= 0) || seconds->get<double>() > 1e6)
      wrong(kArgument, "seconds is {}: it must be a number from 0 to 1000000", quoted(*seconds));
    r.seconds = seconds->get<double>();
  }
  return r;
}

}  // namespace assay::serve
