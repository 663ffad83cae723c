// System calls that no kernel has a reason to make, and that would hide what it does or harm others: to take memory of a call
// away or to change its protection, to filter system calls of its own for ever, to handle the signals that a stray access raises, to end or stop processes that it has not
// started, to close what the worker has open.
//
// A worker's filter (seccomp) leaves other calls alone, which cost nothing more. These wait until the zygote has looked who makes
// them: a program that a kernel starts may do what it likes. Where the system has no such filter, nothing is forbidden.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

namespace assay {

// What a kernel did; Crash::number has it.
enum class Misdeed : std::int32_t { none, protects, unmaps, maps, handles, signals, closes, reaches, filters };

// What is a worker's own.
struct Reservation {
  std::uint64_t begin = 0, end = 0;  // of its reservation
  int file = -1;                     // that it maps buffers from
};

// For the calling process, and all that it starts: the descriptor that its calls are read from, or -1 where there is none. Calls by
// trusted_call() pass.
int forbid_calls(const Reservation& reservation);

// A system call of the worker's own. Returns what the system does: -errno where it fails.
long trusted_call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0);

// A call that was stopped, as far as it is told.
struct StoppedCall {
  Misdeed what = Misdeed::none;
  std::uint64_t address = 0;      // memory; of `signals`, the process that was meant, as kill() has it
  std::int32_t signal = 0;        // of `signals` and `handles`
  std::uint64_t instruction = 0;  // where it was made
  bool in_call = false;           // by the thread that kernels are called on: what runs now did it
};

// Answers one of the calls of `worker` and what it started: one that is allowed goes on, and `none` is returned. Another waits until
// its process ends, which the caller sees to. `may_signal` says of a process that the worker and its descendants may signal it.
StoppedCall next_stopped_call(int listener, pid_t worker, const Reservation& reservation,
                              const std::function<bool(pid_t)>& may_signal);

// "SIGKILL".
std::string name_of_signal(int number);
// What was done, where it has nothing to do with memory of a call: "sent SIGKILL to its own process".
std::string misdeed_text(Misdeed what, int signal, pid_t process, bool itself);

// The parent of a process, or 0.
pid_t parent_of(pid_t process);

}  // namespace assay
