#include "lane.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>

#include "check.h"
#include "futex.h"
#include "worker_process.h"

namespace assay {

namespace {

// Where a task stands.
struct Progress {
  std::optional<Prepared> prepared;
  Outcome outcome;
  bool decided = false;  // the outcome is final
  bool alone = false;    // runs in a batch of its own: another call's stray write cannot hit it
  bool fresh = false;    // and in a process that has run nothing else
  bool killed_before = false;
  std::string crash;  // how it ended its process after other calls had run there; not confirmed yet
  std::string predecessors;
  std::uint32_t stray_group = kNothing;
};

// Calls that shared a batch in which somebody wrote where nothing should be written: each runs again alone.
struct StrayGroup {
  std::uint32_t victim;  // whose buffers were hit
  std::string sentence;
  bool found = false;  // one of them did it again
};

struct Unit {
  std::uint32_t task;
  Run first;  // Run::b: only this one is left
};

}  // namespace

// One environment's worker, and the tasks that wait for it.
struct Side {
  explicit Side(std::shared_ptr<Zygotes> zygotes, const Environment& environment, BellPage& bell)
      : worker(std::move(zygotes), environment, bell) {}
  WorkerProcess worker;
  std::deque<Unit> waiting;
};

struct Lane::State {
  State(std::shared_ptr<Zygotes> z, RunOptions o) : zygotes(std::move(z)), options(o) {}

  std::shared_ptr<Zygotes> zygotes;
  RunOptions options;
  BellPage bell;
  std::vector<std::unique_ptr<Side>> sides;
  std::vector<Progress> tasks;
  std::vector<StrayGroup> strays;
  bool posted = false;
  std::chrono::steady_clock::time_point posted_at{};
  std::chrono::steady_clock::time_point looked{};  // when limits were last checked

