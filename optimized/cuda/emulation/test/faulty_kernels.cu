#include "faulty_kernels.h"

#include "call.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

// Each block sums blockDim.x elements, in a tree over shared memory and, for the last 32, over a warp; a second part of the
// result is the sum again by other means, so that all kinds of faults have a place to be.
template <Planted planted>
__global__ void sum_of_blocks_kernel(const float* in, float* out, float* total, float* scratch) {
  ASSAY_SHARED(float, part, [64]);
  const int i = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * n;

  float x = 0;
  if (planted == Planted::behind_global)
    x = in[base + i + 1];
  else if (planted == Planted::before_global)
    x = in[base + i - 1];
  else if (planted == Planted::index_in_32_bits)
    x = in[static_cast<std::int32_t>(3 * (std::int64_t{1} << 30) * blockIdx.x) + i];
  else
    x = in[base + i];
  if (planted == Planted::misaligned) {
    const Vector<float> v = load_vector(in + 1);
    x += v.element[0] - v.element[0];
  }
  if (planted == Planted::writes_input) const_cast<float*>(in)[base + i] = x + 1;
  if (planted == Planted::unwritten_scratch) x += 0 * scratch[i];
  if (planted == Planted::adds_to_unwritten) atomicAdd(scratch + i, x);

  const int slot = planted == Planted::behind_shared ? i + 64 - n + 1
                   : planted == Planted::same_slot   ? i / 2
                                                     : i;
  if (planted != Planted::unwritten_shared || i != n / 2) part[slot] = x;
  if (planted == Planted::barrier_in_a_branch) {
    if (i < n / 2)
      __syncthreads();
    else
      __syncthreads();
  } else if (planted == Planted::barrier_without_all) {
    if (i < 16)
      __syncwarp();
    else
      __syncthreads();
  } else if (planted != Planted::no_barrier_before_reading) {
    __syncthreads();
  }
  for (int half = n / 2; half >= 32; half /= 2) {
    if (i < half) part[i] += part[i + half];
    __syncthreads();
  }
  if (i < 32) {
    // The lower half of the warp sums what the upper half left.
    if (i < 16) part[i] += part[i + 16];
    if (planted != Planted::warp_without_syncwarp) __syncwarp();
    float y = part[i % 16];
    if (planted == Planted::mask_leaves_out_caller)
      y += 0 * __shfl_sync(0xffff0000u, y, 16);
    else if (planted == Planted::reads_other_lane && i < 16)
      y = __shfl_sync(0x0000ffffu, y, 20);
    for (int d = 8; d > 0; d /= 2) {
      if (planted == Planted::mixed_warp_operations && i == 3)
        y += __shfl_down_sync(0xffffffffu, y, static_cast<unsigned>(d));
      else
        y += __shfl_xor_sync(0xffffffffu, y, d);
    }
    x = y;
  }
  if (planted == Planted::mask_names_ended_lane && i >= 32) {
    if (i < 40) return;
    (void)__ballot_sync(0xffffffffu, 1);
  }
  if (planted != Planted::no_barrier_before_reuse) __syncthreads();
  if (i == 0) part[0] = x;
  __syncthreads();
  out[base + i] = part[0];
  if (planted == Planted::plain_update)
    *total += 1;
  else if (planted == Planted::plain_update_across_blocks) {
    if (i == 0) *total += part[0];
  } else {
    atomicAdd(total, 1.0f);
  }
  if (planted == Planted::reads_atomic_sum && blockIdx.x == gridDim.x - 1 && i == n - 1)
    out[base + i] = *total;
}

// A block of 40 threads has a warp of 8.
__global__ void short_warp_kernel(float* out) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, static_cast<float>(threadIdx.x), 1);
}

}  // namespace ASSAY_CUDA_BACKEND

namespace {

template <Planted planted>
void go(const float* in, float* out, int blocks, int threads) {
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(blocks * threads);
  emulation::checker_memory(in, bytes, "in", false);
  emulation::checker_memory(out, bytes, "out", true);
  struct Forget {
    const void *a, *b;
    ~Forget() {
      emulation::checker_forget(a);
      emulation::checker_forget(b);
    }
  } forget{in, out};
  const Scratch<float> scratch(threads);
  float total = 0;
  emulation::checker_memory(&total, sizeof total, "total", false);
  emulation::checker_memory(&total, sizeof total, "total", true);
  const Forget forget_total{&total, nullptr};
  if constexpr (planted == Planted::mask_names_missing_lane)
    launch<short_warp_kernel>(1, 40, 0, out);
  else
    launch<sum_of_blocks_kernel<planted>>(dim3(static_cast<unsigned>(blocks)),
                                          dim3(static_cast<unsigned>(threads)), 0, in, out, &total,
                                          scratch.data());
}

template <int... planted>
void choose(Planted wanted, const float* in, float* out, int blocks, int threads,
            std::integer_sequence<int, planted...>) {
  ((wanted == static_cast<Planted>(planted) ? go<static_cast<Planted>(planted)>(in, out, blocks, threads)
                                            : void()),
   ...);
}

}  // namespace

void sum_of_blocks(Planted planted, const float* in, float* out, int blocks, int threads) {
  choose(planted, in, out, blocks, threads,
         std::make_integer_sequence<int, static_cast<int>(Planted::same_slot) + 1>{});
}

}  // namespace assay::cuda
