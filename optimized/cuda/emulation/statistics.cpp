#include "statistics.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "block.h"
#include "vocabulary/access_counts.h"

namespace assay::cuda::emulation {
namespace {

constexpr std::uintptr_t kSector = 32;
constexpr unsigned kBanks = 32;

// One request of a warp: the accesses of its lanes by one instruction, the first time they come by, the second, ... Copies
// (cp.async) have as many bytes as there are left, lane by lane.
struct Request {
  std::array<std::uintptr_t, kWarp> address{};
  std::array<std::uint8_t, kWarp> bytes{};
  std::uint32_t lanes = 0;
};

struct Place {
  std::uint32_t bytes = 0;  // at most
  bool shared = false, write = false;
  std::map<unsigned, std::vector<Request>> requests;  // by warp
  std::unordered_map<unsigned, std::uint32_t> times_of_thread;
};

struct Counter {
  AccessCounts* table = nullptr;
  std::unordered_map<std::uint32_t, Place> places;

  Counter() {
    const char* path = std::getenv(kAccessCountsVariable);
    if (path == nullptr) return;
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    constexpr std::size_t bytes = kCountedPlaces * sizeof(AccessCounts);
    if (file < 0 || ftruncate(file, bytes) != 0) return;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED) table = static_cast<AccessCounts*>(memory);
  }
};

Counter& counter() {
  static Counter& the = *new Counter;
  return the;
}

// Distinct numbers among the first n.
unsigned distinct(std::array<std::uintptr_t, 2 * kWarp>& numbers, std::size_t n) {
  std::sort(numbers.begin(), numbers.begin() + n);
  return static_cast<unsigned>(std::unique(numbers.begin(), numbers.begin() + n) - numbers.begin());
}

void count_sectors(const Request& request, std::uint64_t& units, std::uint64_t& ideal) {
  std::array<std::uintptr_t, 2 * kWarp> sectors;
  std::array<std::pair<std::uintptr_t, std::uint32_t>, kWarp> accesses;
  std::size_t n = 0, m = 0;
  for (unsigned lanes = request.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
    const std::uintptr_t a = request.address[lane];
    const std::uint32_t bytes = request.bytes[lane];
    accesses[m++] = {a, bytes};
    sectors[n++] = a / kSector;
    sectors[n++] = (a + bytes - 1) / kSector;
  }
  // Of those at one address the longest comes first.
  std::sort(accesses.begin(), accesses.begin() + m, std::greater<>());
  std::uint64_t asked = 0;
  for (std::size_t k = 0; k < m; ++k)
    if (k == 0 || accesses[k].first != accesses[k - 1].first) asked += accesses[k].second;
  units += distinct(sectors, n);
  ideal += (asked + kSector - 1) / kSector;
}

// A warp's access to shared memory is made in passes of 128 bytes: of 8 or 16 bytes a lane, half or a quarter of the
// lanes at a time. In each pass as often as the busiest bank has different words.
void count_passes(const Request& request, std::uint32_t bytes, std::uint64_t& units, std::uint64_t& ideal) {
  const unsigned together = bytes <= 4 ? kWarp : kWarp * 4 / bytes;
  for (unsigned first = 0; first < kWarp; first += together) {
    std::array<std::array<std::uintptr_t, kWarp>, kBanks> words;
    std::array<std::size_t, kBanks> count{};
    bool any = false;
    for (unsigned i = first; i < first + together; ++i) {
      if ((request.lanes >> i & 1) == 0) continue;
      any = true;
      for (std::uintptr_t w = request.address[i] / 4; w <= (request.address[i] + request.bytes[i] - 1) / 4;
           ++w) {
        auto& bank = words[w % kBanks];
        auto& n = count[w % kBanks];
        if (std::find(bank.begin(), bank.begin() + n, w) == bank.begin() + n) bank[n++] = w;
      }
    }
    if (!any) continue;
    units += *std::max_element(count.begin(), count.end());
    ideal += 1;
  }
}

AccessCounts* place_in(AccessCounts* table, std::uint32_t pc) {
  for (std::size_t i = 0; i < kCountedPlaces; ++i) {
    AccessCounts& at = table[(pc * std::size_t{2654435761u} + i) % kCountedPlaces];
    std::uint64_t none = 0;
    if (__atomic_compare_exchange_n(&at.pc, &none, pc, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
        none == pc)
      return &at;
  }
  return nullptr;
}

}  // namespace

void count_access(const CountedAccess& access) {
  Counter& c = counter();
  if (c.table == nullptr) return;
  Place& place = c.places[access.pc];
  place.bytes = std::max(place.bytes, access.bytes);
  place.shared = access.shared;
  place.write = access.write;
  auto& requests = place.requests[access.thread / kWarp];
  const std::uint32_t time = place.times_of_thread[access.thread]++;
  if (requests.size() <= time) requests.resize(time + 1);
  const unsigned lane = access.thread % kWarp;
  requests[time].address[lane] = access.address;
  requests[time].bytes[lane] = static_cast<std::uint8_t>(access.bytes);
  requests[time].lanes |= 1u << lane;
}

void count_block() {
  Counter& c = counter();
  if (c.table == nullptr) return;
  for (auto& [pc, place] : c.places) {
    std::uint64_t requests = 0, units = 0, ideal = 0;
    for (const auto& [warp, all] : place.requests)
      for (const Request& r : all) {
        ++requests;
        if (place.shared)
          count_passes(r, place.bytes, units, ideal);
        else
          count_sectors(r, units, ideal);
      }
    AccessCounts* const at = place_in(c.table, pc);
    if (at == nullptr) continue;
    at->bytes = std::max(at->bytes, place.bytes);
    at->shared = place.shared ? 1 : 0;
    at->write = place.write ? 1 : 0;
    __atomic_fetch_add(&at->requests, requests, __ATOMIC_RELAXED);
    __atomic_fetch_add(&at->units, units, __ATOMIC_RELAXED);
    __atomic_fetch_add(&at->ideal, ideal, __ATOMIC_RELAXED);
  }
  c.places.clear();
}

}  // namespace assay::cuda::emulation
