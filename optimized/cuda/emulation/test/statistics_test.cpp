// How many sectors and passes the accesses of a warp are.
#include "statistics.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "vocabulary/access_counts.h"

namespace assay::cuda::emulation {
namespace {

// Before the first access of any test, when the file is looked for.
const int counted_file = [] {
  const int file = memfd_create("counts", MFD_CLOEXEC);
  setenv(kAccessCountsVariable, ("/proc/self/fd/" + std::to_string(file)).c_str(), 1);
  return file;
}();

struct LaneAccess {
  std::uintptr_t address;
  std::uint32_t bytes;
};

// Of one request: an access of each lane from the first one on.
AccessCounts counts_of(std::uint32_t pc, bool shared, const std::vector<LaneAccess>& lanes) {
  for (unsigned lane = 0; lane < lanes.size(); ++lane)
    count_access({.pc = pc,
                  .thread = lane,
                  .address = lanes[lane].address,
                  .bytes = lanes[lane].bytes,
                  .shared = shared,
                  .write = false});
  count_block();
  std::vector<AccessCounts> table(kCountedPlaces);
  const auto bytes = static_cast<ssize_t>(kCountedPlaces * sizeof(AccessCounts));
  EXPECT_EQ(pread(counted_file, table.data(), static_cast<std::size_t>(bytes), 0), bytes);
  for (const AccessCounts& at : table)
    if (at.pc == pc) return at;
  return {};
}

TEST(Statistics, CountsSectorsOfLanesSideBySideAndApart) {
  std::vector<LaneAccess> beside, apart;
  for (std::uintptr_t lane = 0; lane < 32; ++lane) {
    beside.push_back({4096 + 4 * lane, 4});
    apart.push_back({4096 + 64 * lane, 4});
  }
  const AccessCounts a = counts_of(0x7fff0001, false, beside), b = counts_of(0x7fff0002, false, apart);
  EXPECT_EQ(a.requests, 1u);
  EXPECT_EQ(a.units, 4u);
  EXPECT_EQ(a.ideal, 4u);
  EXPECT_EQ(b.units, 32u);
  EXPECT_EQ(b.ideal, 4u);
}

// Rows of 20 elements of 2 bytes, 24 apart: copies of 16 bytes, but for the last one of each row.
TEST(Statistics, EachCopyCountsAsManyBytesAsItHas) {
  std::vector<LaneAccess> lanes;
  for (std::uintptr_t row = 0; row < 8; ++row)
    for (const LaneAccess& copy : {LaneAccess{0, 16}, LaneAccess{16, 16}, LaneAccess{32, 8}})
      lanes.push_back({4096 + 48 * row + copy.address, copy.bytes});
  const AccessCounts counts = counts_of(0x7fff0003, false, lanes);
  EXPECT_EQ(counts.bytes, 16u);
  EXPECT_EQ(counts.units, 12u);
  EXPECT_EQ(counts.ideal, 10u);  // 8 rows of 40 bytes
}

TEST(Statistics, WhatSeveralLanesReadCountsOnce) {
  const AccessCounts counts =
      counts_of(0x7fff0004, false, {{4096, 16}, {4096, 8}, {4112, 16}, {4112, 16}, {4096, 16}});
  EXPECT_EQ(counts.units, 1u);
  EXPECT_EQ(counts.ideal, 1u);
}

TEST(Statistics, CountsPassesByBanks) {
  std::vector<LaneAccess> conflicts, wide;
  for (std::uintptr_t lane = 0; lane < 32; ++lane) {
    conflicts.push_back({8 * lane, 4});
    wide.push_back({16 * lane, 16});
  }
  const AccessCounts a = counts_of(0x7fff0005, true, conflicts), b = counts_of(0x7fff0006, true, wide);
  EXPECT_EQ(a.units, 2u);
  EXPECT_EQ(a.ideal, 1u);
  EXPECT_EQ(b.units, 4u);
  EXPECT_EQ(b.ideal, 4u);
}

}  // namespace
}  // namespace assay::cuda::emulation
