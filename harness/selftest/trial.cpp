#include "trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "../generate/errors.h"
#include "../generate/layers.h"
#include "../variants/unobservable.h"
#include "../verify/verify.h"
#include "computes.h"
#include "noticed.h"
#include "vocabulary/stop.h"

namespace assay {
namespace {

constexpr std::uint64_t kMostAtOnce = 8;  // cases; the first ones, which find most, run in smaller lots
// Times the cases of a run: so many are looked at for those that a variant changes, before it has survived.
constexpr std::uint64_t kMostLookedAt = 20;

bool same(const CallValue& a, const CallValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, TensorData>)
          return same_bits(x, y);
        else if constexpr (std::is_same_v<T, std::vector<TensorData>>)
          return std::ranges::equal(x, y, same_bits);
        else
          return x == y;
      },
      a);
}

// Whether the variant makes other arguments of this case's, to the bit.
bool changes(const Variant& variant, const Case& c) {
  const Call call = materialise(c);
  if (!call.error.empty()) return false;
  Call changed = call;
  return change_arguments(variant, changed) && !std::ranges::equal(call.arguments, changed.arguments, same);
}

}  // namespace

Kernel variant_kernel(const Subject& subject, std::string_view variant, const std::string& program) {
  Kernel k;
  k.op = subject.op;
  k.schema = std::string(subject.op->schema.text);
  k.name = fmt::format("variant:{}", variant);
  k.table_name = variant;
  k.contract = subject.ours != nullptr ? subject.ours->contract : std::string();
  k.checks_arguments = true;
  k.environment = {program, {std::string(kVariantsFlag)}, {}};
  return k;
}

Trial::Trial(const Subject& subject, const std::string& program, const SelftestOptions& options)
    : subject_(subject), options_(options) {
  none_ = variant_kernel(subject_, "none", program);
  if (subject.strangers.empty())
    plant_variants(program);
  else
    for (const Kernel* k : subject.strangers) plant(*k, k->name, "a kernel of a plugin");
  for (const Kernel* k : {static_cast<const Kernel*>(&none_), subject.ours})
    if (k != nullptr)
      controls_.push_back({std::string(subject.op->schema.name),
                           std::string(name(subject.dtype)),
                           k == &none_ ? "the reference" : k->name,
                           {},
                           {}});
}

std::vector<Planted> Trial::planted(bool fits) const {
  std::vector<Planted> all;
  for (const Suspect& s : suspects_)
    if (s.fits == fits) {
      all.push_back(s.planted);
      if (!s.planted.found && s.planted.unobservable.empty() && s.variant && s.variant->formula != nullptr)
        all.back().unobservable = s.variant->formula->excuse();
    }
  return all;
}

// Whether rivals have nothing left to notice: they have, or they look at results alone.
// A variant that is found for its manners has no wrong results; what else a plugin's kernel does, nobody knows.
bool Trial::Suspect::settled() const {
  const bool results_are_right =
      variant && (planted.verdict == Verdict::memory || planted.verdict == Verdict::wrongly_accepted);
  return results_are_right || std::ranges::all_of(planted.by_rivals, std::identity{});
}

Trial::Suspect& Trial::plant(Kernel kernel, std::string variant, std::string says) {
  Suspect& s = suspects_.emplace_back();
  s.kernel = std::move(kernel);
  s.planted.op = std::string(subject_.op->schema.name);
  s.planted.dtype = std::string(name(subject_.dtype));
  s.planted.variant = std::move(variant);
  s.planted.says = std::move(says);
  return s;
}

void Trial::plant_variants(const std::string& program) {
  const Computes computes(*subject_.op, subject_.dtype, options_.seed, options_.cases);
  for (const Variant& v : variants_of(*subject_.op)) {
    if (v.name == none_.table_name || !selects(options_.variants, v.name)) continue;
    if (!v.dtypes.contains(subject_.dtype) || !computes.has(v)) continue;
    Suspect& s = plant(variant_kernel(subject_, v.name, program), v.name, v.says);
    s.fits = !v.arguments && !(v.results && v.moves);
    s.planted.unobservable = unobservable(*subject_.op, v.name, subject_.dtype);
    s.variant = v;
  }
}

bool Trial::is_open(const Suspect& s) const { return !s.planted.found || (options_.rivals && !s.settled()); }

