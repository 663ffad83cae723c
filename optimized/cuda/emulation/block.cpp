#include "block.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "checker.h"
#include "text.h"

namespace assay::cuda::emulation {
namespace {

constexpr std::size_t kStack = 64 << 10;

thread_local Scheduler* active;

}  // namespace

Scheduler& Scheduler::own() {
  static thread_local Scheduler scheduler;
  return scheduler;
}

Scheduler* Scheduler::running() { return active; }

void Scheduler::run(const Launch& launch, const Options& options) {
  check_limits(launch);
  const dim3 grid = launch.grid, block = launch.block;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  launch_ = &launch;
  options_ = options;
  random_ = Random(options.seed);
  count_ = static_cast<unsigned>(threads);
  threads_.resize(count_);
  warps_.resize((count_ + kWarp - 1) / kWarp);
  fault_.clear();
  blockDim = block;
  gridDim = grid;
  fiber_ = &main_;
  active = this;
  checker_begin(launch);
  // Blocks in the order of threads, or beginning anywhere.
  const std::uint64_t start = options.order == Order::random ? random_() % blocks : 0;
  for (std::uint64_t i = 0; i < blocks && fault_.empty(); ++i) {
    const std::uint64_t k = options.order == Order::reverse ? blocks - 1 - i : (start + i) % blocks;
    run_block({static_cast<unsigned>(k % grid.x), static_cast<unsigned>(k / grid.x % grid.y),
               static_cast<unsigned>(k / grid.x / grid.y)});
  }
  checker_end();
  active = nullptr;
  if (!fault_.empty()) throw Fault(fault_);
}

void Scheduler::run_block(uint3 index) {
  blockIdx = index;
  std::fill(threads_.begin(), threads_.end(), Thread{});
  std::fill(warps_.begin(), warps_.end(), Warp{});
  copies_.clear(count_);
  ready_.clear(count_);
  for (unsigned i = 0; i < count_; ++i) ready_.add(i);
  alive_ = count_;
  at_barrier_ = 0;
  barrier_sum_ = 0;
  checker_block(index);
  while (fault_.empty()) {
    const int next = next_ready();
    if (next < 0) break;
    resume(static_cast<unsigned>(next));
  }
  if (fault_.empty() && alive_ != 0) fault_ = deadlock();
  end_block();
}

void Scheduler::end_block() {
  if (const std::string overrun = shared_.overrun(); fault_.empty() && !overrun.empty())
    fault_ = overrun + ", in " + name_of_block(blockIdx);
  shared_.clear();
  if (alive_ == 0) return;
  // What threads that have not ended left on their stacks is forgotten.
  for (Thread& t : threads_)
    if (t.fiber != nullptr) {
      t.fiber->reset();
      idle_.push_back(t.fiber);
      t.fiber = nullptr;
    }
}

void Scheduler::bind(unsigned thread) {
  current_ = thread;
  const dim3 block = launch_->block;
  if (block.y == 1 && block.z == 1)
    threadIdx = {thread, 0, 0};
  else
    threadIdx = {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
  checker_thread(thread);
}

void Scheduler::prepare(unsigned thread) {
  Thread& t = threads_[thread];
  bind(thread);
  if (t.fiber == nullptr) {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(kStack, fiber_main));
      idle_.push_back(fibers_.back().get());
    }
    t.fiber = idle_.back();
    idle_.pop_back();
  }
  fiber_ = t.fiber;
}

int Scheduler::next_ready() { return fault_.empty() ? ready_.take(options_.order, random_) : -1; }

void Scheduler::resume(unsigned thread) {
  prepare(thread);
  checker_enable(true);
  Fiber::switch_to(main_, *fiber_);
  checker_enable(false);
}

void Scheduler::fiber_main() {
  Fiber::arrive();
  for (;;) {
    Scheduler& s = *active;
    s.launch_->thread(s.launch_->arguments);
    checker_enable(false);
    s.finish_thread();
    // A thread that has not begun goes on right here.
    s.idle_.push_back(s.fiber_);
    s.pass_on();
  }
}

