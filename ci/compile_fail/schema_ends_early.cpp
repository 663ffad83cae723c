// A parenthesis that is never closed.
// says: schema_text_ends_too_early
#include "vocabulary/operator.h"

namespace assay {
#ifdef WRONG
constexpr Schema schema = parse_schema("f(Tensor self");
#else
constexpr Schema schema = parse_schema("f(Tensor self) -> Tensor");
#endif
}  // namespace assay
