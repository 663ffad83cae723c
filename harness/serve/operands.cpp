#include "operands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "../generate/check_case.h"
#include "../graph/graph_file.h"
#include "../model/strided_copy.h"
#include "graph/enrol_graph.h"
#include "graph/graph.h"
#include "reports/text.h"
#include "values.h"
#include "vocabulary/operators.h"

namespace assay::serve {
namespace {

constexpr double kGiB = 1 << 30;

std::string spec(Dtype dtype, const Shape& shape) { return fmt::format("{}[{}]", name(dtype), text(shape)); }

const Operator& operator_of_graph(const Request& request) {
  const std::size_t first = request.graph.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && request.graph[first] == '{';
  const std::vector<std::string> texts =
      is_json ? graphs_of_json(request.graph) : std::vector<std::string>{request.graph};
  std::vector<const Operator*> all;
  for (const std::string& text : texts) all.push_back(&enrol_graph_alone(text));
  if (all.size() == 1 && request.op.empty()) return *all[0];
  if (request.op.empty())
    throw RequestError(kOperator, fmt::format("the graph has {} operators: name one of them", all.size()));
  return operator_named(request.op);
}

// Which value each argument of the schema has; nullptr: the default.
std::vector<const RequestValue*> bound(const Operator& op, const Request& request) {
  const auto arguments = op.schema.arguments();
  std::vector<const RequestValue*> values(arguments.size(), nullptr);
  if (request.arguments.size() > arguments.size())
    throw RequestError(kArgument, fmt::format("{} takes {} arguments, and {} were given: {}", op.schema.name,
                                              arguments.size(), request.arguments.size(), op.schema.text));
  for (std::size_t i = 0; i < request.arguments.size(); ++i) values[i] = &request.arguments[i];
  for (const auto& [key, value] : request.keywords) {
    const int i = op.schema.find(key);
    if (i < 0)
      throw RequestError(kArgument, fmt::format("{} has no argument \"{}\": {}", op.schema.name,
                                                printable(key), op.schema.text));
    if (values[static_cast<std::size_t>(i)] != nullptr)
      throw RequestError(kArgument,
                         fmt::format("{}: the argument {} is given twice, by its place and by its name",
                                     op.schema.name, key));
    values[static_cast<std::size_t>(i)] = &value;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (values[i] == nullptr && !arguments[i].has_default && !arguments[i].optional)
      throw RequestError(kArgument, fmt::format("{}: the argument \"{}\" is missing: {}", op.schema.name,
                                                arguments[i].name, op.schema.text));
  return values;
}

// The layout of a tensor as a case has it; packed where its elements overlap in a way that no case has.
Layout layout_of(const TensorPlace& t) {
  if (is_packed(t.shape, t.strides)) return {};
  Layout layout{Layout::Kind::strides, t.strides};
  try {
    strided(t.shape, layout);
  } catch (const CaseError&) {
    return {};
  }
  return layout;
}

CaseValue outline(const CallValue& value, const std::vector<const TensorPlace*>& places) {
  const auto spec_of = [](const TensorPlace& t) { return TensorSpec{t.dtype, t.shape, layout_of(t)}; };
  if (std::holds_alternative<TensorData>(value)) return spec_of(*places[0]);
  if (std::holds_alternative<std::vector<TensorData>>(value)) {
    std::vector<TensorSpec> list;
    for (const TensorPlace* t : places) list.push_back(spec_of(*t));
    return list;
  }
  return std::visit(
      [](const auto& v) -> CaseValue {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, TensorData> || std::is_same_v<V, std::vector<TensorData>>)
          return None{};
        else
          return v;
      },
      value);
}

double count_of(const Shape& shape) {
  double n = 1;
  for (const std::int64_t size : shape) n *= static_cast<double>(size);
  return n;
}

// A call that takes more than the machine has is better turned down than killed for.
class MemoryNeeds {
 public:
  void input(const std::string& what, const TensorSpec& t) {
    // In the call, and as numbers of the reference.
    add(what, t.dtype, t.shape, count_of(t.shape) * (2.0 * bytes(t.dtype) + sizeof(double)));
  }
  void output(const std::string& what, const Checked::Output& o, std::uint64_t intervals) {
    // What came, what is right, as number and rounded, and which elements differ; and an interval with its place.
    const double n = count_of(o.shape), bounded = std::min(n, static_cast<double>(intervals));
    add(what, o.dtype, o.shape, n * (2.0 * bytes(o.dtype) + 3 * sizeof(double)) + bounded * 160);
  }
  void check() const {
    const double there =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    if (all_ <= there / 2) return;
    throw RequestError(
        kMemory,
        fmt::format(
            "{}: this call needs about {:.0f} GiB, {:.0f} of them for this tensor, and half of the {:.0f} "
            "GiB of this machine is the most; judge a part of it",
            largest_, all_ / kGiB, most_ / kGiB, there / kGiB));
  }

