// Runs a kernel on the processor: every thread of a block is a fiber, and blocks follow each other.
//
// A thread runs until it waits for others: at __syncthreads() or at an operation of its warp. Who goes on then is decided
// by the order, of which there are three: the first thread that can, the last one, or any, by a seed. What depends on who
// is faster shows as different results of two runs. Shared memory starts as NaN or as random bits.
//
// What ends a launch with an error, which names the thread and the line: threads that wait for different barriers, or for
// each other without end; an operation of a warp whose mask names lanes that are not there or leaves the caller out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "types.h"
#include "vocabulary/kernel.h"

// The variables that CUDA gives every thread.
extern thread_local uint3 threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;

namespace assay::cuda::emulation {

// A launch that went wrong, in words.
struct Fault : Crashed {
  using Crashed::Crashed;
};

struct Location {
  const char* file;
  int line;
};

enum class Order { forward, reverse, random };

struct Options {
  Order order = Order::forward;
  std::uint64_t seed = 1;  // of the random order, and of what shared memory holds then
};
// Of this thread's launches.
Options& options();

struct Argument {
  const void* data;
  std::size_t bytes;
};

struct Launch {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  void (*thread)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
  std::size_t arguments_bytes = 0;
  const Argument* argument_list = nullptr;  // the same, one by one
  std::size_t argument_count = 0;
  const char* kernel = nullptr;  // its name as the compiler writes it
};
// Throws Fault.
void run(const Launch& launch);
// Throws Fault for what no GPU runs. `shared_bytes` are those of a block's static variables, where they are known before.
void check_limits(const Launch& launch, std::size_t shared_bytes = 0);

// For what kernels call.
void* shared_variable(const void* key, std::size_t bytes, const char* name);
void* dynamic_shared_memory();
enum class Barrier : std::uint8_t { plain, count, all, any };
int wait_for_block(Barrier kind, int predicate, Location where);
// Called by each lane of the mask with a slot of its own; the last to come calls `complete` with those of all. `name` says
// which operation it is: lanes that wait for each other must call the same.
using Complete = void (*)(void* const* slots, unsigned mask);
void wait_for_warp(const char* name, unsigned mask, void* slot, Complete complete, Location where);
int lane();
unsigned lanes_left();
[[noreturn]] void fail(const char* what);
// A vector that was read, or written, where it cannot be.
[[noreturn]] void fail_alignment(std::size_t bytes, const char* done);

}  // namespace assay::cuda::emulation
