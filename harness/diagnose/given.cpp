#include "given.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "../diff/pitch.h"
#include "../files/tensor_data.h"
#include "../generate/data.h"
#include "../judge/expectation.h"
#include "../tensors/layout.h"
#include "../tensors/tensor_file.h"
#include "vocabulary/operators.h"

namespace assay::diagnose {
namespace {

std::string spec(const TensorData& t) { return fmt::format("{}[{}]", name(t.dtype), text(t.shape)); }

std::vector<std::string> output_names(const Call& call) {
  std::vector<std::string> names;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) names.push_back(output_name(*call.op, o));
  return names;
}

// By its name, or by its number: "out0" is the first result, whatever its name.
std::optional<std::size_t> result_named(const std::vector<std::string>& names, const std::string& name) {
  if (const auto found = std::ranges::find(names, name); found != names.end())
    return static_cast<std::size_t>(found - names.begin());
  for (std::size_t o = 0; o < names.size(); ++o)
    if (name == fmt::format("out{}", o)) return o;
  return std::nullopt;
}

// Where the right result stands in bytes of another size: "; its rows are 64 elements apart, not 60, as the right result shows".
std::string where_it_stands(const Call& call, std::size_t which, std::span<const std::byte> bytes,
                            Dtype dtype) {
  Expectation expectation(call);
  const Checked::Output& out = call.outputs[which];
  const auto found =
      diff::pitched({expectation.rounded(static_cast<int>(which)), out.dtype}, out.shape, bytes, dtype);
  return found ? fmt::format("; {}, as the right result shows", *found) : std::string();
}

// The tensor as one of another dtype, if it loses nothing.
std::vector<std::byte> converted(const TensorData& t, Dtype dtype, const std::string& place) {
  std::int64_t misfit = 0;
  if (const auto same = exactly_as(t, dtype, &misfit)) return same->memory;
  throw CaseError(fmt::format("{} is {}, but the result is {}, and element {} is {}, which {} does not have",
                              place, spec(t), name(dtype), index_text(t.shape, misfit), t.get(misfit),
                              name(dtype)));
}

}  // namespace

TensorData read_tensor(const std::string& place) {
  const auto file = open_tensors_at(place);
  if (file->entries().size() != 1) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(file->entries().size(), 10); ++i)
      names += (i == 0 ? "" : ", ") + tensors::in_quotes(file->entries()[i].name);
    throw FileError(fmt::format("{} has {} tensors: name one of them, {}:NAME ({})", place,
                                file->entries().size(), place, names));
  }
  return tensor_of(file->read(file->entries()[0]));
}

