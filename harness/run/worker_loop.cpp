#include "worker_loop.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "crash_handler.h"
#include "float_state.h"
#include "fork_watch.h"
#include "futex.h"

namespace assay {

namespace {

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  _exit(71);
}

void copy_text(std::span<char> to, std::string_view text) {
  const std::size_t n = std::min(text.size(), to.size() - 1);
  std::memcpy(to.data(), text.data(), n);
  to[n] = 0;
}

// "std::runtime_error: no such thing"
std::string exception_text() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  std::string name = "an exception";
  if (type != nullptr) {
    int status = 0;
    char* readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    name = readable != nullptr ? readable : type->name();
    std::free(readable);
  }
  try {
    throw;
  } catch (const std::exception& error) {
    return name + ": " + error.what();
  } catch (...) {
    return name;
  }
}

class Worker {
 public:
  Worker(const WorkerTable& table, const WorkerFiles& files) : table_(table), arena_file_(files.arena) {
    void* reserved =
        mmap(nullptr, kReservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
      stop("a worker process cannot reserve 64 GiB of address space (is there a limit, ulimit -v?)");
    base_ = static_cast<std::byte*>(reserved);
    map(kControlPlace, kControlBytes + kResultBytes, PROT_READ | PROT_WRITE);
    map(kMessagePlace, kMessageBytes, PROT_READ);
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
        run(*reinterpret_cast<const WireEntry*>(messages_ + entries[i]), results_[i]);
      }
      done = posted;
      control_->done.store(done);
      bell_->rings.fetch_add(1);
      if (bell_->listening.load() != 0) futex_wake(bell_->rings);
    }
  }

 private:
  void map(Place place, std::size_t bytes, int protection, int flags = 0) {
    void* at = mmap(base_ + place.address, bytes, protection, MAP_SHARED | MAP_FIXED | flags, arena_file_,
                    static_cast<off_t>(place.file));
    if (at != MAP_FAILED) return;
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
        mmap(base_ + buffers[i].address, buffers[i].bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
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
    decode(entry);
    const assay_kernel& kernel = table_.kernels[entry.kernel];
    result.message[0] = 0;
    result.information[0] = 0;
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
    try {
      result.code = kernel.refuses != nullptr ? kernel.refuses(&call) : ASSAY_OK;
      if (result.code == ASSAY_OK)
        result.code = kernel.run(&call);
      else
        result.declared = 1;
    } catch (const abi::__forced_unwind&) {
      throw;                          // pthread_exit: the process ends, and that is the verdict
    } catch (const Crashed& crash) {  // of a device that is not this process
      status = EntryResult::crashed;
      copy_text(result.message, crash.what());
    } catch (...) {
      status = EntryResult::threw;
      copy_text(result.message, exception_text());
    }
    forks_.returned();
    result.changed_float_state = FloatState::now() == FloatState::standard() ? 0 : 1;
    before.set();
    if (table_.information && result.information[0] == 0 && status == EntryResult::returned &&
        result.code == ASSAY_OK)
      copy_text(result.information, table_.information());
    unmap_large_buffers(entry);
    result.status.store(status, std::memory_order_release);
  }

  const WorkerTable& table_;
  int arena_file_;
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
