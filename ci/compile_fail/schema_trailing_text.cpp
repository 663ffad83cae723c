// Text after the result.
// says: schema_has_text_behind_its_end
#include "vocabulary/operator.h"

namespace assay {
#ifdef WRONG
constexpr Schema schema = parse_schema("f(Tensor self) -> Tensor!");
#else
constexpr Schema schema = parse_schema("f(Tensor self) -> Tensor");
#endif
}  // namespace assay
