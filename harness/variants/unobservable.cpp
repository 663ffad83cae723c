#include "unobservable.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <optional>
#include <stdexcept>

namespace assay {
namespace {

std::string_view without_spaces(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

// What stands before the first `end` of `rest`, which becomes what stands after it.
std::string_view take_until(std::string_view& rest, char end) {
  const std::size_t at = rest.find(end);
  const std::string_view taken = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return without_spaces(taken);
}

// "VARIANT (DTYPE DTYPE): reason"
Excuse parse_excuse(const Operator& op, std::string_view clause) {
  const auto malformed = [&](std::string_view why) {
    return std::logic_error(fmt::format("{}: unobservable: {} in '{}'", op.schema.name, why, clause));
  };
  std::string_view reason = clause;
  std::string_view what = take_until(reason, ':');
  Excuse excuse;
  excuse.reason = without_spaces(reason);
  if (excuse.reason.empty()) throw malformed("no reason");
  std::string_view dtypes = what;
  const std::string_view variant = take_until(dtypes, '(');
  if (variant.empty()) throw malformed("no variant");
  excuse.variant = variant;
  if (variant.size() == what.size()) return excuse;
  if (!dtypes.ends_with(')')) throw malformed("no ')' after the dtypes");
  dtypes.remove_suffix(1);
  excuse.dtypes = {};
  while (!(dtypes = without_spaces(dtypes)).empty()) {
    const std::string_view word = take_until(dtypes, ' ');
    const std::optional<Dtype> dtype = dtype_named(word);
    if (!dtype || !op.dtypes.contains(*dtype)) throw malformed(fmt::format("no dtype '{}'", word));
    excuse.dtypes = excuse.dtypes | only(*dtype);
  }
  if (excuse.dtypes == DtypeSet{}) throw malformed("no dtype");
  return excuse;
}

}  // namespace

std::vector<Excuse> excuses_of(const Operator& op) {
  std::vector<Excuse> all;
  for (std::string_view rest = op.unobservable; !rest.empty();)
    all.push_back(parse_excuse(op, take_until(rest, ';')));
  return all;
}

std::string_view unobservable(const Operator& op, std::string_view variant, Dtype dtype) {
  for (const Excuse& e : excuses_of(op))
    if (e.dtypes.contains(dtype) && fnmatch(e.variant.c_str(), std::string(variant).c_str(), 0) == 0)
      return e.reason;
  return {};
}

}  // namespace assay
