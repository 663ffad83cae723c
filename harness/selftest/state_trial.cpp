#include "state_trial.h"

#include <algorithm>
#include <functional>

#include "../generate/cases.h"
#include "../generate/layers.h"
#include "../variants/unobservable.h"
#include "../verify/verify.h"
#include "noticed.h"

namespace assay {

// Without tensors among the arguments, equal addresses are no addresses: the results that are kept are right.
std::vector<const StatefulKind*> stateful_faults(const Operator& op) {
  std::vector<const StatefulKind*> all;
  if (!has_stateful(op)) return all;
  const bool has_inputs =
      std::ranges::any_of(op.schema.arguments(), [](const Argument& a) { return a.type == Type::tensor; });
  for (const StatefulKind& kind : stateful_kinds())
    if (has_inputs || !kind.of_inputs) all.push_back(&kind);
  return all;
}

StateTrial::StateTrial(const Subject& subject, const std::string& program, const SelftestOptions& options)
    : subject_(subject), options_(options) {
  if (!subject.strangers.empty()) return;
  for (const StatefulKind* kind : stateful_faults(*subject.op)) {
    const std::string variant(kind->name);
    if (!selects(options.variants, variant)) continue;
    Suspect& s = suspects_.emplace_back();
    s.kernel = variant_kernel(subject, variant, program);
    s.planted.op = std::string(subject.op->schema.name);
    s.planted.dtype = std::string(name(subject.dtype));
    s.planted.variant = variant;
    s.planted.says = kind->says;
    s.planted.unobservable = unobservable(*subject.op, variant, subject.dtype);
  }
}

std::vector<Case> StateTrial::cases(std::mutex& generator, std::uint64_t first) const {
  const std::scoped_lock lock(generator);
  std::vector<Case> all;
  for (std::uint64_t i = first; i < std::min(first + kCasesAtOnce, options_.cases); ++i)
    all.push_back(generate(*subject_.op, subject_.dtype, options_.seed, i));
  return all;
}

void StateTrial::run(Examiner& examiner, std::mutex& generator, const std::atomic<bool>& interrupted) {
  if (suspects_.empty()) return;
  examiner.start_afresh();
  const auto all_cases = [&](const auto& wanted, const auto& take) {
    for (std::uint64_t first = 0; first < options_.cases && !interrupted; first += kCasesAtOnce) {
      if (std::ranges::none_of(suspects_, wanted)) return;
      take(cases(generator, first), first / kCasesAtOnce);
    }
  };
  all_cases([](const Suspect& s) { return !s.planted.found; },
            [&](const std::vector<Case>& cases, std::uint64_t chunk) {
              examine(examiner, cases, further_in(chunk));
            });
  if (!options_.rivals) return;
  // Their calls are those of the cases, from the first on; further ones they do not make.
  examiner.start_afresh();
  all_cases([](const Suspect& s) { return !std::ranges::all_of(s.planted.by_rivals, std::identity{}); },
            [&](std::vector<Case> cases, std::uint64_t) {
              std::erase_if(cases, [](const Case& c) { return !is_small(c); });
              ask_rivals(examiner, cases);
            });
}

void StateTrial::examine(Examiner& examiner, const std::vector<Case>& cases, Further further) {
  std::vector<Suspect*> open;
  std::vector<const Kernel*> kernels;
  for (Suspect& s : suspects_)
    if (!s.planted.found) {
      open.push_back(&s);
      kernels.push_back(&s.kernel);
    }
  const std::vector<Examined> examined = examiner.examine(cases, kernels, {.further = further});
  expect_run(examined);
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (std::size_t k = 0; k < open.size(); ++k) {
      const Judgement& j = examined[i].findings[k].judgement;
      Planted& p = open[k]->planted;
      if (p.found) continue;
      ++p.cases;
      if (!is_found(j)) continue;
      p.found = p.changed = true;
      p.verdict = j.verdict;
      p.case_text = text(cases[i]);
    }
}

void StateTrial::ask_rivals(Examiner& examiner, const std::vector<Case>& cases) {
  std::vector<const Kernel*> kernels;
  for (const Suspect& s : suspects_) kernels.push_back(&s.kernel);
  const std::vector<Examined> examined =
      examiner.examine(cases, kernels, {.properties = false, .keep_outputs = true});
  expect_run(examined);
  for (const Examined& e : examined) {
    const Expected right = expected(e.call);
    for (std::size_t k = 0; k < suspects_.size(); ++k)
      merge(suspects_[k].planted.by_rivals, noticed(e.findings[k], e.call, right));
  }
}

std::vector<Planted> StateTrial::planted() const {
  std::vector<Planted> all;
  for (const Suspect& s : suspects_) all.push_back(s.planted);
  return all;
}

}  // namespace assay
