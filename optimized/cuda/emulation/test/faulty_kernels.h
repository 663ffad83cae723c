// Kernels with faults planted in them, for the tests of the scheduler and the checker.
#pragma once

#include <cstdint>

namespace assay::cuda {

enum class Planted {
  nothing,
  no_barrier_before_reading,  // of what other threads wrote to shared memory
  no_barrier_before_reuse,    // of shared memory that others may still read
  barrier_in_a_branch,        // two barriers, each for half of the threads
  barrier_without_all,        // some threads wait for ever for others that wait for them
  unwritten_shared,
  behind_shared,
  behind_global,
  before_global,
  index_in_32_bits,  // of rows that lie 3 * 2^30 elements apart
  misaligned,
  writes_input,
  unwritten_scratch,
  adds_to_unwritten,  // an atomic addition, which reads, too
  plain_update,       // a sum over threads without atomics
  plain_update_across_blocks,
  reads_atomic_sum,       // plainly, after its own addition and without waiting for those of others
  warp_without_syncwarp,  // lanes exchange by shared memory and nothing orders them
  mask_leaves_out_caller,
  mask_names_ended_lane,
  mask_names_missing_lane,
  mixed_warp_operations,
  reads_other_lane,  // a shuffle from a lane that does not take part
  same_slot,         // two threads write one element
};

// out[i] of `threads` threads in each of `blocks` blocks: the sum of the block's part of `in`. Throws what a launch throws.
void sum_of_blocks(Planted planted, const float* in, float* out, int blocks, int threads);

}  // namespace assay::cuda