void Scheduler::pass_on() {
  Fiber* const self = fiber_;
  const int next = next_ready();
  if (next < 0) {
    fiber_ = &main_;
  } else {
    prepare(static_cast<unsigned>(next));
    checker_enable(true);
  }
  if (fiber_ != self) Fiber::switch_to(*self, *fiber_);
}

void Scheduler::leave() {
  checker_enable(false);
  pass_on();
}

void Scheduler::finish_thread() {
  Thread& t = threads_[current_];
  const unsigned lane = current_ % kWarp, first = current_ - lane;
  for (unsigned m = warps_[current_ / kWarp].waiting; m != 0; m &= m - 1) {
    const unsigned i = first + static_cast<unsigned>(std::countr_zero(m));
    if ((threads_[i].mask >> lane & 1) != 0)
      fail(std::string(threads_[i].operation) + " at " + text(threads_[i].where) + ", " + name(i) +
           ": the mask names lane " + std::to_string(lane) + ", which has ended");
  }
  t.state = Thread::State::done;
  t.fiber = nullptr;
  warps_[current_ / kWarp].exited |= 1u << current_ % kWarp;
  --alive_;
  // Threads that have ended do not take part in barriers (PTX ISA, bar.sync: of the threads that have not exited).
  if (at_barrier_ != 0 && at_barrier_ == alive_) complete_barrier();
}

void Scheduler::complete_barrier() {
  barrier_result_ = barrier_kind_ == Barrier::all   ? barrier_sum_ == static_cast<int>(at_barrier_)
                    : barrier_kind_ == Barrier::any ? barrier_sum_ != 0
                                                    : barrier_sum_;
  at_barrier_ = 0;
  barrier_sum_ = 0;
  checker_barrier();
  for (unsigned i = 0; i < count_; ++i)
    if (threads_[i].state == Thread::State::at_barrier) {
      threads_[i].state = Thread::State::ready;
      ready_.add(i);
    }
}

int Scheduler::wait_for_block(Barrier kind, int predicate, Location where) {
  checker_enable(false);
  Thread& t = threads_[current_];
  t.where = where;
  if (at_barrier_ == 0) first_at_barrier_ = current_;
  // All that wait do so where the first one does.
  const Location there = threads_[first_at_barrier_].where;
  if (there.line != where.line || (there.file != where.file && std::strcmp(there.file, where.file) != 0))
    fail("divergent __syncthreads(): " + name(first_at_barrier_) + " waits at " + text(there) + ", " +
         here() + " at " + text(where));
  barrier_kind_ = kind;
  barrier_sum_ += predicate != 0 ? 1 : 0;
  t.state = Thread::State::at_barrier;
  if (++at_barrier_ == alive_) complete_barrier();
  leave();
  return barrier_result_;
}

