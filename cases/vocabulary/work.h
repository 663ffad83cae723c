// What a call takes, by its formula: what rooflines are made of.
#pragma once

#include <cstdint>
#include <vector>

namespace assay {

// Operations that depend on the numbers of tensors.
struct Operations {
  std::int64_t additions = 0;  // and subtractions; of integers, too
  std::int64_t multiplications = 0;
  std::int64_t divisions = 0;
  std::int64_t roots = 0;
  std::int64_t functions = 0;  // exp, log, tanh, ...
  std::int64_t comparisons =
      0;  // of numbers: maxima and minima, too; not selections, absolute values and signs

  friend bool operator==(const Operations&, const Operations&) = default;
};

// What is common to a row of results (a softmax's maximum) counts once, and so does what one result is on the way to another
// (a layer norm's mean).
struct Work {
  Operations operations;
  std::int64_t bytes_read = 0;  // of elements that are read at all, each once
  std::int64_t bytes_written = 0;
  std::vector<std::int64_t> bytes_of_argument{};  // what bytes_read has of each argument
};

}  // namespace assay
