#include "sequence.h"

#include <fmt/format.h>

#include <utility>

#include "../generate/data.h"
#include "../recorded/recorded_call.h"

namespace assay {
namespace {

bool is_repeated(const RecordedCall& call) {
  const auto note = call.notes.find(kRepeats);
  return note != call.notes.end() && note->second == kAgainAndAgain;
}

}  // namespace

std::string harm_text(const std::string& victim, const std::string& case_text, const Judgement& judgement) {
  return fmt::format("{}: {}, called after it{}{}, was wrong ({}: {}); in a fresh process it is right",
                     kDamagedItsProcess, victim, case_text.empty() ? "" : " with ", case_text,
                     words(judgement.verdict), judgement.detail);
}

std::optional<Sequence> sequence_of(const Failure& failure, const Kernel& kernel, const KernelOf& kernel_of) {
  if (!failure.harmed || !kernel_of) return std::nullopt;
  const Harmed& harmed = *failure.harmed;
  Sequence s;
  s.kernel = &kernel;
  for (const std::string& before : harmed.before) s.cases.push_back(parse_case(before));
  s.cases.push_back(parse_case(failure.case_text));
  for (const Case& c : s.cases) s.calls.push_back(materialise(c));
  s.after_repeats = harmed.after_repeats;
  s.of = parse_case(harmed.case_text);
  s.call = materialise(s.of);
  s.repeated = harmed.repeated;
  s.victim = kernel_of(s.of.op->schema.name, harmed.impl);
  if (s.victim == nullptr) return std::nullopt;
  return s;
}

void record_sequence(const Sequence& s, const Finding* after, RecordedCall& call) {
  for (std::size_t i = 0; i + 1 < s.calls.size(); ++i)
    call.before.push_back(record_inputs(text(s.cases[i]), s.cases[i].seed, s.calls[i], *s.kernel));
  if (s.after_repeats) call.notes[kRepeats] = kAgainAndAgain;
  RecordedCall victim = after != nullptr ? record_call(text(s.of), s.of.seed, s.call, *s.victim,
                                                       after->judgement, after->outputs)
                                         : record_inputs(text(s.of), s.of.seed, s.call, *s.victim);
  if (s.repeated) victim.notes[kRepeats] = kAgainAndAgain;
  call.after.push_back(std::move(victim));
}

Sequence recorded_sequence(const RecordedCall& call, const Kernel& kernel, const Kernel& victim) {
  Sequence s;
  const auto add = [&](const RecordedCall& one) {
    Replayable r = replayable(one);
    s.cases.push_back(std::move(r.parsed));
    s.calls.push_back(std::move(r.call));
  };
  for (const RecordedCall& before : call.before) add(before);
  add(call);
  s.kernel = &kernel;
  s.after_repeats = is_repeated(call);
  s.victim = &victim;
  Replayable last = replayable(call.after.front());
  s.of = std::move(last.parsed);
  s.call = std::move(last.call);
  s.repeated = is_repeated(call.after.front());
  return s;
}

}  // namespace assay