void Scheduler::wait_for_warp(const char* operation, unsigned mask, void* slot, Complete complete,
                              Location where) {
  checker_enable(false);
  const unsigned lane = current_ % kWarp, first = current_ - lane;
  Warp& warp = warps_[current_ / kWarp];
  const auto misuse = [&](const std::string& what) {
    fail(std::string(operation) + " at " + text(where) + ", " + here() + ": " + what);
  };
  const auto hex = [](unsigned m) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "0x%x", m);
    return std::string(buffer);
  };
  if ((mask >> lane & 1) == 0)
    misuse("the mask " + hex(mask) + " leaves out the lane that calls, " + std::to_string(lane));
  if ((mask & warp.exited) != 0)
    misuse("the mask names lane " + std::to_string(std::countr_zero(mask & warp.exited)) +
           ", which has ended");
  const unsigned there = count_ - first < kWarp ? (1u << (count_ - first)) - 1 : ~0u;
  if ((mask & ~there) != 0)
    misuse("the mask names lane " + std::to_string(std::countr_zero(mask & ~there)) +
           ", which the block does not have");

  Thread& t = threads_[current_];
  t.state = Thread::State::in_warp;
  t.where = where;
  t.operation = operation;
  t.mask = mask;
  t.slot = slot;
  const auto same = [](const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; };
  if (warp.waiting == 0) {
    warp.mask = mask;
    warp.operation = operation;
    warp.mixed = false;
  } else if (warp.mask != mask || !same(warp.operation, operation)) {
    warp.mixed = true;
  }
  warp.waiting |= 1u << lane;
  bool all = (warp.waiting & mask) == mask;
  if (warp.mixed || all)
    for (unsigned m = warp.waiting & mask; m != 0; m &= m - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(m));
      const Thread& other = threads_[first + i];
      if (other.mask != mask)
        all = false;  // it waits for others first
      else if (!same(other.operation, operation))
        misuse("lane " + std::to_string(i) + " of the same mask executes " + other.operation + " at " +
               text(other.where));
    }
  if (all) {
    void* slots[kWarp];
    for (unsigned m = mask; m != 0; m &= m - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(m));
      slots[i] = threads_[first + i].slot;
      threads_[first + i].state = Thread::State::ready;
    }
    complete(slots, mask);
    checker_warp(current_ / kWarp, mask, std::strcmp(operation, "__syncwarp") == 0);
    warp.waiting &= ~mask;
    ready_.add_lanes(first, mask & ~(1u << lane));
    // Whoever came last may as well be the last to go on.
    if (options_.order != Order::random) {
      checker_enable(true);
      return;
    }
    ready_.add(current_);
  }
  leave();
}

unsigned Scheduler::lanes_left() const {
  const unsigned first = current_ - current_ % kWarp;
  const unsigned there = count_ - first < kWarp ? (1u << (count_ - first)) - 1 : ~0u;
  return there & ~warps_[current_ / kWarp].exited;
}

void* Scheduler::shared_variable(const void* key, std::size_t bytes, const char* name) {
  checker_enable(false);
  void* const address =
      shared_.variable(key, bytes, name, options_.order == Order::random ? &random_ : nullptr);
  if (address == nullptr) fail(std::string("more shared memory than a block can have: ") + name);
  checker_enable(true);
  return address;
}

void* Scheduler::dynamic_shared_memory() { return shared_variable(this, launch_->shared_bytes, "(dynamic)"); }

void Scheduler::fail(const std::string& what) {
  checker_enable(false);
  fault_ = what;
  if (launch_->kernel != nullptr) fault_ += ", in kernel " + demangled(launch_->kernel);
  Fiber* const self = fiber_;
  fiber_ = &main_;
  Fiber::switch_to(*self, main_);
  __builtin_unreachable();
}

bool Scheduler::on_stack(const void* address) const {
  const auto inside = [address](const Fiber& f) {
    const auto* begin = static_cast<const std::byte*>(f.stack());
    return address >= begin && address < begin + f.bytes();
  };
  return inside(*fiber_) ||
         std::any_of(fibers_.begin(), fibers_.end(), [&](const auto& f) { return inside(*f); });
}

std::string Scheduler::name(unsigned thread) const {
  return name_of_thread(blockIdx, launch_->block, thread);
}

std::string Scheduler::deadlock() const {
  std::string s = "deadlock:";
  int listed = 0;
  for (unsigned i = 0; i < count_ && listed < 4; ++i) {
    const Thread& t = threads_[i];
    if (t.state != Thread::State::at_barrier && t.state != Thread::State::in_warp) continue;
    s += std::string(listed++ == 0 ? " " : "; ") + name(i) + " waits at " +
         (t.state == Thread::State::at_barrier ? "__syncthreads()" : t.operation) + ", " + text(t.where);
  }
  return s + "; " + std::to_string(count_ - alive_) + " of " + std::to_string(count_) +
         " threads have ended" +
         (launch_->kernel != nullptr ? ", in kernel " + demangled(launch_->kernel) : "");
}

}  // namespace assay::cuda::emulation
