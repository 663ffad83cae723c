// The cache of oneDNN primitives: what it counts, what it keeps, and that its key leaves nothing out.
#ifdef ASSAY_HAVE_ONEDNN
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../onednn/primitive_cache.h"

namespace assay::onednn {
namespace {

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

std::atomic<int> built{0};

dnnl::primitive_desc_base build_matmul(const PrimitiveKey& key, const dnnl::engine& on) {
  ++built;
  const dnnl::matmul::desc desc(key.memories[0].make(), key.memories[1].make(), key.memories[2].make());
  return dnnl::matmul::primitive_desc(desc, key.attributes.make(), on);
}

Descriptor matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride) {
  Descriptor d;
  d.dtype = dnnl::memory::data_type::f32;
  d.rank = 2;
  d.sizes = {rows, columns};
  d.strides = {row_stride, 1};
  return d;
}

// An n x n product.
PrimitiveKey matmul(std::int64_t n) {
  PrimitiveKey key;
  key.kind = dnnl::primitive::kind::matmul;
  key.memories = {matrix(n, n, n), matrix(n, n, n), matrix(n, n, n)};
  return key;
}

// The product of two matrices that hold 0, 1, 2, ...
std::vector<float> run(const Primitive& made, std::int64_t n) {
  std::vector<float> a(static_cast<std::size_t>(n * n)), b(a.size()), c(a.size(), -1);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] = static_cast<float>(i % 7);
  std::vector<std::byte> scratchpad(made.scratchpad_bytes + 64);
  void* aligned = scratchpad.data();
  std::size_t space = scratchpad.size();
  std::align(64, made.scratchpad_bytes, aligned, space);
  dnnl::stream stream(engine());
  const auto memory = [&](std::size_t i, void* data) {
    return dnnl::memory(made.memories[i], engine(), data);
  };
  made.primitive.execute(stream, {{DNNL_ARG_SRC, memory(0, a.data())},
                                  {DNNL_ARG_WEIGHTS, memory(1, b.data())},
                                  {DNNL_ARG_DST, memory(2, c.data())},
                                  {DNNL_ARG_SCRATCHPAD, dnnl::memory(made.scratchpad, engine(), aligned)}});
  stream.wait();
  return c;
}

std::vector<float> expected(std::int64_t n) {
  std::vector<float> c(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t k = 0; k < n; ++k)
        c[static_cast<std::size_t>(i * n + j)] += static_cast<float>((i * n + k) % 7 * ((k * n + j) % 7));
  return c;
}

TEST(OnednnCache, CountsAndEvictsTheLeastRecentlyUsed) {
  PrimitiveCache cache(engine(), 2);
  const auto counts = [&](std::uint64_t hits, std::uint64_t misses, std::uint64_t evictions) {
    return cache.counts() == PrimitiveCache::Counts{hits, misses, evictions};
  };
  const auto a = cache.get(matmul(3), build_matmul);
  cache.get(matmul(4), build_matmul);
  EXPECT_TRUE(counts(0, 2, 0));
  EXPECT_EQ(cache.get(matmul(3), build_matmul), a);  // now 4 is the older one
  EXPECT_TRUE(counts(1, 2, 0));
  cache.get(matmul(5), build_matmul);  // evicts 4
  EXPECT_TRUE(counts(1, 3, 1));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.get(matmul(3), build_matmul), a);
  EXPECT_TRUE(counts(2, 3, 1));
  cache.get(matmul(4), build_matmul);  // evicts 5
  EXPECT_TRUE(counts(2, 4, 2));
  cache.get(matmul(5), build_matmul);  // evicts 3
  EXPECT_TRUE(counts(2, 5, 3));
  EXPECT_NE(cache.get(matmul(3), build_matmul), a);
  EXPECT_TRUE(counts(2, 6, 4));
}

TEST(OnednnCache, AHitDescribesNothing) {
  PrimitiveCache cache(engine(), 2);
  built = 0;
  cache.get(matmul(3), build_matmul);
  EXPECT_EQ(built, 1);
  for (int i = 0; i < 10; ++i) cache.get(matmul(3), build_matmul);
  EXPECT_EQ(built, 1);
}

