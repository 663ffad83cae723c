// An argument without a name.
// says: schema_expects_a_name
#include "vocabulary/operator.h"

namespace assay {
#ifdef WRONG
constexpr Schema schema = parse_schema("f(Tensor) -> Tensor");
#else
constexpr Schema schema = parse_schema("f(Tensor self) -> Tensor");
#endif
}  // namespace assay
