#include "run.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "../emulation/ready_set.h"
#include "../emulation/text.h"
#include "module.h"
#include "warp.h"

namespace assay::cuda::ptx {
namespace {

using emulation::Order;

std::uint32_t first(std::uint32_t lanes) { return static_cast<std::uint32_t>(std::countr_zero(lanes)); }

// The lowest bits of a row.
std::uint32_t bits_of(const std::uint64_t* row) {
  std::uint32_t bits = 0;
#if defined(__SSE2__)
  for (std::uint32_t lane = 0; lane < kWarp; lane += 2) {
    const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + lane));
    const int signs = _mm_movemask_pd(_mm_castsi128_pd(_mm_slli_epi64(two, 63)));
    bits |= static_cast<std::uint32_t>(signs) << lane;
  }
#else
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) bits |= static_cast<std::uint32_t>(row[lane] & 1) << lane;
#endif
  return bits;
}

// Lanes of `among` whose predicate lets them do the instruction.
std::uint32_t guarded(Warp& warp, const Instruction& i, std::uint32_t among) {
  if (i.guard < 0) return among;
  const std::uint32_t set = bits_of(warp.row(i.guard));
  return among & (i.guard_negated ? ~set : set);
}

// Lanes come to an instruction that waits for all of its mask, which the last to come do. Not all need have one mask: each is
// of lanes that name the same.
void meet(Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t came) {
  warp.in_warp |= came;
  for (std::uint32_t lanes = came; lanes != 0; lanes &= lanes - 1) warp.pc[first(lanes)] = pc;
  std::uint32_t here = 0;
  for (std::uint32_t lanes = warp.in_warp; lanes != 0; lanes &= lanes - 1)
    if (warp.pc[first(lanes)] == pc) here |= 1u << first(lanes);
  const auto mask_of = [&](std::uint32_t lane) {
    return i.mask < 0 ? ~0u : static_cast<std::uint32_t>(warp.row(i.mask)[lane]);
  };
  for (std::uint32_t lanes = came; lanes != 0; lanes &= lanes - 1)
    if ((mask_of(first(lanes)) >> first(lanes) & 1) == 0)
      warp.fail("the mask leaves its caller out", first(lanes));
  for (std::uint32_t left = came; left != 0;) {
    const std::uint32_t lane = first(left), mask = mask_of(lane), gone = mask & ~warp.live;
    if (gone != 0) warp.fail("the mask names lane " + std::to_string(first(gone)) + ", which has left", lane);
    std::uint32_t group = 0;
    for (std::uint32_t lanes = here; lanes != 0; lanes &= lanes - 1)
      if (mask_of(first(lanes)) == mask) group |= 1u << first(lanes);
    left &= ~group;
    if ((mask & ~group) != 0) continue;
    if (i.run != nullptr) i.run(warp, i, mask);
    warp.in_warp &= ~mask;
    here &= ~mask;
    for (std::uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) warp.pc[first(lanes)] = pc + 1;
  }
}

// Whether these lanes are what each of them waits for.
bool are_all(Warp& warp, const Instruction& i, std::uint32_t lanes) {
  if (i.mask < 0) return lanes == ~0u;
  const std::uint64_t* mask = warp.row(i.mask);
  for (std::uint32_t left = lanes; left != 0; left &= left - 1)
    if (static_cast<std::uint32_t>(mask[first(left)]) != lanes) return false;
  return true;
}

// Runs the lanes that are furthest behind, together, until they part, wait, end or come to others. False if none can run.
bool run_together(Warp& warp, const Program& program) {
  const std::uint32_t ready = warp.live & ~warp.in_warp & ~warp.at_barrier;
  if (ready == 0) return false;
  std::int32_t pc = INT32_MAX;
  for (std::uint32_t lanes = ready; lanes != 0; lanes &= lanes - 1) pc = std::min(pc, warp.pc[first(lanes)]);
  std::uint32_t active = 0;
  std::int32_t others = INT32_MAX;
  for (std::uint32_t lanes = ready; lanes != 0; lanes &= lanes - 1) {
    const std::int32_t at = warp.pc[first(lanes)];
    if (at == pc)
      active |= 1u << first(lanes);
    else
      others = std::min(others, at);
  }
  const auto leave_at = [&](std::uint32_t lanes, std::int32_t at) {
    for (; lanes != 0; lanes &= lanes - 1) warp.pc[first(lanes)] = at;
  };
  for (; pc < others; ++pc) {
    const Instruction& i = program.code[static_cast<std::size_t>(pc)];
    warp.current = pc;
    const std::uint32_t doing = guarded(warp, i, active);
    switch (i.flow) {
      case Flow::next:
        warp.running = active;
        if (doing != 0) i.run(warp, i, doing);
        continue;
      case Flow::branch:
        if (doing == 0) continue;
        if (doing == active && i.target < others) {
          pc = i.target - 1;
          continue;
        }
        leave_at(doing, i.target);
        leave_at(active & ~doing, pc + 1);
        return true;
      case Flow::exit:
        warp.live &= ~doing;
        leave_at(active & ~doing, pc + 1);
        return true;
      case Flow::block_barrier:
        if (doing == 0) continue;
        if (doing != active) warp.fail("a barrier of some lanes only", first(active & ~doing));
        warp.at_barrier |= active;
        leave_at(active, pc);
        return true;
      case Flow::warp_barrier:
        if (doing == active && are_all(warp, i, active)) {
          if (i.run != nullptr) i.run(warp, i, active);
          continue;
        }
        leave_at(active & ~doing, pc + 1);
        if (doing != 0) meet(warp, i, pc, doing);
        return true;
    }
  }
  leave_at(active, pc);
  return true;
}