TEST(OnednnCache, EverythingThatShapesAPrimitiveIsInTheKey) {
  const PrimitiveKey base = [] {
    PrimitiveKey key = matmul(3);
    key.attributes.scales = {{0, 0, {{0.5f}}}};
    key.attributes.zero_points = {{DNNL_ARG_DST, 3}};
    key.attributes.post_ops = {
        {dnnl::primitive::kind::eltwise, dnnl::algorithm::eltwise_linear, {1}, {2}, {0}}};
    return key;
  }();
  const auto changed = [&](auto change) {
    PrimitiveKey key = base;
    change(key);
    return key;
  };
  const std::vector<PrimitiveKey> others{
      changed([](PrimitiveKey& k) { k.kind = dnnl::primitive::kind::inner_product; }),
      changed([](PrimitiveKey& k) { k.propagation = dnnl::prop_kind::forward_training; }),
      changed([](PrimitiveKey& k) { k.algorithm = dnnl::algorithm::binary_add; }),
      changed([](PrimitiveKey& k) { k.axis = 1; }),
      changed([](PrimitiveKey& k) { k.alpha = {-0.0f}; }),
      changed([](PrimitiveKey& k) { k.beta = {1}; }),
      changed([](PrimitiveKey& k) { k.threads += 1; }),
      changed([](PrimitiveKey& k) { k.memories[1].strides[0] = 4; }),
      changed([](PrimitiveKey& k) { k.memories[1].sizes[0] = 2; }),
      changed([](PrimitiveKey& k) { k.memories[1].dtype = dnnl::memory::data_type::bf16; }),
      changed([](PrimitiveKey& k) { k.memories.pop_back(); }),
      changed([](PrimitiveKey& k) { k.attributes.scratchpad = dnnl::scratchpad_mode::library; }),
      changed([](PrimitiveKey& k) { k.attributes.scales.clear(); }),
      changed([](PrimitiveKey& k) { k.attributes.zero_points.clear(); }),
      changed([](PrimitiveKey& k) { k.attributes.zero_points[0].value = 4; }),
      changed([](PrimitiveKey& k) { k.attributes.zero_points[0].argument = DNNL_ARG_SRC; }),
      changed([](PrimitiveKey& k) { k.attributes.scales[0].values[0] = {0.25f}; }),
      changed([](PrimitiveKey& k) { k.attributes.scales[0].mask = 1; }),
      changed([](PrimitiveKey& k) { k.attributes.scales[0].argument = DNNL_ARG_SRC; }),
      changed([](PrimitiveKey& k) { k.attributes.post_ops.clear(); }),
      changed([](PrimitiveKey& k) { k.attributes.post_ops[0].kind = dnnl::primitive::kind::sum; }),
      changed([](PrimitiveKey& k) { k.attributes.post_ops[0].algorithm = dnnl::algorithm::eltwise_relu; }),
      changed([](PrimitiveKey& k) { k.attributes.post_ops[0].scale = {2}; }),
      changed([](PrimitiveKey& k) { k.attributes.post_ops[0].alpha = {3}; }),
      changed([](PrimitiveKey& k) { k.attributes.post_ops[0].beta = {-0.0f}; }),
  };
  EXPECT_EQ(base, changed([](PrimitiveKey&) {}));
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_NE(base, others[i]) << i;
    EXPECT_NE(hash(base), hash(others[i])) << i;
  }
}

TEST(OnednnCache, OtherAttributeValuesAndThreadsMiss) {
  PrimitiveCache cache(engine(), 16);
  PrimitiveKey key = matmul(3);
  key.attributes.scales = {{0, 0, {{0.5f}}}};
  const auto half = run(*cache.get(key, build_matmul), 3);
  key.attributes.scales[0].values[0] = {2.0f};
  const auto twice = run(*cache.get(key, build_matmul), 3);
  key.threads += 1;
  cache.get(key, build_matmul);
  key.memories[0].strides[0] = 5;
  cache.get(key, build_matmul);
  EXPECT_EQ(cache.counts(), (PrimitiveCache::Counts{0, 4, 0}));
  for (std::size_t i = 0; i < half.size(); ++i) EXPECT_EQ(4 * half[i], twice[i]);
  cache.get(key, build_matmul);
  EXPECT_EQ(cache.counts(), (PrimitiveCache::Counts{1, 4, 0}));
}

