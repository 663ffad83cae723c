// The models of tensor cores and of the instructions that feed them, against sums written out.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "cuda/call.h"
#include "cuda/element.h"
#include "cuda/emulation/tensor.h"
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

// Halves as their bits, of kinds that products of tensors meet and of kinds that they seldom do.
std::uint32_t half_of_kind(int kind, std::uint64_t random, bool binary16) {
  const auto any = static_cast<std::uint32_t>(random >> 32 & 0xffff), sign = any & 0x8000u;
  const std::uint32_t exponent = binary16 ? 0x7c00 : 0x7f80, one = binary16 ? 0x3c00 : 0x3f80;
  const auto number = [&] {
    const float x = static_cast<float>(static_cast<int>(random % 2001) - 1000) / 64;
    return std::uint32_t{binary16 ? __float2half_rn(x).bits : __float2bfloat16_rn(x).bits};
  };
  const std::uint32_t special[] = {sign,   sign | 1,    sign | exponent, sign | (exponent - 1),
                                   0x7fff, exponent | 1};
  switch (kind) {
    case 0:
      return any;
    case 1:
      return number();
    case 2:
      return random % 4 != 0 ? number() : sign;
    case 3:
      return random % 8 != 0 ? number() : special[random / 8 % 6];
    case 4:
      return random % 128 != 0 ? number() : special[random / 128 % 6];
    case 5:
      return any & ~exponent;  // subnormal
    case 6:
      return (any & 0x807f) | one;  // of one size
    case 7:
      return (any & 0x807f) | static_cast<std::uint32_t>(66 + random % 124)
                                  << 7;  // of products in f32, and just not
    default:
      return sign;
  }
}
float addend_of_kind(int kind, std::uint64_t random) {
  const auto any = static_cast<std::uint32_t>(random >> 32);
  const float x = static_cast<float>(static_cast<int>(random % 2001) - 1000) / 64;
  switch (kind) {
    case 0:
      return std::bit_cast<float>(any);
    case 1:
      return x;
    case 2:
      return std::bit_cast<float>(any & 0x80000000u);
    case 3:
      return std::bit_cast<float>((any & 0x80000000u) | (any >> 1 & 0x00ffffffu));  // subnormal, or nearly
    case 4:
      return std::bit_cast<float>((any & 0x80ffffffu) | 0x7e000000u);  // large
    default:
      return random % 4 != 0 ? x : std::bit_cast<float>((any & 0x80000000u) | 0x7f800000u | (any & 1));
  }
}

template <class T>
void expect_the_same_bits(bool binary16) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 4000; ++round) {
    const int a = static_cast<int>(random() % 9), b = static_cast<int>(random() % 9),
              d = static_cast<int>(random() % 6);
    emulation::TensorOperands fast, slow;
    const auto word = [&](int kind) {
      return half_of_kind(kind, random(), binary16) | half_of_kind(kind, random(), binary16) << 16;
    };
    for (auto& row : fast.a)
      for (std::uint32_t& x : row) x = word(a);
    for (auto& row : fast.b)
      for (std::uint32_t& x : row) x = word(b);
    for (auto& row : fast.d)
      for (float& x : row) x = addend_of_kind(d, random());
    // Zeros of either sign after the last row, or the last term; of one operand, or of both.
    const std::uint64_t rows = random() % 32, words = random() % 16, of_b = random() % 2;
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t w = 0; w < 8; ++w) {
        if (i >= rows || w >= words) fast.a[i][w] &= 0x80008000u;
        if (i < 8 && of_b != 0 && w >= words) fast.b[w][i] &= 0x80008000u;
      }
    // Sums that vanish, or nearly.
    if (round % 3 == 0) {
      slow = fast;
      emulation::tensor_product_by_terms<T>(slow);
      for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t j = 0; j < 8; ++j)
          fast.d[i][j] =
              std::bit_cast<float>(std::bit_cast<std::uint32_t>(-slow.d[i][j]) +
                                   static_cast<std::uint32_t>(random() % 2 == 0 ? 0 : random() % 5 - 2));
    }
    slow = fast;
    emulation::tensor_product<T>(fast);
    emulation::tensor_product_by_terms<T>(slow);
    ASSERT_EQ(std::memcmp(fast.d, slow.d, sizeof fast.d), 0) << "round " << round << ": " << a << b << d;
  }
}

TEST(CudaMma, TheFastProductHasTheBitsOfTheSumsOfTerms) {
  expect_the_same_bits<__half>(true);
  expect_the_same_bits<__nv_bfloat16>(false);
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