// All threads that have not ended wait for the block: they go on after the barrier.
void pass_barrier(std::vector<Warp>& warps) {
  for (Warp& warp : warps) {
    for (std::uint32_t lanes = warp.at_barrier; lanes != 0; lanes &= lanes - 1) {
      const std::uint32_t lane = first(lanes);
      warp.current = warp.pc[lane];
      if (warp.pc[lane] != warp.pc[first(warp.at_barrier)])
        warp.fail("divergent barrier: the lanes of a warp wait at different ones", lane);
    }
    for (std::uint32_t lanes = warp.at_barrier; lanes != 0; lanes &= lanes - 1) ++warp.pc[first(lanes)];
    warp.at_barrier = 0;
  }
}

void run_block(Block& block, std::vector<Warp>& warps, const emulation::Options& options,
               emulation::Random& random) {
  const std::uint32_t threads = block.launch.block.x * block.launch.block.y * block.launch.block.z;
  block.copies.clear(threads);
  if (options.order == Order::random)
    random.fill(block.shared.data(), block.shared.size());
  else
    std::fill(block.shared.begin(), block.shared.end(), std::byte{0xff});
  std::fill(block.local.begin(), block.local.end(), std::byte{0xff});
  for (Warp& warp : warps) warp.begin();
  for (;;) {
    const std::size_t start = options.order == Order::random ? random() % warps.size() : 0;
    for (std::size_t k = 0; k < warps.size(); ++k) {
      Warp& warp = warps[options.order == Order::reverse ? warps.size() - 1 - k : (start + k) % warps.size()];
      while (run_together(warp, block.program)) {
      }
    }
    bool alive = false;
    for (const Warp& warp : warps) alive = alive || warp.live != 0;
    if (!alive) return;
    for (Warp& warp : warps) {
      const std::uint32_t stuck = warp.live & ~warp.at_barrier;
      if (stuck == 0) continue;
      warp.current = warp.pc[first(stuck)];
      warp.fail("deadlock: lanes of its mask never come", first(stuck));
    }
    pass_barrier(warps);
  }
}

// Kernels' arguments as a launch hands them to the device.
std::vector<std::byte> packed(const Program& program, const emulation::Launch& launch) {
  std::vector<std::byte> bytes(program.parameter_bytes);
  if (launch.argument_count != program.parameters.size())
    throw emulation::Fault("the kernel has " + std::to_string(program.parameters.size()) +
                           " parameters, the launch " + std::to_string(launch.argument_count) + " arguments");
  for (std::size_t i = 0; i < launch.argument_count; ++i) {
    const Parameter& p = program.parameters[i];
    if (launch.argument_list[i].bytes != p.bytes)
      throw emulation::Fault("parameter " + std::to_string(i) + " has " + std::to_string(p.bytes) +
                             " bytes, its argument " + std::to_string(launch.argument_list[i].bytes));
    std::memcpy(bytes.data() + p.offset, launch.argument_list[i].data, p.bytes);
  }
  return bytes;
}

thread_local bool is_interpreted = false;

// The kernels of this build's PTX, by plain name.
class Library {
 public:
  static Library& own() {
    static thread_local Library library;
    return library;
  }

  const Program* kernel(const std::string& name) {
    const auto file = files_.find(name);
    if (file == files_.end()) throw std::runtime_error("this build has no PTX of the kernel " + name);
    std::unique_ptr<Module>& module = modules_[file->second];
    if (module == nullptr) module = Module::of_file(file->second);
    return module->kernel(name);
  }

 private:
  // The index has a line for each kernel: "FILE:.entry MANGLED_NAME".
  Library() {
#ifdef ASSAY_PTX_FOLDER
    std::ifstream index(ASSAY_PTX_FOLDER "/index");
    constexpr std::string_view between = ":.entry ";
    for (std::string line; std::getline(index, line);)
      if (const auto at = line.find(between); at != std::string::npos)
        files_.emplace(plain_name(line.c_str() + at + between.size()), line.substr(0, at));
    if (files_.empty())
      throw std::runtime_error(ASSAY_PTX_FOLDER "/index: cannot be read, or has no kernels");
#endif
  }

  std::map<std::string, std::string> files_;
  std::map<std::string, std::unique_ptr<Module>> modules_;
};

}  // namespace

void run(const Program& program, const emulation::Launch& launch, const emulation::Options& options) {
  emulation::check_limits(launch, program.shared_bytes);
  const dim3 grid = launch.grid;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint32_t threads = launch.block.x * launch.block.y * launch.block.z;
  Block block{program, launch, packed(program, launch), {}, {}, {}, {}};
  block.shared.resize(program.shared_bytes + launch.shared_bytes);
  block.local.resize(program.local_bytes * threads);
  std::vector<Warp> warps;
  warps.reserve((threads + kWarp - 1) / kWarp);
  for (std::uint32_t w = 0; w < (threads + kWarp - 1) / kWarp; ++w) warps.emplace_back(block, w);
  emulation::Random random(options.seed);
  const std::uint64_t start = options.order == Order::random ? random() % blocks : 0;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const std::uint64_t b = options.order == Order::reverse ? blocks - 1 - k : (start + k) % blocks;
    block.index = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                   static_cast<unsigned>(b / grid.x / grid.y)};
    run_block(block, warps, options, random);
  }
}

Interpreted::Interpreted() { is_interpreted = true; }
Interpreted::~Interpreted() { is_interpreted = false; }
bool interpreted() { return is_interpreted; }

const Program& program_of(const char* kernel) { return *Library::own().kernel(plain_name(kernel)); }

void run(const emulation::Launch& launch) {
  try {
    run(program_of(launch.kernel), launch, emulation::options());
  } catch (const emulation::Fault&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw emulation::Fault(error.what());
  }
}

}  // namespace assay::cuda::ptx
