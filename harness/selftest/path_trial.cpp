#include "path_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "../generate/cases.h"
#include "../generate/layers.h"
#include "../variants/unobservable.h"
#include "../verify/verify.h"
#include "noticed.h"

namespace assay {
namespace {

constexpr std::uint64_t kPathsAtOnce = 8;

}  // namespace

std::string path_variant(const PathFault& fault, const Path& path) {
  return std::string(fault.prefix) + path.name;
}

PathTrial::PathTrial(const Subject& subject, const std::string& program, const SelftestOptions& options)
    : subject_(subject), options_(options) {
  if (!subject.strangers.empty()) return;
  for (std::size_t f = 0; f < kPathFaults.size(); ++f) {
    const PathFault& fault = kPathFaults[f];
    if (fault.kernel != kZeros && !has_stateful(*subject.op)) continue;
    kernels_[f] = variant_kernel(subject, fault.kernel, program);
    for (Path& path : paths_of(*subject.op, subject.dtype)) {
      const std::string variant = path_variant(fault, path);
      if (!selects(options.variants, variant)) continue;
      Planted p;
      p.op = std::string(subject.op->schema.name);
      p.dtype = std::string(name(subject.dtype));
      p.variant = variant;
      p.says = fmt::format("{} for calls of: {}", fault.says, path.name);
      p.unobservable = unobservable(*subject.op, variant, subject.dtype);
      suspects_.push_back({std::move(path), f, std::move(p)});
    }
  }
}

bool PathTrial::is_open(const Suspect& s) const {
  return !s.planted.found || (options_.rivals && !std::ranges::all_of(s.planted.by_rivals, std::identity{}));
}

void PathTrial::run(Examiner& examiner, std::mutex& generator, const std::atomic<bool>& interrupted) {
  for (std::uint64_t first = 0; first < options_.cases && !interrupted; first += kPathsAtOnce) {
    std::vector<Case> cases;
    {
      const std::scoped_lock lock(generator);
      for (std::uint64_t i = first; i < std::min(first + kPathsAtOnce, options_.cases); ++i)
        cases.push_back(generate(*subject_.op, subject_.dtype, options_.seed, i));
    }
    // Of cases that take no path which is still open nothing would be learned.
    std::erase_if(cases, [&](const Case& c) {
      const bool large = !is_small(c);
      return std::ranges::none_of(suspects_, [&](const Suspect& s) {
        return (large ? !s.planted.found : is_open(s)) && s.path.takes(c);
      });
    });
    if (!cases.empty()) examine(examiner, cases);
  }
}

void PathTrial::examine(Examiner& examiner, const std::vector<Case>& cases) {
  // A fault that nothing is open of needs no runs.
  std::vector<std::size_t> faults;
  std::vector<const Kernel*> kernels;
  for (std::size_t f = 0; f < kPathFaults.size(); ++f)
    if (std::ranges::any_of(suspects_, [&](const Suspect& s) { return s.fault == f && is_open(s); })) {
      faults.push_back(f);
      kernels.push_back(&kernels_[f]);
    }
  const std::vector<Examined> examined =
      examiner.examine(cases, kernels, {.properties = false, .keep_outputs = true});
  expect_run(examined);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::optional<Expected> right;
    if (options_.rivals) right = expected(examined[i].call);
    for (std::size_t k = 0; k < faults.size(); ++k) {
      const Finding& f = examined[i].findings[k];
      const auto by = right ? noticed(f, examined[i].call, *right) : std::array<bool, kRivals>{};
      for (Suspect& s : suspects_) {
        if (s.fault != faults[k] || !is_open(s) || !s.path.takes(cases[i])) continue;
        Planted& p = s.planted;
        merge(p.by_rivals, by);
        if (p.found) continue;
        ++p.cases;
        if (!is_found(f.judgement)) continue;
        p.found = p.changed = true;
        p.verdict = f.judgement.verdict;
        p.case_text = text(cases[i]);
      }
    }
  }
}

std::vector<Planted> PathTrial::planted() const {
  std::vector<Planted> all;
  for (const Suspect& s : suspects_) all.push_back(s.planted);
  return all;
}

}  // namespace assay
