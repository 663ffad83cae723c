// Something else where the arrow should be.
// says: schema_expects_another_character
#include "vocabulary/operator.h"

namespace assay {
#ifdef WRONG
constexpr Schema schema = parse_schema("f(Tensor self) = Tensor");
#else
constexpr Schema schema = parse_schema("f(Tensor self) -> Tensor");
#endif
}  // namespace assay
