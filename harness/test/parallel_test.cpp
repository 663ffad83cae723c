#include "harness/model/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "vocabulary/stop.h"

namespace assay {
namespace {

TEST(Parallel, EachPartIsDoneOnceOnAnyNumberOfThreads) {
  for (const unsigned threads : {0u, 1u, 2u, 7u, 40u})
    for (const std::size_t count : {0u, 1u, 6u, 500u}) {
      std::vector<int> done(count);
      for_each_parallel(threads, count, [&](std::size_t i) { ++done[i]; });
      EXPECT_EQ(done, std::vector<int>(count, 1)) << threads;
    }
}

TEST(Parallel, PartsAreOnSeveralThreads) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> begun{0};
  for_each_parallel(3, 3, [&](std::size_t) {
    ++begun;
    while (begun < 3) std::this_thread::yield();  // so that none can do two
    const std::scoped_lock lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
}

TEST(Parallel, TheFirstPartThatThrowsIsHeard) {
  for (int times = 0; times < 50; ++times) {
    std::atomic<std::size_t> begun{0};
    try {
      for_each_parallel(4, 10'000, [&](std::size_t i) {
        ++begun;
        if (i >= 20) throw std::runtime_error(std::to_string(i));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "20");
    }
    EXPECT_LT(begun, 10'000u);
  }
}

TEST(Parallel, EndsWithTheCallersScope) {
  std::atomic<std::size_t> done{0};
  const StopScope scope([&] { return done >= 10; });
  EXPECT_THROW(for_each_parallel(3, 100'000, [&](std::size_t) { ++done; }), Stopped);
  EXPECT_LT(done, 100u);
}

TEST(Parallel, ThreadsOfTheMachineUnlessSomeAreWanted) {
  EXPECT_GE(threads_for(0), 1u);
  EXPECT_EQ(threads_for(-1), threads_for(0));
  EXPECT_EQ(threads_for(5), 5u);
}

}  // namespace
}  // namespace assay
