// Schemas that are not known when the program is compiled. Where the compiler calls these functions, that is its error.
#include "vocabulary/schema.h"

#include <fmt/format.h>

#include "graph.h"

namespace assay {

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
void schema_has_too_many_arguments(std::size_t) {
  throw GraphError(fmt::format("{} arguments and {} results are the most", kMaxArguments, kMaxResults));
}
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
  } catch (const GraphError& e) {
    throw GraphError(fmt::format("schema \"{}\": {}", text, e.what()));
  }
}

}  // namespace assay