  Side& side_of(const Environment& environment);
  void enqueue(const Task& task, std::uint32_t number);
  void launch(Side& side);
  bool fill_batch(Side& side);
  void advance();
  void sleep();
  void finish_batch(Side& side);
  void bury(Side& side);
  void harvest(Side& side, std::uint32_t entries);
  void take(Side& side, const Entry& entry, const EntryResult& result, std::vector<std::uint32_t>& hit);
  void run_alone(Side& side, std::uint32_t victim, std::uint32_t entries);
  void conclude(Progress& p);
  void decide(Progress& p, Outcome::Kind kind, std::string detail);
  void give_up(Side& side, const std::string& why);
  bool is_over() const;
  void abandon();
};

Side& Lane::State::side_of(const Environment& environment) {
  for (const auto& side : sides)
    if (side->worker.environment() == environment) return *side;
  return *sides.emplace_back(std::make_unique<Side>(zygotes, environment, bell));
}

void Lane::State::decide(Progress& p, Outcome::Kind kind, std::string detail) {
  p.outcome.kind = kind;
  p.outcome.detail = std::move(detail);
  p.decided = true;
  if (kind != Outcome::Kind::ok) {
    p.outcome.outputs.clear();
    p.outcome.again.reset();
  }
  const bool culprit = kind == Outcome::Kind::memory || kind == Outcome::Kind::crashed;
  if (culprit && p.stray_group != kNothing) strays[p.stray_group].found = true;
}

void Lane::State::enqueue(const Task& task, std::uint32_t number) {
  Progress& p = tasks[number];
  if (!task.kernel->unavailable.empty()) return decide(p, Outcome::Kind::not_run, task.kernel->unavailable);
  try {
    Side& side = side_of(task.kernel->environment);
    const int position = side.worker.find(*task.kernel);
    if (position < 0)
      return decide(
          p, Outcome::Kind::not_run,
          fmt::format("the worker program {} has no kernel `{}` for {}", task.kernel->environment.program,
                      task.kernel->table_name, task.kernel->schema));
    p.prepared.emplace(task, static_cast<std::uint32_t>(position));
    side.waiting.push_back({number, Run::a});
  } catch (const std::exception& reason) {  // no memory for an arena; a malformed call
    decide(p, Outcome::Kind::not_run, reason.what());
  }
}

// Puts as many waiting runs into the batch as fit. False if there are none.
bool Lane::State::fill_batch(Side& side) {
  Batch& batch = side.worker.batch();
  batch.clear();
  while (!side.waiting.empty()) {
    const Unit unit = side.waiting.front();
    Progress& p = tasks[unit.task];
    if (p.decided) {  // by its first run, when the two did not fit into one batch
      side.waiting.pop_front();
      continue;
    }
    if (p.alone && !batch.empty()) break;
    if (p.fresh && unit.first == Run::a && !side.worker.history().empty()) side.worker.stop();
    try {
      if (!batch.add(*p.prepared, unit.task, unit.first)) break;
      side.waiting.pop_front();
      if (unit.first == Run::a && !batch.add(*p.prepared, unit.task, Run::b)) {
        // Both runs in one batch, unless they are too large for any.
        if (batch.entries().size() > 1) {
          batch.remove_last();
          side.waiting.push_front(unit);
        } else {
          side.waiting.push_front({unit.task, Run::b});
        }
        break;
      }
    } catch (const NoMemory& reason) {
      side.waiting.pop_front();
      decide(p, Outcome::Kind::not_run, reason.what());
      continue;
    }
    if (p.alone) break;
  }
  return !batch.empty();
}

void Lane::State::launch(Side& side) {
  try {
    if (!fill_batch(side)) return;
    if (const std::string text = side.worker.printed(); !text.empty()) std::fputs(text.c_str(), stderr);
    side.worker.post();
  } catch (const NotStarted& reason) {
    give_up(side, reason.what());
  }
}

void Lane::State::give_up(Side& side, const std::string& why) {
  for (const Entry& entry : side.worker.batch().entries())
    if (!tasks[entry.task].decided) decide(tasks[entry.task], Outcome::Kind::not_run, why);
  for (const Unit& unit : side.waiting)
    if (!tasks[unit.task].decided) decide(tasks[unit.task], Outcome::Kind::not_run, why);
  side.waiting.clear();
}

bool Lane::State::is_over() const {
  return options.give_up && options.give_up(std::chrono::steady_clock::now() - posted_at);
}

// What is running ends. What its workers had finished counts; the rest did not run.
void Lane::State::abandon() {
  for (const auto& side : sides) {
    if (side->worker.running()) {
      side->worker.stop();
      const auto entries = static_cast<std::uint32_t>(side->worker.batch().entries().size());
      harvest(*side, std::min(side->worker.current(), entries));
    }
    side->waiting.clear();
  }
  for (Progress& p : tasks) {
    if (p.decided) continue;
    decide(p, Outcome::Kind::not_run, "the run was stopped");
    p.outcome.stopped = true;
  }
}

// Everything that has happened by now.
void Lane::State::advance() {
  for (const auto& side : sides) {
    if (!side->worker.running()) continue;
    try {
      switch (side->worker.poll()) {
        case WorkerProcess::State::running:
          continue;
        case WorkerProcess::State::finished:
          finish_batch(*side);
          break;
        case WorkerProcess::State::dead:
          bury(*side);
          break;
      }
    } catch (const NotStarted& reason) {
      give_up(*side, reason.what());
      continue;
    }
    launch(*side);
  }
}

void Lane::State::sleep() {
  const auto slice = std::clamp<std::chrono::milliseconds>(
      options.time_limit / 16, std::chrono::milliseconds(1), std::chrono::milliseconds(250));
  Bell& b = bell.bell();
  const std::uint32_t rings = b.rings.load();
  b.listening.store(1);
  bool something = false;
  for (const auto& side : sides) something = something || (side->worker.running() && side->worker.happened());
  if (!something) futex_wait(b.rings, rings, slice);
  b.listening.store(0);
  // By the clock alone: a kernel that writes where it should not may ring for ever.
  const auto now = std::chrono::steady_clock::now();
  if (now - looked < slice) return;
  looked = now;
  for (const auto& side : sides) {
    if (!side->worker.running()) continue;
    side->worker.limit(options.time_limit);
    side->worker.check_zygote();
  }
}

void Lane::State::finish_batch(Side& side) {
  harvest(side, static_cast<std::uint32_t>(side.worker.batch().entries().size()));
}

// The worker died. What it had finished counts; the entry it was in gets its verdict; the rest runs again.
void Lane::State::bury(Side& side) {
  const std::span<const Entry> entries = side.worker.batch().entries();
  const std::uint32_t guilty =
      std::min(side.worker.current(), static_cast<std::uint32_t>(entries.size() - 1));
  const std::string printed = last_words(side.worker.printed());
  std::vector<Unit> rest;
  for (std::uint32_t i = guilty + 1; i < entries.size(); ++i)
    if (entries[i].task != entries[guilty].task && (rest.empty() || rest.back().task != entries[i].task))
      rest.push_back({entries[i].task, entries[i].run});
  side.waiting.insert(side.waiting.begin(), rest.begin(), rest.end());

  const Entry entry = entries[guilty];
  Progress& p = tasks[entry.task];
  const bool had_company = guilty > 0 && entries[guilty - 1].task != entry.task;
  const bool after_others =
      had_company || (guilty > 1 && entries[0].task != entry.task) || side.worker.history().size() > 0;
  Outcome verdict;
  if (side.worker.timed_out()) {
    verdict.kind = Outcome::Kind::timeout;
    verdict.detail =
        fmt::format("did not return within {} s, in run {}",
                    std::chrono::duration<double>(options.time_limit).count(), letter(entry.run));
  } else if (const Death death = side.worker.death(); death.what == Crash::no_memory) {
    verdict.detail = printed;  // and kind stays not_run
  } else {
    verdict = explain_death(death, side.worker.batch(), entry);
    if (!printed.empty()) verdict.detail += "; it printed: " + printed;
  }
  const bool by_others = side.worker.killed_by_others();
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
  if (verdict.kind == Outcome::Kind::crashed && after_others && !p.fresh) {
    // An earlier call may have damaged the process: only a crash in a fresh one is surely this kernel's own.
    p.crash = verdict.detail;
    p.predecessors = fmt::format("{}", fmt::join(side.worker.history(), ", "));
    p.alone = true;
    p.fresh = true;
    p.outcome = {};
    side.waiting.push_front({entry.task, Run::a});
    return;
  }
  decide(p, verdict.kind, verdict.detail);
}

// Reads the first entries of a finished batch.
void Lane::State::harvest(Side& side, std::uint32_t entries) {
  Batch& batch = side.worker.batch();
  std::vector<std::uint32_t> hit;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const Entry& entry = batch.entries()[i];
    take(side, entry, batch.arena().result(i), hit);
    side.worker.remember(entry.prepared->task.kernel->name);
  }
  if (!hit.empty() && batch.entries().front().task != batch.entries().back().task)
    run_alone(side, hit.front(), entries);
}

