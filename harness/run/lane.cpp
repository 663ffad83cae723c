// Who runs what, and when; what became of it: lane_outcomes.cpp.
#include "lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "futex.h"
#include "hangs.h"
#include "harmless.h"
#include "lane_state.h"
#include "printed.h"

namespace assay {

Side& Lane::State::side_of(const Environment& environment) {
  for (const auto& side : sides)
    if (side->worker.environment() == environment) return *side;
  return *sides.emplace_back(std::make_unique<Side>(zygotes, environment, bell));
}

void Lane::State::enqueue(const Task& task, std::uint32_t number) {
  Standing& p = tasks[number];
  if (!task.kernel->unavailable.empty()) return decide(p, Outcome::Kind::not_run, task.kernel->unavailable);
  try {
    Side& side = side_of(task.kernel->environment);
    const int position = side.worker.find(*task.kernel);
    if (position < 0)
      return decide(
          p, Outcome::Kind::not_run,
          fmt::format("the worker program {} has no kernel `{}` for {}", task.kernel->environment.program,
                      task.kernel->table_name, task.kernel->schema));
    p.prepared.emplace(task, task.harmless ? kHarmlessKernel : static_cast<std::uint32_t>(position));
    if (task.repeats != nullptr) {
      p.other.emplace(Task{task.kernel, task.repeats->other}, p.prepared->kernel);
      if (task.repeats->neighbour != nullptr)
        p.neighbour.emplace(Task{task.kernel, task.repeats->neighbour}, p.prepared->kernel);
    }
    side.waiting.push_back({number, Run::a});
  } catch (const NotStarted& reason) {
    decide(p, Outcome::Kind::not_run, reason.what());
    p.outcome.by_kernels = reason.by_kernels;
  } catch (const std::exception& reason) {  // no memory for an arena; a malformed call
    decide(p, Outcome::Kind::not_run, reason.what());
  }
}

// A kernel that hangs is not called for ever.
bool Lane::State::gave_up(Standing& p) {
  if (!options.hangs || !p.prepared || !options.hangs->given_up(*p.prepared->task.kernel, row)) return false;
  decide(p, Outcome::Kind::not_run,
         fmt::format("given up: {} calls in a row did not return within {} s", kHangsInARow,
                     std::chrono::duration<double>(options.time_limit).count()));
  p.outcome.given_up = true;
  return true;
}

// Puts as many waiting runs into the batch as fit. False if there are none.
bool Lane::State::fill_batch(Side& side) {
  Batch& batch = side.worker.batch();
  batch.clear();
  while (!side.waiting.empty()) {
    const Unit unit = side.waiting.front();
    Standing& p = tasks[unit.task];
    if (p.decided) {  // by its first run, when the two did not fit into one batch
      side.waiting.pop_front();
      continue;
    }
    if (gave_up(p)) {
      side.waiting.pop_front();
      continue;
    }
    if (p.alone && !batch.empty()) break;
    if (p.fresh && unit.first == Run::a && !side.worker.history().empty()) side.worker.stop();
    const std::string& name = p.prepared->task.kernel->name;
    if (!p.prepared->task.harmless && (side.vandals.contains(name) || apart.contains(name))) {
      if (!batch.empty()) break;
      p.alone = side.worn = true;
    }
    try {
      if (p.next != kNothing) {
        // In one batch, or they are not tried together.
        for (const std::uint32_t task : {unit.task, p.next})
          for (const Run run : {Run::a, Run::b})
            if (!batch.add(*tasks[task].prepared, task, run)) decide(tasks[task], Outcome::Kind::ok, {});
        side.waiting.pop_front();
        side.worn = true;
        break;
      }
      if (p.other) {
        // The last of its batch: what it shows of the process is not to be other calls' fault.
        if (batch.add_repeats(*p.prepared, *p.other, p.neighbour ? &*p.neighbour : nullptr, unit.task))
          side.waiting.pop_front();
        break;
      }
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
    // Between its calls: by a thread, or a child.
    if (const std::string text = side.worker.printed(); !text.empty())
      show_printed(side.worker.history().empty() ? std::vector<std::string>{"worker"} : side.worker.history(),
                   text);
    side.worker.post();
  } catch (const NotStarted& reason) {
    give_up(side, reason);
  }
}

void Lane::State::give_up(Side& side, const NotStarted& why) {
  const auto give_up = [&](Standing& p) {
    if (p.decided) return;
    decide(p, Outcome::Kind::not_run, why.what());
    p.outcome.by_kernels = why.by_kernels;
    if (p.next != kNothing) decide(tasks[p.next], Outcome::Kind::not_run, why.what());
  };
  for (const Entry& entry : side.worker.batch().entries()) give_up(tasks[entry.task]);
  for (const Unit& unit : side.waiting) give_up(tasks[unit.task]);
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
  for (Standing& p : tasks) {
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
      give_up(*side, reason);
      continue;
    }
    go_on_with_trials(*side);
    launch(*side);
  }
}

void Lane::State::sleep() {
  const auto slice = std::clamp<std::chrono::milliseconds>(
      options.time_limit / 16, std::chrono::milliseconds(1), std::chrono::milliseconds(250));
  Bell& b = bell.bell();
  const std::uint32_t rings = b.rings.load();
  bool something = false;
  for (const auto& side : sides) something = something || (side->worker.running() && side->worker.happened());
  if (!something) futex_wait(b.rings, rings, slice);
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

Lane::Lane(std::shared_ptr<Zygotes> zygotes, RunOptions options)
    : state_(std::make_unique<State>(std::move(zygotes), options)) {}
Lane::~Lane() = default;
Lane::Lane(Lane&&) noexcept = default;
Lane& Lane::operator=(Lane&&) noexcept = default;

void Lane::post(std::span<const Task> tasks) {
  State& s = *state_;
  if (s.posted) throw std::logic_error("Lane::post() before the tasks posted last were collected");
  s.posted = true;
  s.tasks.clear();
  s.tasks.resize(tasks.size());
  s.count = tasks.size();
  s.strays.clear();
  s.trials.clear();
  for (const auto& side : s.sides) side->ran.clear();
  s.posted_at = std::chrono::steady_clock::now();
  if (s.is_over()) return;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) s.enqueue(tasks[i], i);
  for (const auto& side : s.sides) s.launch(*side);
}

void Lane::of_row(std::uint64_t row) { state_->row = row; }

void Lane::keep_apart(const std::string& kernel) { state_->apart.insert(kernel); }

std::vector<Outcome> Lane::collect() {
  State& s = *state_;
  const auto running = [&] {
    return std::any_of(s.sides.begin(), s.sides.end(),
                       [](const auto& side) { return side->worker.running(); });
  };
  for (s.advance(); running() && !s.is_over(); s.advance()) s.sleep();
  if (s.is_over()) s.abandon();
  s.blame_victims();
  std::vector<Outcome> outcomes;
  outcomes.reserve(s.count);
  for (std::size_t i = 0; i < s.count; ++i) outcomes.push_back(std::move(s.tasks[i].outcome));
  s.posted = false;
  return outcomes;
}

}  // namespace assay
