#include "forbidden.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

// The address after the instruction is how the filter knows the worker's own calls.
__asm__(
    ".text\n"
    ".globl assay_trusted_call\n"
    ".hidden assay_trusted_call\n"
    ".type assay_trusted_call, @function\n"
    "assay_trusted_call:\n"
    "  movq %rdi, %rax\n"
    "  movq %rsi, %rdi\n"
    "  movq %rdx, %rsi\n"
    "  movq %rcx, %rdx\n"
    "  movq %r8, %r10\n"
    "  movq %r9, %r8\n"
    "  movq 8(%rsp), %r9\n"
    "  syscall\n"
    ".globl assay_trusted_return\n"
    ".hidden assay_trusted_return\n"
    "assay_trusted_return:\n"
    "  ret\n"
    ".size assay_trusted_call, . - assay_trusted_call\n");
extern "C" long assay_trusted_call(long number, long a, long b, long c, long d, long e, long f);
extern "C" const char assay_trusted_return[];

namespace assay {
namespace {

constexpr std::uint32_t kOtherInterface = 0x40000000;  // x32
constexpr long kProcessMadvise = 440;                  // younger than some headers
constexpr int kRemove = 9;                             // MADV_REMOVE

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

// A filter of system calls. Each test may end it with an answer, or leads to what was added next.
class Filter {
 public:
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)); }
  void load_low(int argument) { load(place(argument)); }
  void load_high(int argument) { load(place(argument) + 4); }
  void ask() { add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF); }
  void allow() { add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW); }

  void ask_if_equal(std::uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value), ask(); }
  void ask_unless_equal(std::uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value), ask(); }
  void ask_if_at_least(std::uint32_t value) { add(BPF_JMP | BPF_JGE | BPF_K, 0, 1, value), ask(); }
  void allow_unless_equal(std::uint32_t value) { add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value), allow(); }
  void allow_if_above(std::uint32_t value) { add(BPF_JMP | BPF_JGT | BPF_K, 0, 1, value), allow(); }
  void allow_unless_set(std::uint32_t bits) { add(BPF_JMP | BPF_JSET | BPF_K, 1, 0, bits), allow(); }
  void allow_if_zero(int argument) {
    load_low(argument);
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
    load_high(argument);
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    allow();
  }

  void ask_if_within(int argument, std::uint64_t begin, std::uint64_t end) {
    load_high(argument);
    add(BPF_JMP | BPF_JGT | BPF_K, 3, 0, high(begin));
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 8, high(begin));
    load_low(argument);
    add(BPF_JMP | BPF_JGE | BPF_K, 0, 6, low(begin));
    load_high(argument);
    add(BPF_JMP | BPF_JGT | BPF_K, 4, 0, high(end));
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, high(end));
    load_low(argument);
    add(BPF_JMP | BPF_JGE | BPF_K, 1, 0, low(end));
    ask();
  }
  // Of so many bytes that it may begin far before.
  void ask_if_huge(int argument) {
    load_high(argument);
    ask_unless_equal(0);
  }

  // What is added within is for this call alone, and ends.
  template <class Tests>
  void of(long number, const Tests& tests) {
    const std::size_t at = code_.size();
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, static_cast<std::uint32_t>(number));
    tests();
    allow();
    code_[at].jf = static_cast<std::uint8_t>(code_.size() - at - 1);
  }

  int install() {
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    constexpr unsigned kFlags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program));
  }

  void add(int code, int if_true, int if_false, std::uint32_t k) {
    code_.push_back({static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
                     static_cast<std::uint8_t>(if_false), k});
  }

 private:
  static std::size_t place(int argument) {
    return offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(argument);
  }
  std::vector<sock_filter> code_;
};

// Of calls that close this file.
void closes_of(Filter& f, std::uint32_t file) {
  const auto closes = [&](int argument) {
    f.load_low(argument);
    f.ask_if_equal(file);
  };
  f.of(SYS_close, [&] { closes(0); });
  for (const long number : {SYS_dup2, SYS_dup3}) f.of(number, [&] { closes(1); });
  f.of(SYS_close_range, [&] {
    f.load_low(0);
    f.allow_if_above(file);
    f.load_low(1);
    f.ask_if_at_least(file);
  });
}

