// Schemas that are not known when the program is compiled. Where the compiler calls these functions, that is its error.
#include "vocabulary/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph.h"

namespace assay {

namespace {

struct TooMany {};

// Of what stands between parentheses, "Tensor x, Tensor y".
std::size_t count_listed(std::string_view text) {
  const std::size_t open = text.find('('), close = text.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return 1;
  return static_cast<std::size_t>(std::ranges::count(text.substr(open, close - open), ',')) + 1;
}

std::string limit_of(std::string_view text) {
  const std::size_t arrow = std::min(text.find("->"), text.size());
  return fmt::format("{}: it has {} arguments and {} results, but {} and {} are the most",
                     text.substr(0, std::min(text.find('('), text.size())),
                     count_listed(text.substr(0, arrow)), count_listed(text.substr(arrow)), kMaxArguments,
                     kMaxResults);
}

}  // namespace

void schema_text_ends_too_early(std::size_t) { throw GraphError("it ends too early"); }
void schema_expects_another_character(std::size_t at, char expected) {
  throw GraphError(fmt::format("\"{}\" is expected at character {}", expected, at + 1));
}
void schema_expects_a_name(std::size_t at) {
  throw GraphError(fmt::format("a name is expected at character {}", at + 1));
}
void schema_unknown_type(std::size_t at) {
  throw GraphError(fmt::format(
      "character {}: there are Tensor, Scalar, int, float, bool, str, ScalarType and MemoryFormat", at + 1));
}
void schema_has_too_many_arguments(std::size_t) { throw TooMany(); }
void schema_has_text_behind_its_end(std::size_t at) {
  throw GraphError(fmt::format("something stands after its end, at character {}", at + 1));
}

Schema schema_of(std::string_view text) {
  int digits = 0;  // of the number in int[2], which is an int
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 9 && text.find('[') != std::string_view::npos)
      throw GraphError(fmt::format("schema \"{}\": a number in it is too long", text));
  }
  try {
    return detail::SchemaParser(text).parse();
  } catch (const TooMany&) {
    throw GraphError(limit_of(text));
  } catch (const GraphError& e) {
    throw GraphError(fmt::format("schema \"{}\": {}", text, e.what()));
  }
}

}  // namespace assay
