// What a kernel did to memory, read after a run.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "batch.h"

namespace assay {

// Bytes written outside the elements of an output: next to it or between its strides. Empty if there are none.
std::string stray_write(const Batch& batch, const Entry& entry);

// An input that does not hold any more what it was given. Empty if there is none.
std::string changed_input(const Batch& batch, const Entry& entry);

// The elements of one output, packed.
std::vector<std::byte> output_of(const Batch& batch, const Entry& entry, int output);
// Whether they are these, to the bit.
bool is_output(const Batch& batch, const Entry& entry, int output, std::span<const std::byte> packed);

// The elements that neither run wrote, given the packed outputs of both. Empty if there are none.
std::string unwritten_elements(const Prepared& prepared, const std::vector<std::vector<std::byte>>& a,
                               const std::vector<std::vector<std::byte>>& b);

// The same of one call with the repeats' poison.
std::string unwritten_in_repeats(const Prepared& prepared,
                                 const std::vector<std::vector<std::byte>>& results);

// What the worker left in its crash record, and where it was.
struct Death {
  std::uint32_t what;  // Crash::What
  std::int32_t number;
  std::int32_t code;
  bool write;
  bool in_call;  // Crash::forbidden: by the thread that kernels are called on
  bool itself;   // and a signal to its own process
  std::uint64_t address;
  std::uint64_t stack;
  std::uint64_t base;  // of the worker's reservation
  int wait_status;
  bool asked;       // while a kernel's `refuses` ran
  std::string where;  // the place of the instruction, or empty
};

// The verdict on a worker's death while it ran this entry: `memory` if it touched what lies around its buffers, wrote
// to an input or to the description of its arguments; else `crashed`.
Outcome explain_death(const Death& death, const Batch& batch, const Entry& entry);

// Of what a process printed before it crashed, one line: the start of a sanitizer's report or of what is said about an
// uncaught exception; else the end.
std::string last_words(std::string printed);

// "element 17 ([0,2,5])"
std::string element_text(const Shape& shape, std::int64_t index);

}  // namespace assay
