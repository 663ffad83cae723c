#include "integers.h"

namespace assay {
namespace {

// Of n integers, `step` elements apart. Kernels are called after this: it looks at each number without a branch.
template <class I>
bool all_below(const I* from, std::int64_t step, std::int64_t n, std::int64_t count) {
  std::uint64_t wrong = 0;  // in its highest bit
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::uint64_t>(static_cast<std::int64_t>(from[i * step]));
    wrong |= k | (static_cast<std::uint64_t>(count - 1) - k);
  }
  return wrong >> 63 == 0;
}

const char* element(const View& v, std::int64_t k) {
  std::int64_t at = 0;
  for (int dim = v.rank() - 1; dim >= 0; --dim) {
    at += k % v.size(dim) * v.stride(dim);
    k /= v.size(dim);
  }
  return v.as<const char>() + at * bytes(v.type());
}

}  // namespace

std::int64_t integer_of(const View& v, std::int64_t k) { return load_integer(element(v, k), v.type()); }

bool row_below(const View& v, std::int64_t k, std::int64_t n, std::int64_t count) {
  const char* const from = element(v, k);
  const std::int64_t step = v.rank() == 0 ? 0 : v.stride(v.rank() - 1);
  if (v.type() == Dtype::i64) return all_below(reinterpret_cast<const std::int64_t*>(from), step, n, count);
  if (v.type() == Dtype::i32) return all_below(reinterpret_cast<const std::int32_t*>(from), step, n, count);
  return false;
}

}  // namespace assay
