// From a fault's address to a sentence about the kernel's buffers.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "check.h"
#include "forbidden.h"
#include "reports/text.h"

namespace assay {

namespace {

// The element whose memory holds this byte, counted from the tensor's first element; nothing for a gap.
std::optional<std::int64_t> element_at(const Buffer& b, std::int64_t byte) {
  if (byte < 0) return std::nullopt;
  std::int64_t rest = byte / bytes(b.dtype);
  const Shape& shape = *b.shape;
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return b.strided->strides[x] > b.strided->strides[y]; });
  std::vector<std::int64_t> at(shape.size(), 0);
  for (const std::size_t d : order) {
    const std::int64_t stride = b.strided->strides[d];
    if (stride == 0 || shape[d] == 0) continue;
    at[d] = std::min(rest / stride, shape[d] - 1);
    rest -= at[d] * stride;
  }
  if (rest != 0) return std::nullopt;
  std::int64_t index = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + at[d];
  return index;
}

// `at` is relative to the reservation. `asked`: by the kernel's `refuses`.
std::string touched(const Buffer& b, std::uint64_t at, bool write, bool asked, const Operator& op) {
  const std::string what = described(b, op);
  if (asked)
    return fmt::format(
        "its `refuses` {} {} before the call, and which calls a kernel takes may depend on no tensor's numbers "
        "(assay/kernel.h), as it could refuse those that it gets wrong",
        write ? "wrote to" : "read", what);
  const std::uint64_t start = b.window.place.address + b.image;
  const std::uint64_t end = start + b.bytes;
  const char* verb = write ? "wrote" : "read";
  if (at < start) return fmt::format("{} {} before the start of {}", verb, counted(start - at, "byte"), what);
  if (at >= end) return fmt::format("{} {} past the end of {}", verb, counted(at - end + 1, "byte"), what);
  // Inside it: only writing to an input can fault there.
  const auto byte =
      static_cast<std::int64_t>(at) - static_cast<std::int64_t>(b.window.place.address + b.data);
  if (const auto element = element_at(b, byte))
    return fmt::format("wrote to {} at {}", what, element_text(*b.shape, *element));
  return fmt::format("wrote to the memory of {}, byte {}, between its elements", what, at - start);
}

// The buffer that lies nearest to this address.
const Buffer* nearest(const Batch& batch, const Entry& entry, std::uint64_t at) {
  const Buffer* best = nullptr;
  std::uint64_t least = 0;
  for (const Buffer& b : batch.all_buffers(entry)) {
    const std::uint64_t start = b.window.place.address + b.image;
    const std::uint64_t end = start + b.bytes;
    const std::uint64_t away = at < start ? start - at : at >= end ? at - end + 1 : 0;
    if (best == nullptr || away < least) {
      best = &b;
      least = away;
    }
  }
  return best;
}

// The buffer whose pages hold this address, or nullptr.
const Buffer* whose_window(const Batch& batch, const Entry& entry, std::uint64_t at) {
  for (const Buffer& b : batch.all_buffers(entry))
    if (at >= b.window.place.address && at - b.window.place.address < b.window.bytes) return &b;
  return nullptr;
}

// `memory` is what the call was about, if it was about memory.
std::pair<Outcome::Kind, std::string> forbidden_text(const Death& death, const std::string& memory) {
  using Kind = Outcome::Kind;
  switch (static_cast<Misdeed>(death.number)) {
    case Misdeed::protects:
      return {Kind::memory, fmt::format("changed the protection of {} (mprotect)", memory)};
    case Misdeed::unmaps:
      return {Kind::memory, fmt::format("took away {} (munmap)", memory)};
    case Misdeed::maps:
      return {Kind::memory, fmt::format("put other memory in place of {} (mmap)", memory)};
    default: {
      const auto what = static_cast<Misdeed>(death.number);
      const auto process = static_cast<pid_t>(static_cast<std::int64_t>(death.address));
      return {what == Misdeed::handles ? Kind::memory : Kind::crashed,
              misdeed_text(what, death.code, process, death.itself)};
    }
  }
}