void Trial::run(Examiner& examiner, std::mutex& generator, const std::atomic<bool>& interrupted) {
  std::uint64_t lot = 1;
  for (std::uint64_t first = 0, end = 0; first < options_.cases && !interrupted; first = end) {
    end = std::min(first + lot, options_.cases);
    lot = std::min(2 * lot, kMostAtOnce);
    std::vector<Suspect*> open, sought;
    for (Suspect& s : suspects_) {
      if (is_open(s)) open.push_back(&s);
      if (!s.planted.found && s.planted.unobservable.empty()) sought.push_back(&s);
    }
    if (open.empty()) return;
    std::vector<Case> cases, large;
    {
      const std::scoped_lock lock(generator);
      for (std::uint64_t i = first; i < end; ++i) {
        Case c = generate(*subject_.op, subject_.dtype, options_.seed, i);
        (is_small(c) ? cases : large).push_back(std::move(c));
      }
      for (std::uint64_t i = first; i < end; ++i)
        if (i % kCasesForAnError == 0)
          cases.push_back(
              generate_error(*subject_.op, subject_.dtype, options_.seed, i / kCasesForAnError).invalid);
    }
    examine(examiner, cases, end - first - large.size(), open);
    // What is found already, and rivals, have cases enough; these take as long as hundreds of others.
    std::erase_if(sought, [](const Suspect* s) { return s->planted.found; });
    if (!large.empty() && !sought.empty()) examine(examiner, large, large.size(), sought);
  }
  for (Suspect& s : suspects_)
    if (!s.planted.found && s.fits && s.planted.unobservable.empty() && s.variant && s.variant->arguments)
      examine_further(examiner, generator, interrupted, s);
}

// It had fewer chances than others: it gets as many cases that it changes as they had, from the same generator.
void Trial::examine_further(Examiner& examiner, std::mutex& generator, const std::atomic<bool>& interrupted,
                            Suspect& suspect) {
  std::uint64_t fitting = 0;
  for (std::uint64_t i = 0, end = kMostLookedAt * options_.cases;
       i < end && fitting < options_.cases && is_open(suspect) && !interrupted; ++i) {
    const Case c = [&] {
      const std::scoped_lock lock(generator);
      return generate(*subject_.op, subject_.dtype, options_.seed, i);
    }();
    if (!changes(*suspect.variant, c)) continue;
    ++fitting;
    if (i < options_.cases) continue;  // which has run
    suspect.planted.further = true;
    examine(examiner, {c}, 1, {&suspect});
  }
}

bool Trial::fits(const Suspect& suspect, const Finding& finding, const Call& call) {
  if (finding.information == kPlantedHere) return true;
  return suspect.variant && !suspect.variant->arguments && call.error.empty() &&
         moves_results(*suspect.variant, call);
}

void Trial::examine(Examiner& examiner, const std::vector<Case>& cases, std::uint64_t valid,
                    const std::vector<Suspect*>& suspects) {
  // The reference first: what it gives is what a variant must change. Those that Assay has found still run for rivals.
  std::vector<const Kernel*> kernels{&none_};
  if (subject_.ours != nullptr) kernels.push_back(subject_.ours);
  std::vector<Suspect*> open, known;
  for (Suspect* s : suspects) (s->planted.found ? known : open).push_back(s);
  for (const Suspect* s : open) kernels.push_back(&s->kernel);
  const std::vector<Examined> examined =
      examiner.examine(cases, kernels, {.properties = true, .keep_outputs = true});
  stop_now();
  expect_run(examined);
  std::vector<Expected> right;
  for (std::uint64_t i = 0; i < valid; ++i) right.push_back(expected(examined[i].call));
  const std::size_t controls = controls_.size();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::vector<Finding>& findings = examined[i].findings;
    for (std::size_t k = 0; k < controls; ++k) {
      if (findings[k].applicable && is_found(findings[k].judgement) && controls_[k].alarm.empty())
        controls_[k].alarm = fmt::format("{}: {}: {}", text(cases[i]), token(findings[k].judgement.verdict),
                                         findings[k].judgement.detail);
      if (i < valid) merge(controls_[k].alarms_of_rivals, noticed(findings[k], examined[i].call, right[i]));
    }
    for (std::size_t k = 0; k < open.size(); ++k) {
      const Finding& f = findings[controls + k];
      Planted& p = open[k]->planted;
      open[k]->fits = open[k]->fits || (i < valid && fits(*open[k], f, examined[i].call));
      if (f.applicable && !p.found) {
        ++p.cases;
        p.changed = p.changed || f.outputs != findings[0].outputs ||
                    f.judgement.verdict != findings[0].judgement.verdict;
        if (is_found(f.judgement)) {
          p.found = p.changed = true;
          p.verdict = f.judgement.verdict;
          p.case_text = text(cases[i]);
        }
      }
      if (i < valid) merge(p.by_rivals, noticed(f, examined[i].call, right[i]));
    }
  }
  if (known.empty()) return;
  kernels.clear();
  for (const Suspect* s : known) kernels.push_back(&s->kernel);
  const std::vector<Examined> again =
      examiner.examine(std::span(cases).first(valid), kernels, {.properties = false, .keep_outputs = true});
  stop_now();
  expect_run(again);
  for (std::size_t i = 0; i < valid; ++i)
    for (std::size_t k = 0; k < known.size(); ++k)
      merge(known[k]->planted.by_rivals, noticed(again[i].findings[k], again[i].call, right[i]));
}

}  // namespace assay
