// The cases of a run in chunks, each of which one worker's thread takes as a whole.
//
//   const Chunks chunks(options);
//   for (const ChunkOfCases& c : chunks.of(subjects)) { ... chunks.make(subjects[c.subject], c.chunk) ... }
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "subjects.h"
#include "verify.h"
#include "vocabulary/case.h"

namespace assay {

struct ChunkOfCases {
  std::size_t subject;  // its place
  std::uint64_t chunk;
};

struct NumberedCases {
  std::vector<Case> cases;             // valid ones, and then those with wrong arguments
  std::vector<std::uint64_t> indices;  // each case's number, which no other of its subject has
};

class Chunks {
 public:
  // The options must outlive this.
  explicit Chunks(const VerifyOptions& options);

  // Of this shard, in the order of their first case, so that a run cut short has tried every operator equally.
  std::vector<ChunkOfCases> of(std::span<const Chosen> subjects) const;

  std::uint64_t size() const { return size_; }
  // A list's cases are what they are: nothing is drawn in their place, and none has wrong arguments that the list does not name.
  bool is_listed() const { return !options_.listed.empty(); }
  // Valid ones, and those with wrong arguments.
  std::uint64_t cases_in(const Chosen& subject, std::uint64_t chunk) const;
  std::uint64_t errors_in(std::uint64_t chunk) const;

  // Precondition in a short run: subject.order is filled. One thread at a time: RapidCheck's generators are not thread-safe.
  NumberedCases make(const Chosen& subject, std::uint64_t chunk) const;

 private:
  std::uint64_t cases_of(const Chosen& subject) const {
    return is_listed() ? subject.listed.size() : options_.cases;
  }
  std::uint64_t chunks_of(const Chosen& subject) const { return (cases_of(subject) + size_ - 1) / size_; }

  const VerifyOptions& options_;
  std::uint64_t size_;
};

}  // namespace assay
