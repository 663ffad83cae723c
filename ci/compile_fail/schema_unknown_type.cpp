// A type that ATen's grammar does not have.
// says: schema_unknown_type
#include "vocabulary/operator.h"

namespace assay {
#ifdef WRONG
constexpr Schema schema = parse_schema("f(Tensr self) -> Tensor");
#else
constexpr Schema schema = parse_schema("f(Tensor self) -> Tensor");
#endif
}  // namespace assay