void Lane::State::take(Side& side, const Entry& entry, const EntryResult& result,
                       std::vector<std::uint32_t>& hit) {
  Progress& p = tasks[entry.task];
  if (p.decided) return;
  const auto text = [](const char* s, std::size_t room) { return std::string(s, strnlen(s, room)); };
  const std::uint32_t status = result.status.load(std::memory_order_acquire);
  p.outcome.changed_float_state = p.outcome.changed_float_state || result.changed_float_state != 0;
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

  if (std::string stray = stray_write(side.worker.batch(), entry); !stray.empty()) {
    hit.push_back(entry.task);
    return decide(p, Outcome::Kind::memory, fmt::format("{}, in run {}", stray, letter(entry.run)));
  }
  const Batch& batch = side.worker.batch();
  const int n = static_cast<int>(entry.prepared->task.call->outputs.size());
  const auto copied = [&] {
    Outcome::Results all;
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
  conclude(p);
}

// Both runs returned and kept to their buffers.
void Lane::State::conclude(Progress& p) {
  // Poison differs between the runs in every byte: where their results do not, all of them are written.
  if (p.outcome.again)
    if (std::string missing = unwritten_elements(*p.prepared, p.outcome.outputs, *p.outcome.again);
        !missing.empty())
      return decide(p, Outcome::Kind::memory, std::move(missing));
  if (!p.crash.empty())
    return decide(
        p, Outcome::Kind::crashed,
        fmt::format("{}; it did not happen again in a fresh process, so an earlier call may have damaged the "
                    "first one ({} ran there)",
                    p.crash, p.predecessors));
  decide(p, Outcome::Kind::ok, {});
}

void Lane::State::run_alone(Side& side, std::uint32_t victim, std::uint32_t entries) {
  const auto group = static_cast<std::uint32_t>(strays.size());
  strays.push_back({victim, tasks[victim].outcome.detail});
  std::vector<Unit> again;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const Entry& entry = side.worker.batch().entries()[i];
    if (!again.empty() && again.back().task == entry.task) continue;
    Progress& p = tasks[entry.task];
    p.outcome = {};
    p.decided = false;
    p.alone = true;
    p.stray_group = group;
    again.push_back({entry.task, Run::a});
  }
  side.waiting.insert(side.waiting.begin(), again.begin(), again.end());
}

Lane::Lane(std::shared_ptr<Zygotes> zygotes, RunOptions options)
    : state_(std::make_unique<State>(std::move(zygotes), options)) {}
Lane::~Lane() = default;
Lane::Lane(Lane&&) noexcept = default;

void Lane::post(std::span<const Task> tasks) {
  State& s = *state_;
  if (s.posted) throw std::logic_error("Lane::post() before the tasks posted last were collected");
  s.posted = true;
  s.tasks.clear();
  s.tasks.resize(tasks.size());
  s.strays.clear();
  s.posted_at = std::chrono::steady_clock::now();
  if (s.is_over()) return;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) s.enqueue(tasks[i], i);
  for (const auto& side : s.sides) s.launch(*side);
}

std::vector<Outcome> Lane::collect() {
  State& s = *state_;
  const auto running = [&] {
    return std::any_of(s.sides.begin(), s.sides.end(),
                       [](const auto& side) { return side->worker.running(); });
  };
  for (s.advance(); running() && !s.is_over(); s.advance()) s.sleep();
  if (s.is_over()) s.abandon();
  // Nobody did it again alone: it stays with the call whose buffers were hit.
  for (const StrayGroup& group : s.strays)
    if (!group.found && !s.tasks[group.victim].outcome.stopped)
      s.decide(s.tasks[group.victim], Outcome::Kind::memory,
               group.sentence + "; when the calls of its batch ran one by one it did not happen again");
  std::vector<Outcome> outcomes;
  outcomes.reserve(s.tasks.size());
  for (Progress& p : s.tasks) outcomes.push_back(std::move(p.outcome));
  s.posted = false;
  return outcomes;
}

}  // namespace assay
