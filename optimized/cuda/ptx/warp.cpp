#include "warp.h"

#include <bit>
#include <string>

#include "../emulation/text.h"

namespace assay::cuda::ptx {

Warp::Warp(Block& block, std::uint32_t number) : block_(block), number_(number) {
  if (!spare_.empty()) {
    registers_ = std::move(spare_.back());
    spare_.pop_back();
  }
  registers_.assign(static_cast<std::size_t>(block.program.rows) * kWarp, ~std::uint64_t{0});
  for (const Constant& c : block.program.constants) std::fill_n(row(c.row), kWarp, c.value);
  const dim3 size = block.launch.block, grid = block.launch.grid;
  for (const Special& s : block.program.specials)
    for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
      const std::uint32_t t = thread(lane);
      const std::uint32_t tid[] = {t % size.x, t / size.x % size.y, t / size.x / size.y};
      const std::uint32_t ntid[] = {size.x, size.y, size.z}, nctaid[] = {grid.x, grid.y, grid.z};
      if (s.kind == Special::Kind::tid) row(s.row)[lane] = tid[s.dimension];
      if (s.kind == Special::Kind::ntid) row(s.row)[lane] = ntid[s.dimension];
      if (s.kind == Special::Kind::nctaid) row(s.row)[lane] = nctaid[s.dimension];
      if (s.kind == Special::Kind::laneid) row(s.row)[lane] = lane;
    }
}

thread_local std::vector<std::vector<std::uint64_t>> Warp::spare_;

Warp::~Warp() {
  if (registers_.capacity() != 0) spare_.push_back(std::move(registers_));
}

void Warp::begin() {
  const std::uint32_t threads = block_.launch.block.x * block_.launch.block.y * block_.launch.block.z;
  const std::uint32_t lanes = std::min(kWarp, threads - number_ * kWarp);
  live = lanes == kWarp ? ~0u : (1u << lanes) - 1;
  in_warp = at_barrier = 0;
  std::fill(std::begin(pc), std::end(pc), 0);
  for (const std::int32_t r : block_.program.unwritten) std::fill_n(row(r), kWarp, ~std::uint64_t{0});
  const std::uint32_t index[] = {block_.index.x, block_.index.y, block_.index.z};
  for (const Special& s : block_.program.specials)
    if (s.kind == Special::Kind::ctaid) std::fill_n(row(s.row), kWarp, index[s.dimension]);
}

std::byte* Warp::looked_up(StateSpace space, std::uint64_t address, std::size_t bytes, std::size_t alignment,
                           bool write, std::uint32_t lane) {
  if (space == StateSpace::generic) {
    space = (address & kSharedWindow) != 0  ? StateSpace::shared
            : (address & kLocalWindow) != 0 ? StateSpace::local
                                            : StateSpace::global;
    address &= ~(kSharedWindow | kLocalWindow);
  }
  if (address % alignment != 0)
    fail("misaligned: " + std::to_string(bytes) + " bytes at " + std::to_string(address % 4096) + " mod 4096",
         lane);
  if (space == StateSpace::global) {
    region() = emulation::regions().find(address, bytes, write);
    if (region().end == 0) fail(emulation::regions().objection(address, bytes, write), lane);
    return std::bit_cast<std::byte*>(address);
  }
  std::vector<std::byte>& all = space == StateSpace::shared  ? block_.shared
                                : space == StateSpace::local ? block_.local
                                                             : block_.parameters;
  const std::size_t each = space == StateSpace::local ? block_.program.local_bytes : all.size();
  if (space != StateSpace::local) address &= 0xffffffffu;
  if (address > each || bytes > each - address)
    fail("out of bounds: " + std::to_string(bytes) + " bytes at byte " + std::to_string(address) + " of " +
             (space == StateSpace::shared  ? "shared memory, which has "
              : space == StateSpace::local ? "local memory, which has "
                                           : "the kernel's parameters, which have ") +
             std::to_string(each),
         lane);
  return all.data() + (space == StateSpace::local ? thread(lane) * each : 0) + address;
}

std::string name_of_thread(const Block& block, std::uint32_t thread) {
  const uint3 i = block.index;
  const dim3 grid = block.launch.grid;
  std::string name = "block " + std::to_string(i.x);
  if (grid.y > 1 || grid.z > 1)
    name = "block (" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")";
  return name + " warp " + std::to_string(thread / kWarp) + " lane " + std::to_string(thread % kWarp);
}

void Warp::fail(const std::string& what, std::uint32_t lane) const {
  const Program& p = block_.program;
  const Instruction& i = p.code[static_cast<std::size_t>(current)];
  throw emulation::Fault(
      what + ": " + name_of_thread(block_, thread(lane)) +
      (i.place < 0 ? "" : " at " + p.places[static_cast<std::size_t>(i.place)]) + ", \"" +
      p.texts[static_cast<std::size_t>(i.text)] + "\"" +
      (block_.launch.kernel == nullptr ? "" : ", in kernel " + emulation::demangled(block_.launch.kernel)));
}

}  // namespace assay::cuda::ptx
