#include "launch.h"

#include "block.h"
#include "checker.h"

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

namespace assay::cuda::emulation {

void check_limits(const Launch& launch, std::size_t shared_bytes) {
  const dim3 grid = launch.grid, block = launch.block;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  const auto triple = [](dim3 d) {
    return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
  };
  // The limits of compute capability 9.0, CUDA C++ Programming Guide, table of technical specifications.
  if (threads == 0 || threads > kMaxThreads || block.z > 64 || blocks == 0 || grid.x > 0x7fffffffu ||
      grid.y > 65535 || grid.z > 65535)
    throw Fault("no GPU runs a grid of " + triple(grid) + " blocks of " + triple(block) + " threads");
  if (launch.shared_bytes > kMaxShared || shared_bytes > kMaxShared - launch.shared_bytes)
    throw Fault("no GPU has " + std::to_string(shared_bytes + launch.shared_bytes) +
                " bytes of shared memory for a block");
}

Options& options() {
  static thread_local Options own;
  return own;
}

void run(const Launch& launch) { Scheduler::own().run(launch, options()); }
void* shared_variable(const void* key, std::size_t bytes, const char* name) {
  return Scheduler::running()->shared_variable(key, bytes, name);
}
void* dynamic_shared_memory() { return Scheduler::running()->dynamic_shared_memory(); }
int wait_for_block(Barrier kind, int predicate, Location where) {
  return Scheduler::running()->wait_for_block(kind, predicate, where);
}
void wait_for_warp(const char* name, unsigned mask, void* slot, Complete complete, Location where) {
  Scheduler::running()->wait_for_warp(name, mask, slot, complete, where);
}
int lane() { return static_cast<int>(Scheduler::running()->thread() % kWarp); }
unsigned lanes_left() { return Scheduler::running()->lanes_left(); }
void fail_alignment(std::size_t bytes, const char* done) {
  checker_enable(false);
  fail((std::to_string(bytes) + " bytes " + done + " at no multiple of " + std::to_string(bytes)).c_str());
}
void fail(const char* what) {
  checker_enable(false);
  Scheduler::running()->fail(std::string(what) + ": " + Scheduler::running()->here());
}

}  // namespace assay::cuda::emulation
