// Sums and means over dimensions.
#include "ops/sum.h"

#include "contracts.h"
#include "reduce.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// The mean of floating-point numbers, if `mean`.
template <class T>
struct Sum : Addition {
  using State = Compute<T>;
  void* out;
  Dtype type;
  bool mean;

  Sum(const View& to, bool divides) : out(to.data), type(to.type()), mean(divides) {}
  __device__ void add(State& s, std::int64_t, State x) const { s = combine(s, x); }
  __device__ void store(std::int64_t, std::int64_t offset, State s, std::int64_t n) const {
    if constexpr (!is_integer<T>) {
      if (mean) s = s / static_cast<State>(n);
    }
    store_as(out, type, offset, s);
  }
};

}  // namespace ASSAY_CUDA_BACKEND
namespace {

using AxisList = std::optional<std::span<const std::int64_t>>;

void reduce_to(const View& self, AxisList dim, bool keepdim, bool mean, View& out) {
  const View* const in[] = {&self};
  const ReducePlan plan(out, in, 1, Axes(dim, self.rank()), keepdim);
  with_reduced(out.type(), [&](auto element) {
    using T = decltype(element);
    reduce<T>(Sum<T>(out, mean), plan, self);
  });
}

void sum(const View& self, AxisList dim, bool keepdim, std::optional<Dtype>, View& out) {
  reduce_to(self, dim, keepdim, false, out);
}
void mean(const View& self, AxisList dim, bool keepdim, std::optional<Dtype>, View& out) {
  reduce_to(self, dim, keepdim, true, out);
}

constexpr const char* kSumContract = ASSAY_CUDA_SUM "\n" ASSAY_CUDA_BY_LAYOUT;
constexpr assay_kernel sum_kernels[] = {ASSAY_CUDA(ops::sum_dim_int_list, sum, kSumContract),
                                        ASSAY_CUDA(ops::mean_dim, mean, kSumContract)};
const Enrolled sum_enrolled{sum_kernels};

}  // namespace
}  // namespace assay::cuda
