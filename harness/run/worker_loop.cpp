#include "worker_loop.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <typeinfo>

#include "../coverage/runtime.h"
#include "crash_handler.h"
#include "decoded_call.h"
#include "exception_text.h"
#include "float_state.h"
#include "fork_watch.h"
#include "futex.h"
#include "guarded_call.h"
#include "harmless.h"
#include "process_state.h"
#include "repeated_call.h"
#include "threads.h"
#include "vocabulary/kernel.h"
#include "worker_memory.h"

namespace assay {

namespace {

// For repeated calls: times the processor's time that they may take.
constexpr std::int64_t kMostWaiting = 5;
// Of calls that are repeated, so many first ones are timed each: of a slow kernel, no more are asked for.
constexpr std::uint32_t kCallsTimed = 16;

// Of this thread, in microseconds.
std::int64_t processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

void send_watched(int socket, const Watched& watched, int listener) {
  Watched told = watched;
  iovec part{&told, sizeof told};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof listener)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (listener >= 0) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof listener);
    std::memcpy(CMSG_DATA(header), &listener, sizeof listener);
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

// While a kernel's `refuses` runs: what it says may depend on no tensor's numbers, or it would refuse the calls that it gets wrong.
class Withheld {
 public:
  Withheld(WorkerMemory& memory, const WireEntry& entry) : memory_(memory), entry_(entry) {
    memory_.withhold_buffers(entry_);
    memory_.control().asked = 1;
  }
  Withheld(const Withheld&) = delete;
  Withheld& operator=(const Withheld&) = delete;
  ~Withheld() {
    memory_.control().asked = 0;
    memory_.give_buffers(entry_);
  }

 private:
  WorkerMemory& memory_;
  const WireEntry& entry_;
};

class Worker {
 public:
  Worker(const WorkerTable& table, const WorkerFiles& files)
      : table_(table), memory_(files.arena), watch_(files.watch) {
    install_crash_handlers(control_->crash);
    void* bell = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, files.bell, 0);
    if (bell == MAP_FAILED) stop_worker("a worker process cannot map its bell");
    bell_ = static_cast<Bell*>(bell);
    close(files.bell);
  }

  [[noreturn]] void serve() {
    control_->threads = control_->threads_before = thread_count();
    watch();
    const ProcessState state(true);
    control_->process.store(getpid());
    forks_.begin(getpid(), control_->crash);
    // Of what kernels may overwrite, nothing is read again once a batch has begun.
    for (std::uint32_t done = control_->done.load();;) {
      std::uint32_t posted = control_->posted.load();
      for (; posted == done; posted = control_->posted.load()) {
        control_->sleeping.store(1);
        if (control_->posted.load() == done) futex_wait(control_->posted, done);
        control_->sleeping.store(0);
      }
      const auto* entries = memory_.message<std::uint64_t>(0);
      const std::uint32_t n = std::min(control_->entries, kEntries);
      for (std::uint32_t i = 0; i < n; ++i) {
        control_->current.store(i, std::memory_order_release);
        begin_covered_entry(i);
        run(*memory_.message<WireEntry>(entries[i]), results_[i]);
        end_covered_entry(i);
      }
      done = posted;
      copy_text(control_->left, state.changed());
      control_->threads = thread_count();
      control_->done.store(done);
      bell_->rings.fetch_add(1);
      futex_wake(bell_->rings);  // whatever a kernel has written there of who listens
    }
  }

 private:
  // From now on kernels' system calls are looked at.
  void watch() {
    Watched watched{memory_.reservation()};
    const int listener = forbid_calls(watched.reservation);
    send_watched(watch_, watched, listener);
    if (listener >= 0) close(listener);
    close(watch_);
  }

  void run(const WireEntry& entry, EntryResult& result) {
    if (entry.after != kNothing) {
      const EntryResult& first = results_[entry.after];
      if (first.status.load() != EntryResult::returned || first.code != ASSAY_OK) {
        result.status.store(EntryResult::skipped);
        return;
      }
    }
    memory_.map_buffers(entry);
    result.changed_float_state = result.changed_registers = 0;
    result.message[0] = 0;
    result.information[0] = 0;
    std::uint32_t status = EntryResult::returned;
    if (entry.repeats_at != 0) {
      status = repeat(entry, *memory_.message<WireRepeats>(entry.repeats_at), result);
    } else {
      decoded_.decode(memory_, entry);
      status = call(entry, result);
    }
    if (table_.information && result.information[0] == 0 && status == EntryResult::returned &&
        result.code == ASSAY_OK)
      copy_text(result.information, table_.information());
    memory_.unmap_large_buffers(entry);
    result.left_timer = stop_timers() ? 1 : 0;
    result.status.store(status, std::memory_order_release);
  }

