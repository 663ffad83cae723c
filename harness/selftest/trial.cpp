#include "trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "../generate/errors.h"
#include "../variants/unobservable.h"
#include "../verify/verify.h"
#include "computes.h"

namespace assay {
namespace {

constexpr std::uint64_t kMostAtOnce = 8;  // cases; the first ones, which find most, run in smaller lots
constexpr std::string_view kLeftUnwritten = "left ";  // so begins what run/check.h says of it
// Times the cases of a run: so many are looked at for those that a variant changes, before it has survived.
constexpr std::uint64_t kMostLookedAt = 20;

std::vector<double> numbers(const std::vector<std::byte>& packed, Dtype dtype) {
  const auto size = static_cast<std::size_t>(bytes(dtype));
  std::vector<double> all;
  all.reserve(packed.size() / size);
  for (std::size_t at = 0; at < packed.size(); at += size) all.push_back(load(packed.data() + at, dtype));
  return all;
}

// The rounded reference of a case, which rivals compare with.
struct Expected {
  std::vector<std::vector<double>> outputs;
};

Expected expected(const Call& call) {
  Expectation expectation(call);
  Expected e;
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    std::vector<double> values = expectation.values(static_cast<int>(k));
    if (expectation.integers(static_cast<int>(k)) == nullptr)
      for (double& x : values) x = round_to(x, format(call.outputs[k].dtype));
    e.outputs.push_back(std::move(values));
  }
  return e;
}

// Which rivals notice that these results are wrong. A kernel that does not come back is noticed by everybody; memory that
// is not the kernel's own by nobody, as nothing around it is guarded there.
// What was left unwritten is taken to be wrong, although it often is the right result of another call.
std::array<bool, kRivals> noticed(const Finding& f, const Call& call, const Expected& e) {
  std::array<bool, kRivals> by{};
  const Verdict v = f.judgement.verdict;
  if (f.outputs.empty()) {
    by.fill(v != Verdict::pass && (v != Verdict::memory || f.judgement.detail.starts_with(kLeftUnwritten)));
    return by;
  }
  for (std::size_t k = 0; k < f.outputs.size(); ++k) {
    const std::vector<double> actual = numbers(f.outputs[k], call.outputs[k].dtype);
    for (std::size_t r = 0; r < kRivals; ++r)
      by[r] = by[r] || !accepts(static_cast<Rival>(r), call.outputs[k].dtype, e.outputs[k], actual);
  }
  return by;
}

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

bool is_found(const Judgement& j) {
  return is_fault(j.verdict) || (j.verdict == Verdict::refused && j.undeclared_refusal);
}

// What did not run has neither been found nor survived. Throws std::runtime_error.
void expect_run(const std::vector<Examined>& examined) {
  for (const Examined& e : examined)
    for (const Finding& f : e.findings)
      if (f.judgement.verdict == Verdict::not_run && f.applicable && !f.stopped)
        throw std::runtime_error(fmt::format("{} of {} could not be run: {}", f.kernel->name,
                                             f.kernel->op->schema.name, f.judgement.detail));
}

void merge(std::array<bool, kRivals>& into, const std::array<bool, kRivals>& more) {
  for (std::size_t r = 0; r < kRivals; ++r) into[r] = into[r] || more[r];
}

}  // namespace

Trial::Trial(const Subject& subject, const std::string& program, const SelftestOptions& options)
    : subject_(subject), options_(options) {
  none_ = kernel_of("none", program);
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
    if (s.fits == fits) all.push_back(s.planted);
  return all;
}

// Whether rivals have nothing left to notice: they have, or they look at results alone.
// A variant that is found for its manners has no wrong results; what else a plugin's kernel does, nobody knows.
bool Trial::Suspect::settled() const {
  const bool results_are_right =
      variant && (planted.verdict == Verdict::memory || planted.verdict == Verdict::wrongly_accepted);
  return results_are_right || std::ranges::all_of(planted.by_rivals, std::identity{});
}

Kernel Trial::kernel_of(const std::string& variant, const std::string& program) const {
  Kernel k;
  k.op = subject_.op;
  k.schema = std::string(subject_.op->schema.text);
  k.name = fmt::format("variant:{}", variant);
  k.table_name = variant;
  k.contract = subject_.ours != nullptr ? subject_.ours->contract : std::string();
  k.checks_arguments = true;
  k.environment = {program, {std::string(kVariantsFlag)}, {}};
  return k;
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
    Suspect& s = plant(kernel_of(v.name, program), v.name, v.says);
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
    std::vector<Suspect*> open;
    for (Suspect& s : suspects_)
      if (is_open(s)) open.push_back(&s);
    if (open.empty()) return;
    std::vector<Case> cases;
    {
      const std::scoped_lock lock(generator);
      for (std::uint64_t i = first; i < end; ++i)
        cases.push_back(generate(*subject_.op, subject_.dtype, options_.seed, i));
      for (std::uint64_t i = first; i < end; ++i)
        if (i % kCasesForAnError == 0)
          cases.push_back(
              generate_error(*subject_.op, subject_.dtype, options_.seed, i / kCasesForAnError).invalid);
    }
    examine(examiner, cases, end - first, open);
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
  expect_run(again);
  for (std::size_t i = 0; i < valid; ++i)
    for (std::size_t k = 0; k < known.size(); ++k)
      merge(known[k]->planted.by_rivals, noticed(again[i].findings[k], again[i].call, right[i]));
}

}  // namespace assay
