#include "windows.h"

#include "check_case.h"
#include "vocabulary/domain.h"

namespace assay {

std::vector<std::int64_t> window_of(const Case& c) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i)
    if (domain(*c.op, c.op->schema.argument_storage[i].name).kind == Domain::Kind::window) {
      std::vector<std::int64_t> window = std::get<std::vector<std::int64_t>>(c.arguments[i]);
      const auto all = static_cast<std::size_t>(c.op->schema.argument_storage[i].list_size);
      if (window.size() == 1) window.resize(all, window[0]);
      return window;
    }
  const ShapeMatch match = match_case(c);
  if (match.alternative < 0) return {};
  const ShapeAlternative& alternative =
      shape_rule(*c.op).alternatives[static_cast<std::size_t>(match.alternative)];
  for (const std::string& run : alternative.runs())
    if (const auto found = match.binding.runs.find(run);
        alternative.window_in(run) != nullptr && found != match.binding.runs.end())
      return found->second;
  return {};
}

// ATen calls it so wherever there is one. output_padding, which is no less a list of naturals, goes by the stride.
bool is_padding(const Operator& op, std::size_t argument) {
  const Argument& a = op.schema.argument_storage[argument];
  return a.name == "padding" && domain(op, a.name).kind == Domain::Kind::naturals;
}

std::vector<std::int64_t> half_of_window(const Case& c) {
  std::vector<std::int64_t> half = window_of(c);
  for (std::int64_t& size : half) size /= 2;
  return half;
}

}  // namespace assay