GivenArgument parse_argument(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw CaseError(fmt::format(
        "--arg {}: write NAME=VALUE, with @FILE for a tensor (--arg weight=@w.npy --arg alpha=2)", text));
  if (equals + 2 == text.size() && text.back() == '@')
    throw CaseError(fmt::format("--arg {}: no file is named; write --arg {}FILE", text, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

namespace {

// Nobody typed a case: a message is of an argument.
Case parsed_arguments(const std::string& case_text, const std::vector<GivenArgument>& arguments) {
  try {
    return parse_case(case_text);
  } catch (const CaseError& e) {
    constexpr std::string_view kOfCases = "bad case text: ";
    std::string said = e.what();
    if (said.starts_with(kOfCases)) said.erase(0, kOfCases.size());
    for (const GivenArgument& a : arguments) {
      std::error_code error;
      if (said.starts_with(fmt::format("{} is ", a.name)) && std::filesystem::is_regular_file(a.value, error))
        said += fmt::format("; a file is written @{}", a.value);
    }
    throw CaseError("--arg: " + said);
  }
}

}  // namespace

GivenCall given_call(const std::string& op, const std::vector<GivenArgument>& arguments) {
  const Operator* known = &operator_named(op);
  GivenCall given;
  std::vector<std::pair<std::string, TensorData>> tensors;
  std::string all;
  for (const GivenArgument& a : arguments) {
    if (known->schema.find(a.name) < 0) {
      std::vector<std::string_view> names;
      for (const Argument& there : known->schema.arguments()) names.push_back(there.name);
      throw CaseError(
          fmt::format("{} has no argument '{}', but {}", known->schema.name, a.name, fmt::join(names, ", ")));
    }
    std::string value = a.value;
    if (value.starts_with('@')) {
      tensors.emplace_back(a.name, read_tensor(value.substr(1)));
      value = spec(tensors.back().second);
    }
    all += fmt::format("{}{}={}", all.empty() ? "" : ",", a.name, value);
  }
  for (const Argument& a : known->schema.arguments())
    if (a.is_tensor() && !a.optional && !a.has_default &&
        std::ranges::none_of(arguments, [&](const GivenArgument& g) { return g.name == a.name; }))
      given.missing.emplace_back(a.name);
  if (!given.missing.empty()) return given;
  const Case parsed = parsed_arguments(fmt::format("{}:{}", known->schema.name, all), arguments);
  given.case_text = text(parsed);
  given.call = materialise(parsed);
  for (const auto& [argument, tensor] : tensors)
    given.call.arguments[static_cast<std::size_t>(known->schema.find(argument))] = tensor;
  // Once more with the data itself: indices must be rows, divisors not 0.
  const Checked checked = check_arguments(*known, Arguments(given.call).values());
  if (!checked.ok()) throw CaseError(checked.error);
  given.call.error.clear();
  given.call.blamed.clear();
  given.call.outputs = checked.outputs;
  given.call.output_layouts.resize(checked.outputs.size());
  return given;
}

std::optional<std::string> read_result(const std::string& text, const Call& call, ExpectedOutputs& outputs,
                                       Rounding& rounding) {
  outputs.resize(call.outputs.size());
  const std::vector<std::string> names = output_names(call);
  std::size_t which = 0;
  std::string place = text;
  const std::size_t equals = text.find('=');
  std::error_code error;
  if (equals != std::string::npos && !std::filesystem::exists(text, error)) {
    const auto found = result_named(names, text.substr(0, equals));
    if (!found)
      throw CaseError(fmt::format("{}: {} has no result '{}', but {}", text, call.op->schema.name,
                                  text.substr(0, equals), fmt::join(names, ", ")));
    which = *found;
    place = text.substr(equals + 1);
    if (place.empty()) throw CaseError(fmt::format("{}: no file is named; write {}FILE", text, text));
  } else if (names.size() > 1) {
    throw CaseError(fmt::format("{}: {} has {} results; write which one it is: NAME=FILE, with {}", text,
                                call.op->schema.name, names.size(), fmt::join(names, ", ")));
  }
  if (outputs[which]) throw CaseError(fmt::format("{}: the result {} is given twice", text, names[which]));
  const Checked::Output& out = call.outputs[which];
  const TensorData t = [&] {
    try {
      return read_tensor(place);
    } catch (const RawSizeError& e) {
      throw FileError(e.what() + where_it_stands(call, which, e.file.bytes, e.dtype));
    }
  }();
  if (t.shape != out.shape)
    throw CaseError(fmt::format("{} is {}, but {} gives {}[{}] for these arguments{}", place, spec(t),
                                call.op->schema.name, name(out.dtype), assay::text(out.shape),
                                where_it_stands(call, which, t.memory, t.dtype)));
  outputs[which] = converted(t, out.dtype, place);
  if (!is_narrower(t.dtype, out.dtype)) return std::nullopt;
  rounding.stored.resize(call.outputs.size());
  rounding.stored[which] = t.dtype;
  return fmt::format(
      "{} is {}, and {} gives {}: it is taken for a result that was rounded when it was written down, and judged within "
      "that rounding.",
      place, name(t.dtype), call.op->schema.name, name(out.dtype));
}

}  // namespace assay::diagnose
