// What a task came to, as the worker's side has seen it: results and what became of the memory, before anybody judges them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "results.h"

namespace assay {

struct RanCode;  // coverage/ran_code.h

// Outcome::detail begins so if the call was right, and damaged its process for calls after it.
inline constexpr std::string_view kDamagedItsProcess = "damaged its process";

// Outcome::detail has this if the call failed after other calls, was right in a fresh process, and it is not known which call did the damage.
inline constexpr std::string_view kNotAgain = "it did not happen again in a fresh process";

// What the calls of a task with `repeats` came to. (Not within Outcome: clang 14 does not construct a nested type with default values.)
struct RepeatedCalls {
  enum class Member : std::uint8_t { own, other, neighbour };
  std::uint32_t calls = 0;
  std::uint32_t differed =
      0;  // the call, counted from 1, that did not give what the first of its kind gave; 0: none
  Member which = Member::own;   // it was of
  Member before = Member::own;  // and the call before it
  PackedResults first_other;    // what the first call with the other data gave, if there was one
  PackedResults last;           // what the call that differed gave
  PackedResults last_neighbour;
  std::string unwritten;  // of the call that differed: "left element 0 of its output ... unwritten", or empty
};

// Whose doing it is that a call came to grief, as far as the worker's side has found out.
enum class Doing : std::uint8_t {
  its_own,       // or nobody has looked
  after_others,  // it came to grief after others alone, and nobody knows after which; the detail has kNotAgain
  to_others,    // it did nothing wrong but to whoever ran after it; the detail begins with kDamagedItsProcess
  after_return  // a thread that it had started did it when the call had returned
};

struct Outcome {
  enum class Kind : std::uint8_t {
    ok,       // returned ASSAY_OK twice and kept to its memory
    refused,  // returned ASSAY_REFUSED; detail is its message
    failed,   // returned something else; detail is its message
    memory,   // detail says which buffer, which side, how far, read or write
    crashed,  // detail names the signal and the address
    timeout,
    not_run,  // the worker process could not be had; detail says why and what to do
  } kind = Kind::not_run;
  std::string detail;
  Doing doing = Doing::its_own;
  bool stopped = false;     // not_run: give_up said so, and nothing is known of the kernel
  bool given_up = false;    // not_run: calls before it did not return, again and again
  bool by_kernels = false;  // not_run: the process ended, hung or failed while it loaded its kernels
  bool declared = false;    // refused: the table's `refuses` said so before `run` was tried
  std::string information;  // what the kernel reported about itself (oneDNN's impl_info_str), or empty
  // What a call left changed of rounding mode, FTZ, x87 registers, the direction flag (restored); float_state.h has the bits.
  std::uint32_t changed_float_state = 0;
  std::string left;  // what it left otherwise in its process beside that, for after "left "; or empty
  std::optional<std::size_t>
      harmed;  // the task, as it was posted, that came to grief after this one, and does not without it
  PackedResults outputs;               // run A; empty unless ok
  std::optional<PackedResults> again;  // run B, where it gave anything else, to the bit
  std::optional<PackedResults>
      unwritten;  // memory, for elements that hold what they held before: run A's results

  std::shared_ptr<RanCode> ran;  // by both runs, where workers record it (coverage/runtime.h)

  // Of a task with `repeats`: `outputs` are those of its last call with its own data.
  std::optional<RepeatedCalls> repeated;

  const PackedResults& second() const { return again ? *again : outputs; }
};

}  // namespace assay
