// Cumulative sums along one dimension.
//
// The idea: where a row lies without gaps, its threads (rows.h) take pieces of 16 bytes, neighbours by neighbouring
// threads: each adds up its own, a scan over the threads' totals by shuffles and shared memory says what came before, and
// what all of them have is carried on to the next pieces. Where other rows' elements lie between, the threads above each
// other take a segment of the row each: once to add it up, and again to write, when the segments before it are known.
// What nothing is added to starts as -0, so that -0 stays.
#include "ops/cumsum.h"

#include "contracts.h"
#include "rows.h"
#include "wrap.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

template <class C>
__device__ __forceinline__ C cumsum_nothing() {
  return -C(0);
}

// The sum of what the threads of the row before this one hold; `total` becomes that of all. All threads of the block come here.
template <class C>
__device__ __forceinline__ C cumsum_before(C value, int lanes, C& total) {
  const int width = lanes < kWarpSize ? lanes : kWarpSize;
  const int lane = static_cast<int>(threadIdx.x) % width;
  C sum = value;
  for (int by = 1; by < width; by *= 2) {
    const C other = __shfl_up_sync(kAllLanes, sum, static_cast<unsigned>(by), width);
    if (lane >= by) sum = wrapping_sum(other, sum);
  }
  total = __shfl_sync(kAllLanes, sum, width - 1, width);
  const C one_before = __shfl_up_sync(kAllLanes, sum, 1u, width);
  C before = lane == 0 ? cumsum_nothing<C>() : one_before;
  if (lanes <= kWarpSize) return before;
  ASSAY_SHARED(C, of_warp, [kRowThreads / kWarpSize]);
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  __syncthreads();  // what an earlier call left has been read
  if (lane == 0) of_warp[warp] = total;
  __syncthreads();
  C warps_before = cumsum_nothing<C>(), all = cumsum_nothing<C>();
  for (int w = 0; w < lanes / kWarpSize; ++w) {
    if (w == warp) warps_before = all;
    all = wrapping_sum(all, of_warp[w]);
  }
  total = all;
  return wrapping_sum(warps_before, before);
}

// Budget: 80 registers, 4 bytes spilled, 1.00 sectors, 1.00 passes.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    cumsum_along_kernel(void* out, Dtype out_type, const void* in, Dtype in_type, Rows<2> plan) {
  using C = Compute<T>;
  constexpr int width = Vector<T>::size;
  const bool vectors = plan.access == Access::vectors;
  const RowGroup group(false, vectors ? Access::vectors : Access::pieces);
  const std::int64_t n = plan.n, step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  const std::int64_t chunk = static_cast<std::int64_t>(group.lanes) * width;
  for (std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.y; start < plan.rows.count;
       start += step) {
    const std::int64_t i = start + threadIdx.y, mine = i < plan.rows.count ? n : 0;
    std::int64_t at[2] = {};
    if (mine > 0) plan.rows.locate(i, at);
    C carried = cumsum_nothing<C>();
    // All threads of a block go round equally often.
    for (std::int64_t first = 0; first * chunk < n; first += kRowPieces) {
      C x[kRowPieces][width];
      ASSAY_UNROLL
      for (int p = 0; p < kRowPieces; ++p) {
        const std::int64_t j = group.element(first + p, 0, width);
        if (vectors && j < mine) {
          const Vector<T> v = load_vector(static_cast<const T*>(in) + at[1] + j);
          ASSAY_UNROLL
          for (int e = 0; e < width; ++e) x[p][e] = widened(v.element[e]);
        } else {
          ASSAY_UNROLL
          for (int e = 0; e < width; ++e)
            x[p][e] =
                j + e < mine ? load_one<T>(in, in_type, at[1] + (j + e) * plan.step[1]) : cumsum_nothing<C>();
        }
      }
      ASSAY_UNROLL
      for (int p = 0; p < kRowPieces; ++p) {
        if ((first + p) * chunk >= n) continue;
        ASSAY_UNROLL
        for (int e = 1; e < width; ++e) x[p][e] = wrapping_sum(x[p][e - 1], x[p][e]);
        C total;
        const C before = wrapping_sum(carried, cumsum_before(x[p][width - 1], group.lanes, total));
        carried = wrapping_sum(carried, total);
        const std::int64_t j = group.element(first + p, 0, width);
        if (vectors && j < mine) {
          Vector<T> y;
          ASSAY_UNROLL
          for (int e = 0; e < width; ++e) y.element[e] = narrowed<T>(wrapping_sum(before, x[p][e]));
          store_vector(static_cast<T*>(out) + at[0] + j, y);
        } else {
          ASSAY_UNROLL
          for (int e = 0; e < width; ++e)
            if (j + e < mine)
              store_as(out, out_type, at[0] + (j + e) * plan.step[0], wrapping_sum(before, x[p][e]));
        }
      }
    }
  }
}

// Budget: 64 registers, 1.00 sectors, 1.00 passes.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    cumsum_across_kernel(void* out, Dtype out_type, const void* in, Dtype in_type, Rows<2> plan) {
  using C = Compute<T>;
  ASSAY_SHARED(C, of_segment, [kRowThreads]);
  const std::int64_t segment = (plan.n + blockDim.y - 1) / blockDim.y, begin = segment * threadIdx.y;
  const std::int64_t end = begin + segment < plan.n ? begin + segment : plan.n;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.x; start < plan.rows.count;
       start += step) {
    const std::int64_t i = start + threadIdx.x;
    const bool there = i < plan.rows.count;
    std::int64_t at[2] = {};
    if (there) plan.rows.locate(i, at);
    C sum = cumsum_nothing<C>();
    if (blockDim.y > 1) {
      if (there && threadIdx.y + 1 < blockDim.y)
        for (std::int64_t j = begin; j < end; ++j)
          sum = wrapping_sum(sum, load_one<T>(in, in_type, at[1] + j * plan.step[1]));
      __syncthreads();  // what the last round left has been read
      of_segment[threadIdx.y * blockDim.x + threadIdx.x] = sum;
      __syncthreads();
      sum = cumsum_nothing<C>();
      for (unsigned y = 0; y < threadIdx.y; ++y)
        sum = wrapping_sum(sum, of_segment[y * blockDim.x + threadIdx.x]);
    }
    if (!there) continue;
    for (std::int64_t j = begin; j < end; ++j) {
      sum = wrapping_sum(sum, load_one<T>(in, in_type, at[1] + j * plan.step[1]));
      store_as(out, out_type, at[0] + j * plan.step[0], sum);
    }
  }
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

void cumsum(const View& self, std::int64_t dim, std::optional<Dtype>, View& out) {
  with_reduced(out.type(), [&](auto element) {
    using T = decltype(element);
    const View* const views[] = {&out, &self};
    Rows<2> plan;
    const RowLaunch shape = plan_rows<T>(plan, views, dim);
    if (plan.n == 0 || plan.rows.count == 0) return;
    if (plan.across)
      launch<cumsum_across_kernel<T>>(shape.grid, shape.block, 0, out.data, out.type(), self.data,
                                      self.type(), plan);
    else
      launch<cumsum_along_kernel<T>>(shape.grid, shape.block, 0, out.data, out.type(), self.data, self.type(),
                                     plan);
  });
}

constexpr assay_kernel cumsum_kernels[] = {ASSAY_CUDA(ops::cumsum, cumsum, ASSAY_CUDA_ROWS)};
const Enrolled cumsum_enrolled{cumsum_kernels};

}  // namespace
}  // namespace assay::cuda
