// What a lane and its worker process share: one memory file, the arena.
//
//   file     control block and results of entries | messages | code that ran | windows | large buffers
//   worker   the same in this order. Each of these parts, each window and each large buffer is followed by kGuard bytes that are never
//            mapped. Messages and windows of inputs are read-only, everything else read-write.
//   lane     the same without guards, everything read-write
//
// A batch is a list of entries; each entry is one run (A or B) of one call. The lane writes entries and windows, raises
// `posted` and wakes the worker once; the worker runs the entries in order and sets `done` to `posted`. Positions in
// messages are offsets, because the two processes see them at different addresses.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <assay/kernel.h>

#include "../coverage/log.h"
#include "page.h"

namespace assay {

inline constexpr std::size_t kGuard =
    64 * 1024;  // address space only; it catches indices that are far off, too
inline constexpr std::uint32_t kEntries = 128;  // two runs for each of 64 calls
inline constexpr std::uint32_t kNothing = ~0u;
static_assert(kEntries == kCoveredEntries);

struct WindowClass {
  std::size_t bytes;
  std::array<std::uint32_t, 2> count;  // for inputs, for outputs
};
inline constexpr std::array<WindowClass, 3> kWindowClasses{{
    {4 * 1024, {384, 256}},
    {64 * 1024, {128, 96}},
    {1024 * 1024, {16, 12}},
}};

constexpr std::uint32_t window_count() {
  std::uint32_t n = 0;
  for (const WindowClass& c : kWindowClasses) n += c.count[0] + c.count[1];
  return n;
}

// One run of one call, as the worker left it.
struct EntryResult {
  enum Status : std::uint32_t { waiting, returned, threw, crashed, skipped };
  std::atomic<std::uint32_t> status;
  std::int32_t code;                  // what the kernel returned
  std::uint32_t changed_float_state;  // FloatState::Change
  std::uint32_t changed_registers;    // as assay_guarded_call() has them
  std::uint32_t left_timer;           // 1: it ran on after the call
  std::uint32_t declared;             // `refuses` said it, and `run` was not called
  // Of repeats: how many calls there were; which of them gave something else than the first of its kind, or 0; of which kind it was, and
  // the one before it: 0 its own data, 1 other data, 2 the neighbour.
  std::uint32_t calls, differed, which, before;
  char message[512];
  char information[256];
};

// Written by the worker's signal and exit handlers.
struct Crash {
  enum What : std::uint32_t {
    nothing,
    signal,
    exit,
    no_memory,  // the worker could not map buffers
    forked,     // a child of a kernel's fork() returned from the kernel
    forbidden   // it made a system call that forbidden.h stops; `number` is the Misdeed, `code` the signal
  };
  std::atomic<std::uint32_t> what;
  std::int32_t number;  // signal, or exit status
  std::int32_t code;    // si_code
  std::uint32_t
      write;  // the access was a write; forbidden: the thread that kernels are called on made the call
  std::uint64_t address;
  std::uint64_t instruction;
  std::uint64_t stack;  // the stack pointer
};

struct Control {
  std::atomic<std::uint32_t> posted;    // number of batches handed over; the worker sleeps on it
  std::atomic<std::uint32_t> sleeping;  // the worker is asleep, or about to be
  std::atomic<std::uint32_t> done;      // number of batches finished
  std::atomic<std::uint32_t> current;   // the entry that runs
  std::uint32_t entries;
  std::uint64_t base;                     // where the worker has its control block
  std::atomic<std::int32_t> process;      // the worker's process id; 0 until it is ready to run
  std::uint32_t threads, threads_before;  // that it had after the last batch, and when it began
  Crash crash;

