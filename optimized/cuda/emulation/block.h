// The threads of one block, and who of them goes on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "copies.h"
#include "fiber.h"
#include "launch.h"
#include "ready_set.h"
#include "shared_memory.h"

namespace assay::cuda::emulation {

inline constexpr unsigned kMaxThreads = 1024;
inline constexpr unsigned kWarp = 32;

struct Thread {
  enum class State : std::uint8_t { fresh, ready, at_barrier, in_warp, done };
  State state = State::fresh;
  Fiber* fiber = nullptr;  // where it stands still
  Location where{};        // of what it waits for
  const char* operation = nullptr;
  unsigned mask = 0;
  void* slot = nullptr;
};

// Runs the blocks of launches, one at a time, on the calling thread of the program.
class Scheduler {
 public:
  // This thread's.
  static Scheduler& own();
  // The one that runs a block now, or null.
  static Scheduler* running();

  // Throws Fault.
  void run(const Launch& launch, const Options& options);

  int wait_for_block(Barrier kind, int predicate, Location where);
  void wait_for_warp(const char* name, unsigned mask, void* slot, Complete complete, Location where);
  void* shared_variable(const void* key, std::size_t bytes, const char* name);
  void* dynamic_shared_memory();
  unsigned thread() const { return current_; }
  Copies& copies() { return copies_; }
  unsigned lanes_left() const;
  // Ends the launch; what threads have on their stacks is forgotten.
  [[noreturn]] void fail(const std::string& what);
  // Whether that is on the stack of a thread of the block.
  bool on_stack(const void* address) const;
  // "block 1 thread 3", or "block (1, 2) thread 3" where there are more dimensions
  std::string here() const { return name(current_); }

 private:
  struct Warp {
    unsigned waiting = 0;  // lanes at an operation
    unsigned exited = 0;
    // What those that wait are waiting for, unless it is not the same for all.
    unsigned mask = 0;
    const char* operation = nullptr;
    bool mixed = false;
  };

  void run_block(uint3 index);
  int next_ready();  // the thread that goes on, or -1
  void bind(unsigned thread);
  void prepare(unsigned thread);  // makes it the running one, with a fiber
  void resume(unsigned thread);
  void pass_on();  // from the running thread to the next one, or back to run_block()
  void leave();    // the running thread waits
  void finish_thread();
  void complete_barrier();
  void end_block();
  std::string name(unsigned thread) const;
  std::string deadlock() const;
  static void fiber_main();

  const Launch* launch_ = nullptr;
  Options options_;
  Random random_{1};
  unsigned count_ = 0;  // threads of a block
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  ReadySet ready_;
  unsigned current_ = 0;
  unsigned alive_ = 0, at_barrier_ = 0, first_at_barrier_ = 0;
  Barrier barrier_kind_ = Barrier::plain;
  int barrier_sum_ = 0, barrier_result_ = 0;
  std::string fault_;
  Copies copies_;
  SharedMemory shared_;

  Fiber main_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* fiber_ = nullptr;  // that runs
};

}  // namespace assay::cuda::emulation
