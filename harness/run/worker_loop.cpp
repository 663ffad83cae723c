#include "worker_loop.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "../coverage/runtime.h"
#include "crash_handler.h"
#include "exception_text.h"
#include "float_state.h"
#include "fork_watch.h"
#include "futex.h"
#include "guarded_call.h"
#include "harmless.h"
#include "process_state.h"
#include "threads.h"

namespace assay {

namespace {

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  _exit(71);
}

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

class Worker {
 public:
  Worker(const WorkerTable& table, const WorkerFiles& files)
      : table_(table), arena_file_(files.arena), watch_(files.watch) {
    void* reserved = mmap(nullptr, kBeforeBytes + kReservedBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
      stop("a worker process cannot reserve 68 GiB of address space (is there a limit, ulimit -v?)");
    base_ = static_cast<std::byte*>(reserved) + kBeforeBytes;
    map(kControlPlace, kControlBytes + kResultBytes, PROT_READ | PROT_WRITE);
    map(kMessagePlace, kMessageBytes, PROT_READ);
    if (!covered_modules().empty()) {
      map(kCoveragePlace, kCoverageBytes, PROT_READ | PROT_WRITE);
      record_coverage(reinterpret_cast<CoverageLog*>(base_ + kCoveragePlace.address));
    }
    control_ = reinterpret_cast<Control*>(base_ + kControlPlace.address);
    results_ = reinterpret_cast<EntryResult*>(base_ + kResultPlace.address);
    messages_ = base_ + kMessagePlace.address;
    control_->base = reinterpret_cast<std::uint64_t>(base_);
    install_crash_handlers(control_->crash);
    void* bell = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, files.bell, 0);
    if (bell == MAP_FAILED) stop("a worker process cannot map its bell");
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
      const auto* entries = reinterpret_cast<const std::uint64_t*>(messages_);
      const std::uint32_t n = std::min(control_->entries, kEntries);
      for (std::uint32_t i = 0; i < n; ++i) {
        control_->current.store(i, std::memory_order_release);
        begin_covered_entry(i);
        run(*reinterpret_cast<const WireEntry*>(messages_ + entries[i]), results_[i]);
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
    const auto begin = reinterpret_cast<std::uint64_t>(base_) - kBeforeBytes;
    Watched watched{{begin, begin + kBeforeBytes + kReservedBytes, arena_file_}};
    const int listener = forbid_calls(watched.reservation);
    send_watched(watch_, watched, listener);
    if (listener >= 0) close(listener);
    close(watch_);
  }

  // By the worker's own calls, which are not forbidden.
  static bool map_at(std::byte* at, std::size_t bytes, int protection, int flags, int file,
                     std::uint64_t from) {
    return trusted_call(SYS_mmap, reinterpret_cast<long>(at), static_cast<long>(bytes), protection,
                        MAP_FIXED | flags, file, static_cast<long>(from)) == reinterpret_cast<long>(at);
  }
  static void protect(std::span<std::byte> memory, int protection) {
    if (trusted_call(SYS_mprotect, reinterpret_cast<long>(memory.data()), static_cast<long>(memory.size()),
                     protection) != 0)
      stop("a worker cannot change the protection of its memory");
  }

  void map(Place place, std::size_t bytes, int protection, int flags = 0) {
    if (map_at(base_ + place.address, bytes, protection, MAP_SHARED | flags, arena_file_, place.file)) return;
    if (control_ != nullptr) control_->crash.what.store(Crash::no_memory);
    stop("a worker process cannot map its memory");
  }

  // Windows stay mapped once they are; the few of very large buffers are mapped for one entry.
  void map_buffers(const WireEntry& entry) {
    const auto* buffers = reinterpret_cast<const WireBuffer*>(messages_ + entry.buffers_at);
    for (std::uint32_t i = 0; i < entry.buffers; ++i) {
      const WireBuffer& b = buffers[i];
      if (b.window != kNothing && mapped_[b.window]) continue;
      const bool small = b.bytes == kPage;
      map({b.file, b.address}, b.bytes, b.writable != 0 ? PROT_READ | PROT_WRITE : PROT_READ,
          small || b.window == kNothing ? MAP_POPULATE : 0);
      if (b.window != kNothing) mapped_[b.window] = true;
    }
  }

  void unmap_large_buffers(const WireEntry& entry) {
    const auto* buffers = reinterpret_cast<const WireBuffer*>(messages_ + entry.buffers_at);
    for (std::uint32_t i = 0; i < entry.buffers; ++i)
      if (buffers[i].window == kNothing)
        map_at(base_ + buffers[i].address, buffers[i].bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }

  template <class T>
  const T* at(std::uint64_t offset) const {
    return reinterpret_cast<const T*>(messages_ + offset);
  }

  void decode(const WireEntry& entry) {
    const auto* wire = at<WireTensor>(entry.tensors_at);
    tensors_.resize(entry.tensors);
    for (std::uint32_t i = 0; i < entry.tensors; ++i) {
      auto* sizes = const_cast<std::int64_t*>(at<std::int64_t>(wire[i].shape));
      tensors_[i] = {base_ + wire[i].address,
                     {ASSAY_CPU, 0},
                     wire[i].ndim,
                     wire[i].dtype,
                     sizes,
                     sizes + wire[i].ndim,
                     0};
    }
    outputs_.clear();
    for (std::uint32_t i = entry.tensors - entry.outputs; i < entry.tensors; ++i)
      outputs_.push_back(&tensors_[i]);

    const auto* values = at<WireValue>(entry.values_at);
    lists_.clear();
    values_.resize(entry.values);
    for (std::uint32_t i = 0; i < entry.values; ++i) {
      assay_value& v = values_[i];
      v = {values[i].kind, values[i].count, {}};
      const std::uint64_t payload = values[i].payload;
      switch (v.kind) {
        case ASSAY_KIND_TENSOR:
          v.as.tensor = &tensors_[payload];
          break;
        case ASSAY_KIND_TENSORS:
          v.as.tensors = list(at<std::uint64_t>(payload), v.count);
          break;
        case ASSAY_KIND_DTYPE:
          std::memcpy(&v.as.dtype, &payload, sizeof(v.as.dtype));
          break;
        case ASSAY_KIND_STRING:
          v.as.string = at<char>(payload);
          break;
        case ASSAY_KIND_INTS:
        case ASSAY_KIND_BOOLS:
          v.as.integers = at<std::int64_t>(payload);
          break;
        case ASSAY_KIND_DOUBLES:
          v.as.reals = at<double>(payload);
          break;
        case ASSAY_KIND_DOUBLE:
          std::memcpy(&v.as.real, &payload, sizeof(double));
          break;
        default:
          v.as.integer = static_cast<std::int64_t>(payload);
      }
    }
  }

  const assay_tensor* const* list(const std::uint64_t* indices, std::uint32_t n) {
    std::vector<const assay_tensor*>& items = lists_.emplace_back();
    for (std::uint32_t i = 0; i < n; ++i)
      items.push_back(indices[i] == ~std::uint64_t{0} ? nullptr : &tensors_[indices[i]]);
    return items.data();
  }

  void run(const WireEntry& entry, EntryResult& result) {
    if (entry.after != kNothing) {
      const EntryResult& first = results_[entry.after];
      if (first.status.load() != EntryResult::returned || first.code != ASSAY_OK) {
        result.status.store(EntryResult::skipped);
        return;
      }
    }
    map_buffers(entry);
    result.changed_float_state = result.changed_registers = 0;
    result.message[0] = 0;
    result.information[0] = 0;
    std::uint32_t status = EntryResult::returned;
    if (entry.repeats_at != 0) {
      status = repeat(entry, *at<WireRepeats>(entry.repeats_at), result);
    } else {
      decode(entry);
      status = call(entry, result);
    }
    if (table_.information && result.information[0] == 0 && status == EntryResult::returned &&
        result.code == ASSAY_OK)
      copy_text(result.information, table_.information());
    unmap_large_buffers(entry);
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
    call.arguments = values_.data();
    call.output_count = entry.outputs;
    call.outputs = outputs_.data();
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
      result.code = kernel.refuses != nullptr ? assay_guarded_call(kernel.refuses, &call, registers) : ASSAY_OK;
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

  // A call as it stands in the arena, where it is to run, and what it left there the first time.
  struct Member {
    const WireEntry* place = nullptr;              // whose buffers the kernel is given
    const WireEntry* data = nullptr;               // whose buffers had the data when the batch began
    std::vector<std::vector<std::byte>> before{};  // of each buffer
    std::vector<std::vector<std::byte>> after{};   // of those that are written; empty until it has run
  };

  std::span<std::byte> window(const WireBuffer& b) { return {base_ + b.address, b.bytes}; }
  std::span<const WireBuffer> buffers_of(const WireEntry& entry) const {
    return {at<WireBuffer>(entry.buffers_at), entry.buffers};
  }

  void remember(Member& m) {
    for (const WireBuffer& b : buffers_of(*m.data)) {
      const std::span<std::byte> w = window(b);
      m.before.emplace_back(w.begin(), w.end());
    }
  }

  // Everything as it was before the first call; what is only read, where other data has come to lie there.
  void restore(const Member& m, bool inputs) {
    const std::span<const WireBuffer> buffers = buffers_of(*m.place);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const std::span<std::byte> w = window(buffers[i]);
      if (buffers[i].writable != 0) {
        std::memcpy(w.data(), m.before[i].data(), w.size());
      } else if (inputs) {
        protect(w, PROT_READ | PROT_WRITE);
        std::memcpy(w.data(), m.before[i].data(), w.size());
        protect(w, PROT_READ);
      }
    }
  }

  // Whether it left the same as the first time, which this may be.
  bool left_the_same(Member& m) {
    const bool first = m.after.empty();
    std::size_t i = 0;
    for (const WireBuffer& b : buffers_of(*m.place)) {
      if (b.writable == 0) continue;
      const std::span<std::byte> w = window(b);
      if (first)
        m.after.emplace_back(w.begin(), w.end());
      else if (std::memcmp(w.data(), m.after[i++].data(), w.size()) != 0)
        return false;
    }
    return true;
  }

  // So that the harness finds it where the other data was.
  void show(const Member& m) {
    const std::span<const WireBuffer> from = buffers_of(*m.place);
    const std::span<const WireBuffer> to = buffers_of(*m.data);
    for (std::size_t i = 0; i < from.size(); ++i)
      if (to[i].writable != 0) std::memcpy(window(to[i]).data(), window(from[i]).data(), to[i].bytes);
  }

  // Which call comes next. All transitions among the first ones, then the call itself again and again, mostly.
  static std::uint32_t member_of(std::uint32_t call) {
    if (call <= kFirstRepeats.size()) return static_cast<std::uint32_t>(kFirstRepeats[call - 1] - '0');
    return call % 64 == 0 ? 1 : call % 64 == 32 ? 2 : 0;
  }

  std::uint32_t repeat(const WireEntry& entry, const WireRepeats& repeats, EntryResult& result) {
    using Clock = std::chrono::steady_clock;
    const WireEntry& other = *at<WireEntry>(repeats.other);
    map_buffers(other);
    std::array<Member, 3> members{Member{&entry, &entry}, Member{&entry, &other}, Member{}};
    if (repeats.neighbour != 0) {
      const WireEntry& neighbour = *at<WireEntry>(repeats.neighbour);
      map_buffers(neighbour);
      members[2] = {&neighbour, &neighbour};
    }
    for (Member& m : members)
      if (m.place != nullptr) remember(m);
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
      Member& m = members[which];
      restore(m, which != 2 && which != resident);
      if (which != 2) resident = which;
      if (decoded != m.place) decode(*m.place);
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
      if ((repeats.compares != 0 || m.after.empty()) && !left_the_same(m)) {
        result.differed = n;
        result.before = before;
        break;
      }
      if (first_other) show(m);
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
    unmap_large_buffers(other);
    if (members[2].place != nullptr) unmap_large_buffers(*members[2].place);
    return status;
  }

  const WorkerTable& table_;
  int arena_file_;
  int watch_;
  std::byte* base_ = nullptr;
  Control* control_ = nullptr;
  EntryResult* results_ = nullptr;
  const std::byte* messages_ = nullptr;
  Bell* bell_ = nullptr;
  ForkWatch forks_;
  std::bitset<window_count()> mapped_;
  std::vector<assay_tensor> tensors_;
  std::vector<assay_tensor*> outputs_;
  std::vector<assay_value> values_;
  std::vector<std::vector<const assay_tensor*>> lists_;
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
