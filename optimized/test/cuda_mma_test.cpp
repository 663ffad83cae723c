// The models of tensor cores and of the instructions that feed them, against sums written out.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cuda/call.h"
#include "cuda/element.h"
#include "cuda/mma.h"

namespace assay::cuda {
inline namespace ASSAY_CUDA_BACKEND {

struct alignas(16) MmaTiles {
  __half a[16][24], b[8][24];  // rows on multiples of 16 bytes; b by columns
};

// One warp: d = a b, both through shared memory, b as it is or turned round.
__global__ void mma_test_product(const __half* a, const __half* b, float* d, bool turned) {
  ASSAY_SHARED(MmaTiles, tiles, );
  ASSAY_SHARED(MmaTiles, rows, );
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 16 * 16; i += 32) tiles.a[i / 16][i % 16] = a[i];
  for (int i = lane; i < 16 * 8; i += 32) tiles.b[i % 8][i / 8] = b[i];
  for (int i = lane; i < 16 * 8; i += 32) rows.a[i / 8][i % 8] = b[i];
  __syncwarp();
  unsigned x[4], y[4];
  load_matrices(x, &tiles.a[lane % 16][lane / 16 * 8]);
  if (turned)
    load_matrices_transposed(y, &rows.a[lane % 16][0]);
  else
    load_matrices(y, &tiles.b[lane % 8][lane / 8 % 2 * 8]);
  float sum[4] = {};
  multiply_add(sum, x, y[0], y[1], __half{});
  for (int e = 0; e < 4; ++e) d[(lane / 4 + e / 2 * 8) * 8 + lane % 4 * 2 + e % 2] = sum[e];
}

struct alignas(16) MmaCopy {
  float words[32][4];
};

template <bool waits>
__global__ void mma_test_copy(const float* from, float* to, int bytes) {
  ASSAY_SHARED(MmaCopy, copy, );
  const int lane = static_cast<int>(threadIdx.x);
  copy_async(copy.words[lane], from + lane * 4, bytes);
  end_copies();
  if (waits) wait_for_copies<0>();
  for (int j = 0; j < 4; ++j) to[lane * 4 + j] = copy.words[lane][j];
  wait_for_copies<0>();
}

}  // namespace ASSAY_CUDA_BACKEND
namespace {

TEST(CudaMma, MultipliesWhatRegistersHoldByTheManual) {
  std::array<__half, 256> a;
  std::array<__half, 128> b;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = __float2half_rn(static_cast<float>(i * 7 % 31) - 15);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = __float2half_rn(static_cast<float>(i * 5 % 23) - 11);
  for (const bool turned : {false, true}) {
    std::array<float, 128> d{};
    launch<mma_test_product>(1, 32, 0, a.data(), b.data(), d.data(), turned);
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 8; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < 16; ++k) sum += __half2float(a[i * 16 + k]) * __half2float(b[k * 8 + j]);
        EXPECT_EQ(d[i * 8 + j], sum) << i << " " << j << " " << turned;
      }
  }
}

TEST(CudaMma, SumsAreCutOff) {
  double terms[17] = {1, 0x1p-25, 0x1p-25};  // whose sum rounds to 1 + 2^-24, and that to 1
  EXPECT_EQ(emulation::cut_off_sum(terms), 1);
  terms[1] = 0x1.8p-24;
  EXPECT_EQ(emulation::cut_off_sum(terms), 1);
  terms[1] = -0x1p-24;
  terms[2] = 0;
  EXPECT_EQ(emulation::cut_off_sum(terms), 1 - 0x1p-24f);
  terms[1] = INFINITY;
  EXPECT_EQ(emulation::cut_off_sum(terms), INFINITY);
  terms[2] = -INFINITY;
  EXPECT_TRUE(std::isnan(emulation::cut_off_sum(terms)));
}

TEST(CudaMma, CopiesArriveWhenTheyAreWaitedFor) {
  alignas(16) std::array<float, 128> from;
  std::array<float, 128> to{};
  from.fill(3);
  launch<mma_test_copy<true>>(1, 32, 0, from.data(), to.data(), 8);
  EXPECT_EQ(to[0], 3);
  EXPECT_EQ(to[1], 3);
  EXPECT_EQ(to[2], 0);
  launch<mma_test_copy<false>>(1, 32, 0, from.data(), to.data(), 16);
  EXPECT_TRUE(std::isnan(to[0]));
}

}  // namespace
}  // namespace assay::cuda