bool is_thread_of(pid_t process, pid_t thread) {
  return access(("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread)).c_str(), F_OK) == 0;
}

Misdeed of_memory(const seccomp_data& call, const Reservation& reservation) {
  const auto overlaps = [&](std::uint64_t begin, std::uint64_t bytes) {
    return begin < reservation.end && (begin >= reservation.begin || bytes > reservation.begin - begin);
  };
  const bool moved_there =
      call.nr == SYS_mremap && (call.args[3] & MREMAP_FIXED) != 0 && overlaps(call.args[4], call.args[2]);
  if (!moved_there && !overlaps(call.args[0], call.args[1])) return Misdeed::none;
  if (call.nr == SYS_mprotect || call.nr == SYS_pkey_mprotect) return Misdeed::protects;
  return call.nr == SYS_mmap || moved_there ? Misdeed::maps : Misdeed::unmaps;
}

// Whom a call signals, as kill() has it, and by what.
struct Signal {
  pid_t to;
  int number;
};
Signal signal_of(const seccomp_data& call, pid_t worker) {
  const auto argument = [&](int i) { return static_cast<int>(call.args[i]); };
  if (call.nr == SYS_tgkill || call.nr == SYS_rt_tgsigqueueinfo) return {argument(0), argument(2)};
  if (call.nr == SYS_tkill && is_thread_of(worker, argument(0))) return {worker, argument(1)};
  return {argument(0), argument(1)};
}

}  // namespace

long trusted_call(long number, long a, long b, long c, long d, long e, long f) {
  return assay_trusted_call(number, a, b, c, d, e, f);
}

int forbid_calls(const Reservation& reservation) {
  Filter f;
  f.load(offsetof(seccomp_data, arch));
  f.ask_unless_equal(AUDIT_ARCH_X86_64);
  const auto trusted = reinterpret_cast<std::uint64_t>(assay_trusted_return);
  f.load(offsetof(seccomp_data, instruction_pointer));
  f.add(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, low(trusted));
  f.load(offsetof(seccomp_data, instruction_pointer) + 4);
  f.add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, high(trusted));
  f.allow();
  f.load(offsetof(seccomp_data, nr));
  f.ask_if_at_least(kOtherInterface);

  const auto memory = [&] {
    f.ask_if_within(0, reservation.begin, reservation.end);
    f.ask_if_huge(1);
  };
  for (const long number : {SYS_mprotect, SYS_munmap, SYS_pkey_mprotect}) f.of(number, memory);
  f.of(SYS_mremap, [&] {
    f.ask_if_within(4, reservation.begin, reservation.end);
    memory();
  });
  f.of(SYS_mmap, [&] {
    f.load_low(3);
    f.allow_unless_set(MAP_FIXED);
    memory();
  });
  f.of(SYS_madvise, [&] {
    f.load_low(2);
    f.allow_unless_equal(kRemove);
    memory();
  });
  f.of(SYS_rt_sigaction, [&] {
    f.allow_if_zero(1);
    f.load_low(0);
    f.ask_if_equal(SIGSEGV);
    f.ask_if_equal(SIGBUS);
  });
  // Any signal to others; to itself those that end or stop it.
  const auto self = static_cast<std::uint32_t>(getpid());
  const auto signals = [&](int process, int number) {
    if (process >= 0) {
      f.load_low(process);
      f.ask_unless_equal(self);
    }
    f.load_low(number);
    f.ask_if_equal(SIGKILL);
    f.ask_if_equal(SIGSTOP);
  };
  for (const long number : {SYS_kill, SYS_rt_sigqueueinfo}) f.of(number, [&] { signals(0, 1); });
  for (const long number : {SYS_tgkill, SYS_rt_tgsigqueueinfo}) f.of(number, [&] { signals(0, 2); });
  f.of(SYS_tkill, [&] { signals(-1, 1); });
  if (reservation.file >= 0) closes_of(f, static_cast<std::uint32_t>(reservation.file));
  f.of(SYS_seccomp, [&] { f.ask(); });
  f.of(SYS_prctl, [&] {
    f.load_low(0);
    f.ask_if_equal(PR_SET_SECCOMP);
  });
  for (const long number : {long{SYS_ptrace}, long{SYS_process_vm_writev}, long{SYS_pidfd_send_signal}, kProcessMadvise})
    f.of(number, [&] { f.ask(); });
  f.allow();
  return f.install();
}

StoppedCall next_stopped_call(int listener, pid_t worker, const Reservation& reservation,
                              const std::function<bool(pid_t)>& may_signal) {
  seccomp_notif asked{};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return {};  // its process has ended
  const seccomp_data& call = asked.data;
  const auto by = static_cast<pid_t>(asked.pid);
  const bool by_worker = is_thread_of(worker, by);
  StoppedCall stopped;
  stopped.instruction = call.instruction_pointer;
  stopped.in_call = by == worker;
  stopped.address = call.args[0];
  switch (call.nr) {
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_mmap:
    case SYS_madvise:
      if (by_worker) stopped.what = of_memory(call, reservation);
      break;
    case SYS_rt_sigaction:
      stopped.signal = static_cast<std::int32_t>(call.args[0]);
      if (by_worker) stopped.what = Misdeed::handles;
      break;
    case SYS_seccomp:
    case SYS_prctl:
      if (by_worker) stopped.what = Misdeed::filters;
      break;
    case SYS_close:
    case SYS_dup2:
    case SYS_dup3:
    case SYS_close_range:
      if (by_worker) stopped.what = Misdeed::closes;
      break;
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo: {
      const Signal s = signal_of(call, worker);
      const bool itself = s.to == worker || ((s.to == 0 || s.to == -worker) && by_worker);
      const bool harmless = s.number == 0 || (itself && s.number != SIGKILL && s.number != SIGSTOP) ||
                            (!itself && s.to == 0) ||  // the group of a child that has one
                            (!itself && s.to != -1 && may_signal(std::abs(s.to)));
      stopped.signal = s.number;
      stopped.address = static_cast<std::uint64_t>(static_cast<std::int64_t>(itself ? worker : s.to));
      if (!harmless) stopped.what = Misdeed::signals;
      break;
    }
    default:
      if (by_worker) stopped.what = Misdeed::reaches;
  }
  if (stopped.what != Misdeed::none) return stopped;
  seccomp_notif_resp answer{};
  answer.id = asked.id;
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  return {};
}

std::string name_of_signal(int number) {
  const char* const name = sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

std::string misdeed_text(Misdeed what, int signal, pid_t process, bool itself) {
  switch (what) {
    case Misdeed::handles:
      return fmt::format("set a handler of its own for {}, under which no access outside its buffers shows",
                         name_of_signal(signal));
    case Misdeed::signals:
      return itself ? fmt::format("sent {} to its own process", name_of_signal(signal))
                    : fmt::format("sent {} to process {}, which it had not started", name_of_signal(signal), process);
    case Misdeed::closes:
      return "closed a file descriptor that it had not opened";
    case Misdeed::filters:
      return "set a filter of system calls, which nobody can take away again";
    default:
      return "reached into another process (ptrace, process_vm_writev or pidfd_send_signal)";
  }
}

pid_t parent_of(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 4 > text.size() ? 0 : std::atoi(text.c_str() + name_end + 4);
}

}  // namespace assay