  // Written by the zygote when the worker is gone. A kernel may write anything here, too: numbers that none writes by chance.
  static constexpr std::uint32_t kEnded = 0x656e6465, kNeverStarted = 0x6e657665;
  std::atomic<std::uint32_t> dead;
  std::int32_t wait_status;  // as waitpid gives it
  std::uint32_t began;       // 1: the worker was ready to run
  std::int32_t worker;       // its process id
  std::uint32_t asked;       // 1: a kernel's `refuses` runs, and may touch no tensor's numbers
  char left[240];            // what the last batch left otherwise in its process, as ProcessState has it
  char where[240];           // the instruction's place: "libmine.so+0x1234 (relu_run)"
  char start_error[240];
};

// What all workers of a lane ring when something happened. One page of its own memory file.
struct Bell {
  std::atomic<std::uint32_t> rings;
};

inline constexpr std::size_t kControlBytes = round_up(sizeof(Control), kPage);
inline constexpr std::size_t kResultBytes = round_up(kEntries * sizeof(EntryResult), kPage);
inline constexpr std::size_t kMessageBytes = 1024 * 1024;

// A place of the arena, in the file and relative to the worker's reservation.
struct Place {
  std::uint64_t file;
  std::uint64_t address;
};
inline constexpr Place kControlPlace{0, 0};
inline constexpr Place kResultPlace{kControlBytes, kControlBytes};
inline constexpr Place kMessagePlace{kControlBytes + kResultBytes, kControlBytes + kResultBytes + kGuard};
// Memory that nobody has until a worker records what code runs.
inline constexpr Place kCoveragePlace{kMessagePlace.file + kMessageBytes,
                                      kMessagePlace.address + kMessageBytes + kGuard};
inline constexpr std::size_t kCoverageBytes = round_up(sizeof(CoverageLog), kPage);

// Windows are numbered class by class, inputs before outputs.
constexpr Place window_place(std::uint32_t number) {
  Place at{kCoveragePlace.file + kCoverageBytes, kCoveragePlace.address + kCoverageBytes + kGuard};
  for (const WindowClass& c : kWindowClasses) {
    const std::uint32_t n = c.count[0] + c.count[1];
    const std::uint32_t before = number < n ? number : n;
    at.file += before * c.bytes;
    at.address += before * (c.bytes + kGuard);
    number -= before;
    if (before < n) break;
  }
  return at;
}
inline constexpr Place kLargePlace = window_place(window_count());
inline constexpr std::size_t kLargeAddressBytes = std::size_t{64} << 30;
inline constexpr std::size_t kReservedBytes = kLargePlace.address + kLargeAddressBytes;
// Before the reservation: address space only. What begins before it and reaches into the reservation is longer than that.
inline constexpr std::size_t kBeforeBytes = std::size_t{4} << 30;

// ---- Messages: at offset 0 stands an array of kEntries offsets, one to each WireEntry -----------------------------

struct WireBuffer {
  std::uint64_t file;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t window;  // its number, or kNothing: mapped for this entry only
  std::uint32_t writable;
};
struct WireTensor {
  std::uint64_t address;  // of the data, relative to the reservation
  std::uint64_t shape;    // offset of ndim sizes, then ndim strides
  assay_dtype dtype;
  std::int32_t ndim;
};
struct WireValue {
  std::uint32_t kind;
  std::uint32_t count;
  // INT, BOOL: the number; DOUBLE: its bits; DTYPE: its bytes; TENSOR: index of the WireTensor; STRING, INTS, BOOLS,
  // DOUBLES: offset; TENSORS: offset of uint64 indices, ~0 for NULL.
  std::uint64_t payload;
};
struct WireEntry {
  std::uint32_t kernel;                             // position in the worker's table
  std::uint32_t after;                              // entry that must have returned ASSAY_OK, or kNothing
  std::uint32_t buffers, values, tensors, outputs;  // how many; the outputs are the last of the tensors
  std::uint64_t buffers_at, values_at, tensors_at;
  std::uint64_t repeats_at;  // a WireRepeats, or 0
};
// Of which kind, as in EntryResult::which, the first of repeated calls are.
inline constexpr std::string_view kFirstRepeats = "0010201102201";
inline constexpr std::size_t kFirstOther =
    kFirstRepeats.find('1') + 1;  // the first call with other data, counted from 1
inline constexpr std::size_t kOfEachRepeat =
    kFirstRepeats.find('2') + 1;  // among so many is one of each kind
struct WireRepeats {
  std::uint64_t other;      // a WireEntry whose buffers have the other data, one for each of the entry's
  std::uint64_t neighbour;  // one of another shape, or 0
  std::uint32_t calls, least, enough_us, most_us, compares;
};

// ---- Requests from the harness to a zygote -----------------------------------------------------------------------

struct Request {
  enum Kind : std::uint32_t { start, kill };
  std::uint32_t kind;
  std::uint32_t worker;  // a number that the harness chose
};
// With `start` travel three file descriptors: the arena, the bell, and where the worker writes its output.
inline constexpr int kRequestFiles = 3;

// The zygote's first message: its table, or why there is none.
struct Greeting {
  std::uint32_t ok;
  std::uint32_t bytes;  // of the text that follows in packets: "name\nschema\n" for each kernel, or the error
};
inline constexpr std::size_t kGreetingPacket = 16 * 1024;

}  // namespace assay
