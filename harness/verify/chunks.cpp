#include "chunks.h"

#include <algorithm>

#include "../generate/cases.h"
#include "../generate/errors.h"
#include "short_run.h"

namespace assay {
namespace {

// Of a list of few cases each may take long, and other threads shall not wait for one that has several.
constexpr std::uint64_t kFewListed = 1000;

}  // namespace

Chunks::Chunks(const VerifyOptions& options)
    : options_(options),
      size_(options.is_short                                    ? kRound
            : is_listed() && options.listed.size() < kFewListed ? 1
                                                                : kCasesAtOnce) {}

std::vector<ChunkOfCases> Chunks::of(std::span<const Chosen> subjects) const {
  std::uint64_t most = 0;
  for (const Chosen& s : subjects) most = std::max(most, cases_of(s));
  std::vector<ChunkOfCases> all;
  // Of a list an operator may have one chunk alone, so that shards take turns at operators, too.
  for (std::uint64_t c = 0; c * size_ < most; ++c)
    for (std::size_t s = 0; s < subjects.size(); ++s)
      if ((is_listed() ? c + s : c) % options_.shards == options_.shard - 1 && !subjects[s].kernels.empty() &&
          c * size_ < cases_of(subjects[s]))
        all.push_back({s, c});
  return all;
}

// A chunk of a list has each so many-th case, for neighbours are alike: where a run ends early, each line has had its turn.
std::uint64_t Chunks::cases_in(const Chosen& subject, std::uint64_t chunk) const {
  if (is_listed()) return (cases_of(subject) - chunk + chunks_of(subject) - 1) / chunks_of(subject);
  return std::min(size_, cases_of(subject) - chunk * size_);
}

std::uint64_t Chunks::errors_in(std::uint64_t chunk) const {
  if (is_listed()) return 0;
  return (std::min(size_, options_.cases - chunk * size_) + kCasesForAnError - 1) / kCasesForAnError;
}

NumberedCases Chunks::make(const Chosen& s, std::uint64_t chunk) const {
  NumberedCases made;
  for (std::uint64_t k = 0; k < cases_in(s, chunk); ++k) {
    const std::uint64_t i = chunk * size_ + k;
    made.indices.push_back(is_listed()         ? s.listed[chunk + k * chunks_of(s)]
                           : options_.is_short ? s.order[i]
                                               : i);
    made.cases.push_back(is_listed() ? options_.listed[made.indices.back()]
                                     : generate(*s.op, s.dtype, options_.seed, made.indices.back()));
  }
  for (std::uint64_t e = 0; e < errors_in(chunk); ++e) {
    const std::uint64_t error = chunk * (size_ / kCasesForAnError) + e;
    made.cases.push_back(generate_error(*s.op, s.dtype, options_.seed, error).invalid);
    made.indices.push_back(options_.cases + error);  // after the valid cases, so that numbers stay unique
  }
  return made;
}

}  // namespace assay
