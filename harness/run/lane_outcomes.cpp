// What became of the runs of a batch.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "../coverage/ran_code.h"
#include "check.h"
#include "guarded_call.h"
#include "hangs.h"
#include "lane_state.h"
#include "printed.h"
#include "process_state.h"
#include "sanitizer_report.h"

namespace assay {

void Lane::State::decide(Standing& p, Outcome::Kind kind, std::string detail) {
  p.outcome.kind = kind;
  p.outcome.detail = std::move(detail);
  p.decided = true;
  if (options.hangs && p.prepared && kind != Outcome::Kind::not_run)
    options.hangs->note(*p.prepared->task.kernel, row, kind == Outcome::Kind::timeout);
  if (kind != Outcome::Kind::ok) {
    p.outcome.outputs.clear();
    p.outcome.again.reset();
  }
  const bool culprit = kind == Outcome::Kind::memory || kind == Outcome::Kind::crashed;
  if (culprit && p.stray_group != kNothing) strays[p.stray_group].found = true;
}

namespace {

void add_left(Outcome& outcome, std::string_view left) {
  if (left.empty() || outcome.left.find(left) != std::string::npos) return;
  outcome.left.append(outcome.left.empty() ? "" : ", ").append(left);
}

std::vector<std::string> kernels_in(const Batch& batch) {
  std::vector<std::string> names;
  for (const Entry& entry : batch.entries())
    if (const std::string& name = entry.prepared->task.kernel->name;
        std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return names;
}

}  // namespace

void Lane::State::finish_batch(Side& side) {
  const std::span<const Entry> entries = side.worker.batch().entries();
  if (const std::string text = side.worker.printed(); !text.empty())
    show_printed(kernels_in(side.worker.batch()), text);
  harvest(side, static_cast<std::uint32_t>(entries.size()));
  if (const std::string left = side.worker.left(); !left.empty()) note_left(side, left);
  // Threads that a kernel has left running may write to memory that is another call's by then.
  const bool threads = side.worker.left_threads();
  if (threads) settle(side, entries);
  if (std::exchange(side.worn, false) || threads) side.worker.stop();
}

// Of several calls it is not known whose doing it was: each runs again alone.
void Lane::State::note_left(Side& side, const std::string& left) {
  side.worn = true;
  const Entry& front = side.worker.batch().entries().front();
  Standing& p = tasks[front.task];
  if (p.next != kNothing) return;  // a trial, whose process ends anyway
  if (front.task != side.worker.batch().entries().back().task) return run_all_alone(side, true);
  side.vandals.insert(p.prepared->task.kernel->name);
  add_left(p.outcome, left);
}

// The worker died. What it had finished counts; the entry it was in gets its verdict; the rest runs again.
void Lane::State::bury(Side& side) {
  const std::span<const Entry> entries = side.worker.batch().entries();
  const bool is_attempt = tasks[entries.front().task].next != kNothing;
  if (side.worker.overwritten() && entries.front().task != entries.back().task && !is_attempt)
    return run_all_alone(side);
  const std::uint32_t guilty =
      std::min(side.worker.current(), static_cast<std::uint32_t>(entries.size() - 1));
  const std::string all_printed = side.worker.printed(), printed = last_words(all_printed);
  std::vector<Unit> rest;
  for (std::uint32_t i = guilty + 1; i < entries.size(); ++i)
    if (entries[i].task != entries[guilty].task && (rest.empty() || rest.back().task != entries[i].task))
      rest.push_back({entries[i].task, entries[i].run});
  side.waiting.insert(side.waiting.begin(), rest.begin(), rest.end());

  const Entry entry = entries[guilty];
  Standing& p = tasks[entry.task];
  const bool had_company = guilty > 0 && entries[guilty - 1].task != entry.task;
  const bool after_others =
      had_company || (guilty > 1 && entries[0].task != entry.task) || side.worker.history().size() > 0;
  Outcome verdict;
  if (side.worker.timed_out()) {
    verdict.kind = Outcome::Kind::timeout;
    verdict.detail =
        fmt::format("did not return within {} s, in run {}",
                    std::chrono::duration<double>(options.time_limit).count(), letter(entry.run));
  } else if (side.worker.overwritten()) {
    verdict.kind = Outcome::Kind::memory;
    verdict.detail = fmt::format(
        "overwrote memory that its process shares with Assay, where no call has anything, in run {}",
        letter(entry.run));
  } else if (const Death death = side.worker.death(); death.what == Crash::no_memory) {
    verdict.detail =
        printed.empty() ? "it could not say what was missing" : printed;  // and kind stays not_run
  } else {
    verdict = explain_death(death, side.worker.batch(), entry);
    const bool by_sanitizer = WIFEXITED(death.wait_status) && WEXITSTATUS(death.wait_status) == kSanitizerStatus;
    if (const std::string report = by_sanitizer ? sanitizer_report(all_printed) : ""; !report.empty()) {
      verdict.kind = Outcome::Kind::memory;
      verdict.detail = fmt::format("{}, in run {}", report, letter(entry.run));
    } else if (!printed.empty()) {
      verdict.detail += "; it printed: " + printed;
    }
  }
  const bool by_others = !side.worker.overwritten() && side.worker.killed_by_others();
  const bool without_memory = !side.worker.timed_out() && verdict.kind == Outcome::Kind::not_run;
  harvest(side, guilty);

  if ((by_others || without_memory) && !p.killed_before) {
    // Perhaps not this kernel's doing: once more.
    p.killed_before = true;
    p.alone = true;
    p.outcome = {};
    side.waiting.push_front({entry.task, Run::a});
    return;
  }
  if (without_memory && entry.run == Run::b) {
    verdict.kind = Outcome::Kind::crashed;  // alone in a fresh process: its own run A left no room
    verdict.detail = "left its process without room for run B: " + verdict.detail;
  }
  if (by_others) verdict.detail += ", twice; not by Assay: perhaps the system ran out of memory";
  const Kernel& kernel = *p.prepared->task.kernel;
  // Of a kernel that hangs by itself too, each look costs the time limit again.
  const bool may_wait = options.hangs && verdict.kind == Outcome::Kind::timeout &&
                        !options.hangs->hangs_alone(kernel, row);
  if (may_wait && !is_attempt && (!after_others || p.fresh)) options.hangs->note_alone(kernel, row);
  const bool by_itself = !side.worker.overwritten() &&
                         (verdict.kind == Outcome::Kind::crashed || verdict.kind == Outcome::Kind::memory || may_wait);
  const bool surely = side.worker.death().what == Crash::forbidden && side.worker.death().in_call;
  if (by_itself && after_others && !p.fresh && !surely) {
    // An earlier call may have damaged the process: only a crash in a fresh one is surely this kernel's own.
    p.crash = verdict.detail;
    p.crash_kind = verdict.kind;
    p.predecessors = fmt::format("{}", fmt::join(side.worker.history(), ", "));
    p.company = side.ran;
    p.alone = true;
    p.fresh = true;
    p.outcome = {};
    side.waiting.push_front({entry.task, Run::a});
    return;
  }
  if (side.worker.overwritten()) side.vandals.insert(p.prepared->task.kernel->name);
  add_ran_code(side.worker.batch().arena().coverage(), guilty, p.outcome.ran);
  decide(p, verdict.kind, verdict.detail);
}

// Nothing that the batch left can be believed, not even how far it came.
void Lane::State::run_all_alone(Side& side, bool decided_too) {
  std::vector<Unit> again;
  for (const Entry& entry : side.worker.batch().entries()) {
    Standing& p = tasks[entry.task];
    if ((p.decided && !decided_too) || (!again.empty() && again.back().task == entry.task)) continue;
    p.alone = true;
    p.decided = false;
    p.outcome = {};
    again.push_back({entry.task, Run::a});
  }
  side.waiting.insert(side.waiting.begin(), again.begin(), again.end());
}

// Reads the first entries of a finished batch.
void Lane::State::harvest(Side& side, std::uint32_t entries) {
  Batch& batch = side.worker.batch();
  std::vector<std::uint32_t> hit;
  if (side.worker.history().empty()) side.ran.clear();
  for (std::uint32_t i = 0; i < entries; ++i) {
    const Entry& entry = batch.entries()[i];
    if (!tasks[entry.task].decided) add_ran_code(batch.arena().coverage(), i, tasks[entry.task].outcome.ran);
    take(side, entry, batch.arena().result(i), hit);
    side.worker.remember(entry.prepared->task.kernel->name);
    if (side.ran.empty() || side.ran.back() != entry.task) side.ran.push_back(entry.task);
  }
  const Entry& front = batch.entries().front();
  if (!hit.empty() && front.task != batch.entries().back().task && tasks[front.task].next == kNothing)
    run_alone(side, hit.front(), entries);
}

void Lane::State::take(Side& side, const Entry& entry, const EntryResult& result,
                       std::vector<std::uint32_t>& hit) {
  Standing& p = tasks[entry.task];
  if (p.decided) return;
  const auto text = [](const char* s, std::size_t room) { return std::string(s, strnlen(s, room)); };
  const std::uint32_t status = result.status.load(std::memory_order_acquire);
  p.outcome.changed_float_state |= result.changed_float_state;
  add_left(p.outcome, registers_text(result.changed_registers));
  if (result.left_timer != 0) add_left(p.outcome, kLeftTimer);
  if (p.outcome.information.empty())
    p.outcome.information = text(result.information, sizeof(result.information));
  const std::string message = text(result.message, sizeof(result.message));

  if (status == EntryResult::crashed)
    return decide(p, Outcome::Kind::crashed, fmt::format("{}, in run {}", message, letter(entry.run)));
  if (status == EntryResult::threw)
    return decide(p, Outcome::Kind::failed,
                  fmt::format("an exception left the kernel: {}, in run {}", message, letter(entry.run)));
  if (status != EntryResult::returned)
    return decide(p, Outcome::Kind::memory,
                  "its worker process lost count of its calls; something overwrote it");
  if (entry.run == Run::repeats) return take_repeats(side, entry, result);
  if (result.code == ASSAY_REFUSED && entry.run == Run::a) {
    p.outcome.declared = result.declared != 0;
    return decide(p, Outcome::Kind::refused, message.empty() ? "without a reason" : message);
  }
  if (result.code == ASSAY_REFUSED)
    return decide(
        p, Outcome::Kind::failed,
        fmt::format("took the call in run A and refused it in run B, where only addresses differ: {}",
                    message));
  if (result.code != ASSAY_OK)
    return decide(p, Outcome::Kind::failed,
                  fmt::format("returned {}{}{}", result.code, message.empty() ? "" : ": ", message));

  std::string stray = stray_write(side.worker.batch(), entry);
  if (stray.empty()) stray = changed_input(side.worker.batch(), entry);
  if (!stray.empty()) {
    hit.push_back(entry.task);
    return decide(p, Outcome::Kind::memory, fmt::format("{}, in run {}", stray, letter(entry.run)));
  }
  const Batch& batch = side.worker.batch();
  const int n = static_cast<int>(entry.prepared->task.call->outputs.size());
  const auto copied = [&] {
    PackedResults all;
    for (int i = 0; i < n; ++i) all.push_back(output_of(batch, entry, i));
    return all;
  };
  if (entry.run == Run::a) {
    p.outcome.outputs = copied();
    p.outcome.again.reset();
    return;
  }
  // What is the same is compared where it lies.
  for (int i = 0; i < n && !p.outcome.again; ++i)
    if (!is_output(batch, entry, i, p.outcome.outputs[static_cast<std::size_t>(i)]))
      p.outcome.again = copied();
  conclude(side, entry.task);
}

// What all of its calls came to; which of them is meant, who asked says.
void Lane::State::take_repeats(Side& side, const Entry& entry, const EntryResult& result) {
  Standing& p = tasks[entry.task];
  Outcome& outcome = p.outcome;
  outcome.repeated.emplace();
  RepeatedCalls& r = *outcome.repeated;
  const auto member = [](std::uint32_t n) { return static_cast<RepeatedCalls::Member>(std::min(n, 2u)); };
  r.calls = result.calls;
  r.differed = result.differed;
  r.which = member(result.which);
  r.before = member(result.before);
  const std::string message(result.message, strnlen(result.message, sizeof(result.message)));
  if (result.code == ASSAY_REFUSED && r.calls == 1)
    return decide(p, Outcome::Kind::refused, message.empty() ? "without a reason" : message);
  side.worn = side.worn || r.differed != 0 || result.code != ASSAY_OK;
  if (result.code == ASSAY_REFUSED) {
    if (r.which == RepeatedCalls::Member::neighbour) return decide(p, Outcome::Kind::refused, message);
    return decide(p, Outcome::Kind::failed,
                  fmt::format("refused the call that it had taken before: {}", message));
  }
  if (result.code != ASSAY_OK)
    return decide(p, Outcome::Kind::failed,
                  fmt::format("returned {}{}{}", result.code, message.empty() ? "" : ": ", message));
  const Batch& batch = side.worker.batch();
  const bool of_neighbour = r.which == RepeatedCalls::Member::neighbour;
  const Entry other = Batch::other_of(entry);
  const auto copied = [&](const Entry& from) {
    PackedResults all;
    for (std::size_t i = 0; i < from.prepared->task.call->outputs.size(); ++i)
      all.push_back(output_of(batch, from, static_cast<int>(i)));
    return all;
  };
  if (p.neighbour) {
    const Entry neighbour = Batch::neighbour_of(entry, *p.neighbour);
    for (std::string stray : {stray_write(batch, neighbour), changed_input(batch, neighbour)})
      if (!stray.empty()) return decide(p, Outcome::Kind::memory, std::move(stray));
    r.last_neighbour = copied(neighbour);
    if (of_neighbour) r.last = r.last_neighbour;
  }
  std::string stray = stray_write(batch, entry);
  // What lies there last is the call's own data.
  if (stray.empty() && r.differed == 0) stray = changed_input(batch, entry);
  if (!stray.empty()) return decide(p, Outcome::Kind::memory, std::move(stray));
  if (r.differed != 0)
    r.unwritten = unwritten_in_repeats(of_neighbour ? *p.neighbour : *p.prepared,
                                       of_neighbour ? r.last_neighbour : copied(entry));
  if (r.which == RepeatedCalls::Member::other || r.calls > kFirstOther) r.first_other = copied(other);
  outcome.outputs = copied(entry);
  if (!of_neighbour) r.last = outcome.outputs;
  decide(p, Outcome::Kind::ok, {});
}

// Both runs returned and kept to their buffers.
void Lane::State::conclude(Side& side, std::uint32_t task) {
  Standing& p = tasks[task];
  // Poison differs between the runs in every byte: where their results do not, all of them are written.
  if (p.outcome.again && p.prepared->task.finite < 0)
    if (std::string missing = unwritten_elements(*p.prepared, p.outcome.outputs, *p.outcome.again);
        !missing.empty()) {
      p.outcome.unwritten = p.outcome.outputs;
      return decide(p, Outcome::Kind::memory, std::move(missing));
    }
  if (!p.crash.empty() && begin_trial(side, task)) return;
  if (!p.crash.empty()) {
    decide(p, p.crash_kind,
           fmt::format("{}; {}, so an earlier call may have damaged the first one ({} ran there)", p.crash,
                       kNotAgain, p.predecessors));
    p.outcome.doing = Doing::after_others;
    return;
  }
  decide(p, Outcome::Kind::ok, {});
}

void Lane::State::run_alone(Side& side, std::uint32_t victim, std::uint32_t entries) {
  const auto group = static_cast<std::uint32_t>(strays.size());
  strays.push_back({victim, tasks[victim].outcome.detail});
  std::vector<Unit> again;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const Entry& entry = side.worker.batch().entries()[i];
    if (!again.empty() && again.back().task == entry.task) continue;
    Standing& p = tasks[entry.task];
    p.outcome = {};
    p.decided = false;
    p.alone = true;
    p.stray_group = group;
    again.push_back({entry.task, Run::a});
  }
  side.waiting.insert(side.waiting.begin(), again.begin(), again.end());
}

void Lane::State::blame_victims() {
  // Nobody did it again alone: it stays with the call whose buffers were hit.
  for (const StrayGroup& group : strays)
    if (!group.found && !tasks[group.victim].outcome.stopped)
      decide(tasks[group.victim], Outcome::Kind::memory,
             group.sentence + "; when the calls of its batch ran one by one it did not happen again");
}

}  // namespace assay