 private:
  void add(const std::string& what, Dtype dtype, const Shape& shape, double bytes) {
    all_ += bytes;
    if (bytes < most_ && !largest_.empty()) return;
    most_ = bytes;
    largest_ = fmt::format("{} is {}", what, spec(dtype, shape));
  }
  double all_ = 0, most_ = 0;
  std::string largest_;
};

void check_memory(const Case& c, const std::vector<Checked::Output>& outputs, std::uint64_t intervals) {
  MemoryNeeds needs;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const std::string argument(c.op->schema.argument_storage[i].name);
    if (const auto* t = std::get_if<TensorSpec>(&c.arguments[i])) needs.input(argument, *t);
    if (const auto* list = std::get_if<std::vector<TensorSpec>>(&c.arguments[i]))
      for (std::size_t n = 0; n < list->size(); ++n)
        needs.input(fmt::format("{}[{}]", argument, n), (*list)[n]);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o)
    needs.output("the result " + output_name(*c.op, o), outputs[o], intervals);
  needs.check();
}

void check_allowed(const Checked& checked) {
  if (!checked.ok()) throw RequestError(kArgument, checked.error);
}

// What is wrong with the results before any number is looked at.
std::string misfit(const Call& call, const RequestList& results) {
  if (results.size() != call.outputs.size())
    return fmt::format("{} {} given, but {} has {}", results.size(),
                       results.size() == 1 ? "result was" : "results were", call.op->schema.name,
                       call.outputs.size());
  for (std::size_t o = 0; o < results.size(); ++o) {
    const auto* t = std::get_if<TensorPlace>(&results[o].is);
    if (t == nullptr) continue;
    const Checked::Output& right = call.outputs[o];
    if (t->shape == right.shape && t->dtype == right.dtype) continue;
    return fmt::format("{} is {}, but {} gives {} for these arguments", output_name(*call.op, o),
                       spec(t->dtype, t->shape), call.op->schema.name, spec(right.dtype, right.shape));
  }
  return {};
}

}  // namespace

const Operator& operator_of(const Request& request) {
  try {
    return request.graph.empty() ? operator_named(request.op) : operator_of_graph(request);
  } catch (const CaseError& e) {
    throw RequestError(kOperator, e.what());
  } catch (const GraphError& e) {
    throw RequestError(kOperator, fmt::format("the graph: {}", e.what()));
  }
}

TensorData tensor_at(const TensorPlace& place, const ReadMemory& read) {
  const Layout layout = layout_of(place);
  const bool as_it_lies = layout.kind == Layout::Kind::strides || is_packed(place.shape, place.strides);
  std::vector<std::byte> memory(static_cast<std::size_t>(place.span) *
                                static_cast<std::size_t>(bytes(place.dtype)));
  read(place.offset, memory);
  if (!as_it_lies) memory = gather(memory.data(), place.shape, place.strides, bytes(place.dtype));
  TensorData t;
  t.dtype = place.dtype;
  t.shape = place.shape;
  t.strided = strided(t.shape, layout);
  t.memory = std::move(memory);
  return t;
}

Operands operands_of(const Operator& op, const Request& request, std::uint64_t intervals,
                     const ReadMemory& read) {
  const std::vector<const RequestValue*> values = bound(op, request);
  const std::optional<Dtype> of_numbers = dtype_of_numbers(op, values);
  Operands all;
  all.call.op = &op;
  Case c;
  c.op = &op;
  std::vector<std::vector<const TensorPlace*>> places(values.size());
  // First without numbers: what is too large is not read.
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Argument& a = op.schema.argument_storage[i];
    all.call.arguments.push_back(
        values[i] == nullptr ? default_of(a) : argument_of(op, a, *values[i], of_numbers, places[i], read));
    c.arguments.push_back(
        places[i].empty() && std::holds_alternative<TensorData>(all.call.arguments.back())
            ? CaseValue(TensorSpec{std::get<TensorData>(all.call.arguments.back()).dtype, {}, {}})
            : outline(all.call.arguments.back(), places[i]));
  }
  const Checked outlined = check_case(c);
  check_allowed(outlined);
  check_memory(c, outlined.outputs, intervals);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (places[i].empty()) continue;
    if (auto* t = std::get_if<TensorData>(&all.call.arguments[i])) *t = tensor_at(*places[i][0], read);
    if (auto* list = std::get_if<std::vector<TensorData>>(&all.call.arguments[i]))
      for (std::size_t n = 0; n < list->size(); ++n) (*list)[n] = tensor_at(*places[i][n], read);
  }
  // Once more with the data: indices must be rows, divisors not 0.
  Checked checked = check_arguments(op, Arguments(all.call).values());
  check_allowed(checked);
  all.call.outputs = std::move(checked.outputs);
  all.call.output_layouts.resize(all.call.outputs.size());
  all.case_text = text(c);
  if (request.results.empty()) return all;
  all.misfit = misfit(all.call, request.results);
  if (!all.misfit.empty()) return all;
  for (const RequestValue& r : request.results) {
    const auto* t = std::get_if<TensorPlace>(&r.is);
    all.results.push_back(t == nullptr ? std::nullopt : std::optional(tensor_at(*t, read).packed()));
  }
  return all;
}

}  // namespace assay::serve