  // Calls the kernel with what was decoded last.
  std::uint32_t call(const WireEntry& entry, EntryResult& result) {
    const assay_kernel& kernel =
        entry.kernel == kHarmlessKernel ? harmless_kernel() : table_.kernels[entry.kernel];
    assay_call call{};
    call.size = sizeof(call);
    call.argument_count = entry.values;
    call.arguments = decoded_.arguments();
    call.output_count = entry.outputs;
    call.outputs = decoded_.outputs();
    call.message_capacity = sizeof(result.message);
    call.message = result.message;
    call.kernel = &kernel;
    call.information = result.information;
    call.information_capacity = sizeof(result.information);

    std::uint32_t status = EntryResult::returned;
    result.declared = 0;
    const FloatState before = FloatState::now();
    FloatState::standard().set();
    FloatState after = FloatState::standard();
    try {
      std::uint32_t* const registers = &result.changed_registers;
      result.code = ASSAY_OK;
      if (kernel.refuses != nullptr) {
        const Withheld withheld(memory_, entry);
        result.code = assay_guarded_call(kernel.refuses, &call, registers);
      }
      after = FloatState::now();
      if (result.code == ASSAY_OK) {
        result.code = assay_guarded_call(kernel.run, &call, registers);
        after = FloatState::now();
      } else {
        result.declared = 1;
      }
    } catch (const abi::__forced_unwind&) {
      throw;                          // pthread_exit: the process ends, and that is the verdict
    } catch (const Crashed& crash) {  // of a device that is not this process
      after = FloatState::now();
      status = EntryResult::crashed;
      copy_text(result.message, crash.what());
    } catch (...) {
      after = FloatState::now();
      status = EntryResult::threw;
      copy_text(result.message, exception_text());
    }
    before.set();
    forks_.returned();
    result.changed_float_state |= after.changed_from(FloatState::standard());
    return status;
  }

  // Which call comes next. All transitions among the first ones, then the call itself again and again, mostly.
  static std::uint32_t member_of(std::uint32_t call) {
    if (call <= kFirstRepeats.size()) return static_cast<std::uint32_t>(kFirstRepeats[call - 1] - '0');
    return call % 64 == 0 ? 1 : call % 64 == 32 ? 2 : 0;
  }

  std::uint32_t repeat(const WireEntry& entry, const WireRepeats& repeats, EntryResult& result) {
    using Clock = std::chrono::steady_clock;
    const WireEntry& other = *memory_.message<WireEntry>(repeats.other);
    memory_.map_buffers(other);
    std::array<RepeatedCall, 3> members{RepeatedCall{&entry, &entry}, RepeatedCall{&entry, &other},
                                        RepeatedCall{}};
    if (repeats.neighbour != 0) {
      const WireEntry& neighbour = *memory_.message<WireEntry>(repeats.neighbour);
      memory_.map_buffers(neighbour);
      members[2] = {&neighbour, &neighbour};
    }
    for (RepeatedCall& m : members)
      if (m.place != nullptr) m.remember(memory_);
    result.differed = result.which = result.before = 0;
    const auto begin = Clock::now();
    const std::int64_t processor_begin = processor_time();
    std::uint32_t status = EntryResult::returned;
    std::uint32_t resident = 0;  // whose data lies at the entry's place
    const WireEntry* decoded = nullptr;
    bool last = false;
    for (std::uint32_t n = 1;; ++n) {
      std::uint32_t which = last ? 0 : member_of(n);
      if (which == 2 && members[2].place == nullptr) which = 0;
      RepeatedCall& m = members[which];
      m.restore(memory_, which != 2 && which != resident);
      if (which != 2) resident = which;
      if (decoded != m.place) decoded_.decode(memory_, *m.place);
      decoded = m.place;
      const std::uint32_t before = result.which;
      result.calls = n;
      result.which = which;
      status = call(*m.place, result);
      if (status != EntryResult::returned || result.code != ASSAY_OK) {
        result.before = before;
        break;
      }
      const bool first_other = which == 1 && m.after.empty();
      if ((repeats.compares != 0 || m.after.empty()) && !m.left_the_same(memory_)) {
        result.differed = n;
        result.before = before;
        break;
      }
      if (first_other) m.show(memory_);
      if (last) break;
      if (n <= kCallsTimed || n % kCallsTimed == 0 || n + 1 >= repeats.calls) {
        const auto elapsed =
            std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
        // A machine that does other things, too, takes no calls away.
        const bool longest = processor_time() - processor_begin >= repeats.most_us ||
                             elapsed >= kMostWaiting * static_cast<std::int64_t>(repeats.most_us);
        last = n + 1 >= repeats.calls || (n >= repeats.least && elapsed >= repeats.enough_us) ||
               (n >= kOfEachRepeat && longest);
      }
    }
    memory_.unmap_large_buffers(other);
    if (members[2].place != nullptr) memory_.unmap_large_buffers(*members[2].place);
    return status;
  }

  const WorkerTable& table_;
  WorkerMemory memory_;
  int watch_;
  Control* const control_ = &memory_.control();
  EntryResult* const results_ = memory_.results();
  Bell* bell_ = nullptr;
  ForkWatch forks_;
  DecodedCall decoded_;
};

}  // namespace

void serve_batches(const WorkerTable& table, const WorkerFiles& files) {
  Worker worker(table, files);
  try {
    if (table.after_fork) table.after_fork();
  } catch (...) {
    std::fprintf(stderr, "%s\n", exception_text().c_str());
    _exit(71);
  }
  worker.serve();
}

}  // namespace assay