std::string signal_text(int number) {
  switch (number) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "arithmetic fault (SIGFPE)";
    case SIGILL:
      return "illegal instruction (SIGILL): code for an ISA that this machine lacks, or not code at all";
    case SIGABRT:
      return "aborted (SIGABRT)";
    default: {
      const char* name = sigabbrev_np(number);
      return name != nullptr ? fmt::format("ended by SIG{}", name)
                             : fmt::format("ended by signal {}", number);
    }
  }
}

std::string segmentation_text(const Death& death) {
  if (death.code == SI_KERNEL && death.address == 0)
    return "segmentation fault: misaligned vector access, or an address that no memory can have";
  const std::uint64_t below = death.stack - std::min<std::uint64_t>(death.stack, 1 << 20);
  const bool stack = death.address >= below && death.address < death.stack + 256 * 1024;
  if (stack && death.stack != 0)
    return fmt::format("stack overflow: {} address {:#x} at the end of the stack",
                       death.write ? "wrote" : "read", death.address);
  return fmt::format("segmentation fault: {} address {:#x}{}", death.write ? "wrote" : "read", death.address,
                     death.address < kPage ? ", a null pointer" : "");
}

}  // namespace

Outcome explain_death(const Death& death, const Batch& batch, const Entry& entry) {
  const Operator& op = *entry.prepared->task.call->op;
  Outcome outcome;
  outcome.kind = Outcome::Kind::crashed;
  const auto placed = [&](std::string text) {
    if (!death.where.empty()) text += ", at " + death.where;
    return fmt::format("{}, in run {}", text, letter(entry.run));
  };
  if (death.what == Crash::exit) {
    outcome.detail = fmt::format("called exit({}), in run {}", death.number, letter(entry.run));
    return outcome;
  }
  if (death.what == Crash::forbidden) {
    const Buffer* const b =
        death.address >= death.base ? whose_window(batch, entry, death.address - death.base) : nullptr;
    const std::string memory =
        b != nullptr ? "memory of " + described(*b, op) : std::string("memory that its process shares with Assay");
    const auto [kind, text] = forbidden_text(death, memory);
    outcome.kind = kind;
    outcome.detail = fmt::format("{}, in run {}", text, letter(entry.run));
    return outcome;
  }
  if (death.what == Crash::forked) {
    outcome.detail = fmt::format("the kernel forked, and its child returned, in run {}", letter(entry.run));
    return outcome;
  }
  if (death.what != Crash::signal) {
    if (WIFEXITED(death.wait_status))
      outcome.detail = fmt::format("ended its process with _exit({}), in run {}",
                                   WEXITSTATUS(death.wait_status), letter(entry.run));
    else
      outcome.detail = placed(signal_text(WTERMSIG(death.wait_status)));
    return outcome;
  }
  const std::uint64_t at = death.address - death.base;
  const bool mine = death.number == SIGSEGV && death.code != SI_KERNEL && death.code > 0 &&
                    death.address >= death.base && at < kReservedBytes;
  if (mine && at >= kMessagePlace.address && at < kMessagePlace.address + kMessageBytes) {
    outcome.kind = Outcome::Kind::memory;
    outcome.detail = placed("wrote to the description of its arguments (their shapes, strides or lists)");
  } else if (const Buffer* b = mine ? nearest(batch, entry, at) : nullptr) {
    outcome.kind = Outcome::Kind::memory;
    outcome.detail = placed(touched(*b, at, death.write, death.asked, op));
  } else if (death.number == SIGSEGV) {
    outcome.detail = placed(segmentation_text(death));
  } else if (death.number == SIGFPE && death.code == FPE_INTDIV) {
    outcome.detail = placed("integer division by zero, or its result too large (SIGFPE)");
  } else {
    outcome.detail = placed(signal_text(death.number));
  }
  return outcome;
}

std::string last_words(std::string text) {
  constexpr std::size_t kLongest = 300;
  for (const char* start : {"ERROR: ", "runtime error: ", "terminate called"})
    if (const std::size_t at = text.find(start); at != std::string::npos) {
      text = text.substr(at);
      std::size_t lines = 0;
      for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n' && ++lines == 2) text.resize(i);
      break;
    }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() > kLongest) text = "..." + text.substr(text.size() - kLongest);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace assay
