// Lists of lists, whose sizes would run together.
// says: schema_expects_a_name
#include "vocabulary/operator.h"

namespace assay {
#ifdef WRONG
constexpr Schema schema = parse_schema("f(int[2][1] sizes) -> Tensor");
#else
constexpr Schema schema = parse_schema("f(int[2] sizes) -> Tensor");
#endif
}  // namespace assay
