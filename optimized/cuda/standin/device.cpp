#include "device.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../emulation/regions.h"
#include "../ptx/run.h"

namespace assay::cuda::standin {
namespace {

constexpr std::size_t kBytes = std::size_t{4} << 30;  // of addresses; memory is taken as it is used
constexpr std::size_t kStep = 256, kBetween = 1024;   // of what begins and ends at an allocation

constexpr std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

Device& Device::own() {
  static Device* const device = new Device;  // used by what ends after statics do
  return *device;
}

Device::Device() {
  void* const memory = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("the stand-in for a device has no memory");
  memory_ = static_cast<std::byte*>(memory);
}

void Device::open() { mprotect(memory_, kBytes, PROT_READ | PROT_WRITE); }
void Device::close() { mprotect(memory_, kBytes, PROT_NONE); }

void* Device::allocate(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const std::size_t wanted = rounded(bytes, kStep) + kBetween;
  auto at = reinterpret_cast<std::uintptr_t>(memory_);
  const std::uintptr_t end = at + kBytes;
  for (const auto& [begin, size] : taken_) {
    if (begin - at >= wanted) break;
    at = begin + size;
  }
  if (end - at < wanted) return nullptr;
  taken_.emplace(at, wanted);
  allocations_.emplace(at, bytes);
  void* const data = memory_ + (at - reinterpret_cast<std::uintptr_t>(memory_));
  const std::uint64_t seed = random_();
  enqueue([data, bytes, seed] {
    std::mt19937_64 random(seed);
    auto* const out = static_cast<std::byte*>(data);
    for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
      const std::uint64_t bits = random();
      std::memcpy(out + i, &bits, std::min(sizeof bits, bytes - i));
    }
    emulation::regions().add(data, bytes, true);
  });
  return data;
}

bool Device::free(void* data) {
  const std::scoped_lock lock(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (allocations_.erase(at) == 0) return false;
  enqueue([this, data, at] {
    emulation::regions().forget(data);
    taken_.erase(at);
  });
  return true;
}

bool Device::holds(const void* data, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  auto next = allocations_.upper_bound(at);
  if (next == allocations_.begin()) return false;
  const auto& [begin, size] = *std::prev(next);
  return at - begin <= size && bytes <= size - (at - begin);
}

bool Device::touches(const void* data, std::size_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_);
  return at < begin + kBytes && at + bytes > begin;
}

void Device::enqueue(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  queue_.push_back(std::move(work));
}

bool Device::wait() {
  const std::scoped_lock lock(mutex_);
  if (queue_.empty() || lost_) return !lost_;
  open();
  try {
    while (!queue_.empty()) {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      work();
    }
  } catch (const emulation::Fault& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    lost_ = true;
    queue_.clear();
  }
  close();
  return !lost_;
}

void Device::launch(const char* kernel, Size3 grid, Size3 block, std::size_t shared, void** arguments) {
  const std::scoped_lock lock(mutex_);
  const ptx::Program& program = ptx::program_of(kernel);
  emulation::Launch launch{.grid = {grid.x, grid.y, grid.z},
                           .block = {block.x, block.y, block.z},
                           .shared_bytes = shared,
                           .kernel = kernel};
  emulation::check_limits(launch);
  // The arguments are those of now.
  const auto bytes = std::make_shared<std::vector<std::byte>>(program.parameter_bytes);
  const auto list = std::make_shared<std::vector<emulation::Argument>>();
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const ptx::Parameter& p = program.parameters[i];
    std::memcpy(bytes->data() + p.offset, arguments[i], p.bytes);
    list->push_back({bytes->data() + p.offset, p.bytes});
  }
  launch.argument_list = list->data();
  launch.argument_count = list->size();
  constexpr emulation::Order orders[] = {emulation::Order::forward, emulation::Order::reverse,
                                         emulation::Order::random};
  const emulation::Options options{.order = orders[launches_ % 3], .seed = ++launches_};
  enqueue([&program, launch, list, bytes, options] { ptx::run(program, launch, options); });
}

}  // namespace assay::cuda::standin

void assay_standin_enqueue(void (*work)(void*), void* data) {
  assay::cuda::standin::Device::own().enqueue([work, data] { work(data); });
}
