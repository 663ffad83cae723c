// Whose doing a fault is: of the kernel that shows it, or of one that ran in its process before. Private to Examiner: predecessors.cpp
// says who is to be tried, and who is at fault; trials.cpp tries.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "examine.h"

namespace assay {

inline constexpr int kThreads =
    3;  // more than cores on small machines, and odd, so that work splits unevenly

// What a call of examine() was given, and came to.
struct Examiner::Examination {
  std::vector<Examined>& all;
  std::span<const std::uint64_t> choices;
  std::span<const Kernel* const> kernels;
  const ExamineOptions& options;
  std::span<const Case> made_of;     // may be empty
  std::set<const Finding*> at_once;  // faults that showed before further runs
};

// Among whom culprits are looked for.
struct Examiner::Culprits {
  const Examination& of;
  const std::deque<Earlier>& earlier;
  const std::set<std::string> apart;  // who was known before, and cannot be the one
  std::set<const Kernel*> blamed;
  std::map<const Earlier*, std::vector<Call>>
      made;  // of the cases of earlier calls, when they are first needed

  const Call& call_of(const Past& past);
};

// The calls of one kernel within one call of examine(), as far as they ran before the fault.
struct Examiner::Lot {
  const Earlier* earlier = nullptr;  // none: the present one
  std::size_t position = 0;          // of the kernel there
  std::size_t calls = 0;             // the first so many of its calls ran before the fault
  Further further = Further::none;
};

// One call of a Lot.
struct Examiner::Past {
  const Lot* lot;
  std::size_t call;
  friend bool operator==(const Past&, const Past&) = default;
};

struct Examiner::Suspect {
  const Kernel* kernel = nullptr;
  std::deque<Lot> lots;  // the oldest first
};

// A fault, which the call shows again after the one whose doing it is.
struct Examiner::Trial {
  Culprits& among;
  std::size_t call, kernel;  // of the present examination
  Further further;           // runs that it takes to show

  const Finding& victim() const { return among.of.all[call].findings[kernel]; }
  // What such a call came to.
  const Finding& finding_of(const Past& p) const {
    return p.lot->earlier != nullptr ? p.lot->earlier->findings[p.call][p.lot->position]
                                     : among.of.all[p.call].findings[p.lot->position];
  }
  // Those that the kernel was given, in order.
  std::vector<Past> calls_of(const Suspect& s) const;
};

// Which call of a suspect does it.
struct Examiner::Deed {
  Past call;
  std::vector<Past> before{};  // calls that must come before it
  bool repeats = false;        // and each is made again and again
};

}  // namespace assay
