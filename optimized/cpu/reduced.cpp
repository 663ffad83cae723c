#include "reduced.h"

#include "vocabulary/kernel.h"

namespace assay::cpu {

ReducedSpace reduced_space(const View& out, const View& in, const Axes& axes, bool keepdim) {
  if (in.rank() > kMaxRank) throw Refused("tensors of more than 64 dimensions are not supported");
  ReducedSpace r;
  std::array<std::int64_t, kMaxRank> shape, out_strides, in_strides;
  std::size_t kept = 0;
  int of_out = 0;
  for (int d = 0; d < in.rank(); ++d) {
    const bool reduced = axes.contains(d);
    if (!reduced) {
      shape[kept] = in.size(d);
      out_strides[kept] = out.stride(of_out);
      in_strides[kept++] = in.stride(d);
    }
    if (!reduced || keepdim) ++of_out;
  }
  View to = out, from = in;
  to.ndim = from.ndim = static_cast<int>(kept);
  to.shape = from.shape = shape.data();
  to.strides = out_strides.data();
  from.strides = in_strides.data();
  const View* const views[] = {&to, &from};
  r.kept = make_space(views, 2);

  for (int d = in.rank() - 1; d >= 0; --d) {
    if (!axes.contains(d)) continue;
    const std::int64_t n = in.size(d);
    r.count *= n;
    if (n == 1) continue;
    const auto last = static_cast<std::size_t>(r.rank - 1);
    if (r.rank > 0 && in.stride(d) == r.stride[last] * r.size[last]) {
      r.size[last] *= n;
    } else {
      r.size[static_cast<std::size_t>(r.rank)] = n;
      r.stride[static_cast<std::size_t>(r.rank++)] = in.stride(d);
    }
  }
  if (r.rank == 0) {
    r.rank = 1;
    r.size[0] = r.count;
    r.stride[0] = 1;
  }
  return r;
}

}  // namespace assay::cpu