TEST(OnednnCache, TheThreadCountOfTheMomentIsInTheKey) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const PrimitiveKey one = matmul(3);
  omp_set_num_threads(3);
  const PrimitiveKey three = matmul(3);
  omp_set_num_threads(threads);
  EXPECT_EQ(one.threads, 1);
  EXPECT_EQ(three.threads, 3);
}

TEST(OnednnCache, ComparesWholeKeysWhenHashesCollide) {
  PrimitiveCache cache(engine(), 8, [](const PrimitiveKey&) -> std::size_t { return 7; });
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n = 2; n < 7; ++n)
      EXPECT_EQ(run(*cache.get(matmul(n), build_matmul), n), expected(n)) << n;
  EXPECT_EQ(cache.counts(), (PrimitiveCache::Counts{5, 5, 0}));
}

TEST(OnednnCache, AnEvictedPrimitiveIsBuiltAgainAndGivesTheSame) {
  const int library = dnnl::get_primitive_cache_capacity();
  dnnl::set_primitive_cache_capacity(0);  // or oneDNN's own cache would keep what ours gives up
  PrimitiveCache cache(engine(), 1);
  built = 0;
  const auto running = cache.get(matmul(9), build_matmul);
  EXPECT_EQ(run(*running, 9), expected(9));
  EXPECT_EQ(run(*cache.get(matmul(8), build_matmul), 8), expected(8));
  EXPECT_EQ(run(*running, 9), expected(9));  // evicted, and alive as long as somebody runs it
  const auto again = cache.get(matmul(9), build_matmul);
  EXPECT_NE(again, running);
  EXPECT_NE(again->primitive.get(), running->primitive.get());
  EXPECT_EQ(run(*again, 9), expected(9));
  EXPECT_EQ(again->information, running->information);
  EXPECT_EQ(built, 3);
  EXPECT_EQ(cache.counts(), (PrimitiveCache::Counts{0, 3, 2}));
  dnnl::set_primitive_cache_capacity(library);
}

TEST(OnednnCache, CapacityCanShrinkToNothing) {
  PrimitiveCache cache(engine(), 4);
  for (std::int64_t n = 2; n < 6; ++n) cache.get(matmul(n), build_matmul);
  cache.set_capacity(1);
  EXPECT_EQ(cache.size(), 1u);
  cache.get(matmul(5), build_matmul);
  EXPECT_EQ(cache.counts(), (PrimitiveCache::Counts{1, 4, 3}));
  cache.set_capacity(0);
  EXPECT_EQ(run(*cache.get(matmul(5), build_matmul), 5), expected(5));
  EXPECT_EQ(cache.size(), 0u);
}

TEST(OnednnCache, ARefusalIsNotKept) {
  PrimitiveCache cache(engine(), 4);
  PrimitiveKey key = matmul(3);
  key.memories[0].dtype = dnnl::memory::data_type::f16;
  EXPECT_THROW(cache.get(key, build_matmul), dnnl::error);
  EXPECT_THROW(cache.get(key, build_matmul), dnnl::error);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.counts(), (PrimitiveCache::Counts{0, 2, 0}));
}

TEST(OnednnCache, ThreadsShareIt) {
  constexpr int kThreads = 4, kRounds = 50;
  PrimitiveCache cache(engine(), 3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      omp_set_num_threads(1);
      for (int i = 0; i < kRounds; ++i) {
        const std::int64_t n = 3 + (i + t) % 5;
        if (run(*cache.get(matmul(n), build_matmul), n) != expected(n)) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  const PrimitiveCache::Counts counts = cache.counts();
  EXPECT_EQ(counts.hits + counts.misses, static_cast<std::uint64_t>(kThreads * kRounds));
  EXPECT_EQ(counts.evictions + cache.size(), counts.misses);
}

}  // namespace
}  // namespace assay::onednn
#endif
