// The parts under the CPU kernels: threads, iteration spaces, scratch memory.
#include <omp.h>

#include <atomic>
#include <stdexcept>

#include "cpu/parallel.h"
#include "cpu/scratch.h"
#include "cpu_support.h"
#include "geometry/space.h"

namespace assay::cpu {
namespace {

using test::Tensor;

class Threads {
 public:
  explicit Threads(int n) : before_(omp_get_max_threads()) { omp_set_num_threads(n); }
  ~Threads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

TEST(CpuParallel, CoversEveryNumberOnce) {
  for (const int threads : {1, 2, 5}) {
    const Threads set(threads);
    for (const std::int64_t n : {0, 1, 2, 7, 100, 1001})
      for (const std::int64_t grain : {1, 3, 1000}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
        std::atomic<int> calls = 0;
        parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
          ++calls;
          EXPECT_TRUE(begin < end && (end - begin >= grain || end - begin == n));
          for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        for (const auto& count : seen) EXPECT_EQ(count, 1);
        EXPECT_LE(calls, threads);
      }
  }
}

TEST(CpuParallel, SmallWorkStaysOnTheCallingThread) {
  const Threads set(4);
  parallel_for(10, 6, [&](std::int64_t, std::int64_t) { EXPECT_EQ(omp_in_parallel(), 0); });
}

TEST(CpuParallel, AnExceptionReachesTheCaller) {
  const Threads set(4);
  EXPECT_THROW(parallel_for(100, 1,
                            [](std::int64_t begin, std::int64_t) {
                              if (begin > 0) throw std::runtime_error("one of them");
                            }),
               std::runtime_error);
}

Space space_of(std::initializer_list<Tensor*> tensors) {
  std::vector<const View*> views;
  for (Tensor* t : tensors) views.push_back(&t->view());
  return make_space(views.data(), static_cast<int>(views.size()));
}

TEST(CpuSpace, DimensionsJoinInTheOrderOfTheOutput) {
  Tensor contiguous(Dtype::f32, {2, 3, 4, 5}),
      last(Dtype::f32, {2, 3, 4, 5}, {Layout::Kind::channels_last, {}});
  Tensor last2(Dtype::f32, {2, 3, 4, 5}, {Layout::Kind::channels_last, {}});
  Tensor channel(Dtype::f32, {3, 1, 1}), one(Dtype::f32, {});
  const Space dense = space_of({&last, &last2, &one});
  EXPECT_EQ(dense.rank, 1);
  EXPECT_EQ(dense.size[0], 120);
  EXPECT_TRUE(dense.all_zero(2));
  const Space mixed = space_of({&contiguous, &last});
  EXPECT_EQ(mixed.rank, 3);  // the positions of an image join, and nothing else
  EXPECT_EQ(mixed.size[0], 20);
  const Space bias = space_of({&contiguous, &contiguous, &channel});
  EXPECT_EQ(bias.rank, 3);
  EXPECT_EQ(bias.stride[2][0], 0);
  EXPECT_EQ(bias.stride[2][1], 1);
  EXPECT_EQ(bias.stride[2][2], 0);
  EXPECT_EQ(space_of({&one}).rank, 0);
  EXPECT_EQ(space_of({&one}).count, 1);
}

TEST(CpuSpace, RunsVisitEveryElementInOrder) {
  Tensor x(Dtype::f32, {3, 4, 5}, {Layout::Kind::strides, {100, 7, 1}});
  const Space space = space_of({&x});
  for (std::int64_t begin = 0; begin < 60; ++begin)
    for (std::int64_t end = begin + 1; end <= 60; ++end) {
      std::int64_t at = begin;
      for (Runs run(space, begin, end); !run.done(); run.next())
        for (std::int64_t i = 0; i < run.length; ++i, ++at)
          ASSERT_EQ(run.offset[0] + i, at / 20 * 100 + at / 5 % 4 * 7 + at % 5);
      ASSERT_EQ(at, end);
    }
}

TEST(CpuSpace, RowsFoldIfWhatHindersThemRepeats) {
  Tensor x(Dtype::f32, {7, 3}), row(Dtype::f32, {3}), column(Dtype::f32, {7, 1});
  const auto folded = fold(space_of({&x, &x, &row}), 512);
  ASSERT_TRUE(folded.has_value());
  EXPECT_EQ(folded->space.rank, 1);
  EXPECT_EQ(folded->space.size[0], 21);
  EXPECT_EQ(folded->period, 3);
  EXPECT_TRUE(folded->repeats[2] && !folded->repeats[1]);
  EXPECT_FALSE(fold(space_of({&x, &x, &row}), 2).has_value()) << "the period is too long";
  EXPECT_FALSE(fold(space_of({&x, &column}), 512).has_value()) << "nothing repeats";
  // A slope for each channel of small images repeats with the image's channels.
  Tensor images(Dtype::f32, {5, 4, 2, 3}), slope(Dtype::f32, {4, 1, 1});
  const auto channels = fold(space_of({&images, &images, &slope}), 512);
  ASSERT_TRUE(channels.has_value());
  EXPECT_EQ(channels->period, 24);
  EXPECT_EQ(channels->space.size[0], 120);
}

TEST(CpuSpace, TooManyDimensionsAreRefused) {
  Tensor x(Dtype::f32, Shape(65, 1));
  EXPECT_THROW(space_of({&x}), Refused);
}

TEST(CpuScratch, PiecesStartAtCacheLinesAndDoNotOverlap) {
  for (const std::int64_t n : {1, 100, 3'000'000}) {  // the last is more than a thread keeps
    Scratch outer(scratch_bytes<float>(n) + scratch_bytes<double>(n)), inner(scratch_bytes<float>(n));
    float* const a = outer.take<float>(n);
    double* const b = outer.take<double>(n);
    float* const c = inner.take<float>(n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 64, 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b) % 64, 0);
    std::fill(a, a + n, 1.0f);
    std::fill(b, b + n, 2.0);
    std::fill(c, c + n, 3.0f);
    EXPECT_EQ(a[n - 1], 1);
    EXPECT_EQ(b[n - 1], 2);
  }
}

}  // namespace
}  // namespace assay::cpu
