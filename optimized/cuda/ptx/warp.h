// What instructions act on: the registers of a warp, and the memory of its block.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../emulation/copies.h"
#include "../emulation/launch.h"
#include "../emulation/regions.h"
#include "program.h"

namespace assay::cuda::ptx {

// Addresses of these windows, as cvta makes them, are generic addresses of shared and local memory.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 62, kLocalWindow = std::uint64_t{1} << 61;

struct Block {
  const Program& program;
  const emulation::Launch& launch;
  std::vector<std::byte> parameters;
  std::vector<std::byte> shared;
  std::vector<std::byte> local;  // of all threads
  emulation::Copies copies;
  uint3 index{};
};

class Warp {
 public:
  Warp(Block& block, std::uint32_t number);
  ~Warp();
  Warp(Warp&&) = default;
  Warp& operator=(Warp&&) = delete;

  void begin();

  std::uint64_t* row(std::int32_t number) {
    return registers_.data() + static_cast<std::size_t>(number) * kWarp;
  }

  // The memory of an access by one lane, to a multiple of `alignment`, a power of two; 0: to one of `bytes`. Throws Fault if
  // it is misaligned, lies outside, or may not be written.
  std::byte* memory(StateSpace space, std::uint64_t address, std::size_t bytes, bool write,
                    std::uint32_t lane, std::size_t alignment = 0) {
    if (alignment == 0) alignment = bytes;
    if ((address & (alignment - 1)) == 0) {
      if (space == StateSpace::global && region().has(address, bytes, write))
        return std::bit_cast<std::byte*>(address);
      if (space == StateSpace::shared && fits(address & 0xffffffffu, bytes, block_.shared.size()))
        return block_.shared.data() + (address & 0xffffffffu);
      if (space == StateSpace::param && fits(address & 0xffffffffu, bytes, block_.parameters.size()) &&
          !write)
        return block_.parameters.data() + (address & 0xffffffffu);
      const std::size_t each = block_.program.local_bytes;
      if (space == StateSpace::local && fits(address, bytes, each))
        return block_.local.data() + thread(lane) * each + address;
    }
    return looked_up(space, address, bytes, alignment, write, lane);
  }
  Block& block() { return block_; }
  std::uint32_t thread(std::uint32_t lane) const { return number_ * kWarp + lane; }
  [[noreturn]] void fail(const std::string& what, std::uint32_t lane) const;

  // Lanes that have not ended; that wait for others of their warp; for the block.
  std::uint32_t live = 0, in_warp = 0, at_barrier = 0;
  std::uint32_t running = 0;  // that execute an instruction together now
  std::int32_t pc[kWarp]{};
  std::int32_t current = 0;  // the instruction that runs

 private:
  static bool fits(std::size_t at, std::size_t bytes, std::size_t all) {
    return at <= all && bytes <= all - at;
  }
  emulation::Regions::Region& region() { return last_regions_[static_cast<std::size_t>(current) % 8]; }
  std::byte* looked_up(StateSpace space, std::uint64_t address, std::size_t bytes, std::size_t alignment,
                       bool write, std::uint32_t lane);

  Block& block_;
  std::uint32_t number_;
  std::vector<std::uint64_t> registers_;
  std::array<emulation::Regions::Region, 8> last_regions_;             // of instructions, by number
  static thread_local std::vector<std::vector<std::uint64_t>> spare_;  // memory of launches before
};

// "block 1 warp 0 lane 3"
std::string name_of_thread(const Block& block, std::uint32_t thread);

}  // namespace assay::cuda::ptx
