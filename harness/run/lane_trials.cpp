// Whose doing it was: calls that did not come to grief by themselves, and threads that go on after a call.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "check.h"
#include "harmless.h"
#include "lane_state.h"
#include "threads.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostSuspects = 16;
// How long threads that work, or sleep for a while, are watched: after one batch, and after all of a lane.
constexpr std::chrono::milliseconds kSettling = 100ms, kAllSettling = 2s;

}  // namespace

// Threads that are still at work are given time for what they may do to the memory of their call. Each entry has memory of its own.
void Lane::State::settle(Side& side, std::span<const Entry> entries) {
  const Batch& batch = side.worker.batch();
  struct Left {
    const Entry* entry;
    const Buffer* buffer;
    std::vector<std::byte> bytes;
  };
  std::vector<Left> all;
  const auto begin = std::chrono::steady_clock::now();
  const bool is_attempt = tasks[entries.front().task].next != kNothing;
  const std::string& first = entries.front().prepared->task.kernel->name;
  const bool known = side.vandals.contains(first) || apart.contains(first);
  const auto end = begin + (is_attempt ? kSettling : known ? 0ms : std::min(kSettling, kAllSettling - side.settling));
  const pid_t process = side.worker.process();
  while (std::chrono::steady_clock::now() < end && !side.worker.happened_to_end() && !others_wait(process)) {
    if (all.empty())
      for (const Entry& entry : entries)
        for (const Buffer& b : batch.buffers(entry))
          if (b.writable) {
            const std::byte* const at = batch.arena().at(b.window);
            all.push_back({&entry, &b, {at + b.image, at + b.end()}});
          }
    std::this_thread::sleep_for(1ms);
  }
  side.settling +=
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  if (side.worker.happened_to_end()) return blame_thread(side, entries);
  for (const Left& left : all) {
    Standing& p = tasks[left.entry->task];
    const std::byte* const at = batch.arena().at(left.buffer->window) + left.buffer->image;
    if (std::equal(left.bytes.begin(), left.bytes.end(), at)) continue;
    const Operator& op = *p.prepared->task.call->op;
    side.vandals.insert(p.prepared->task.kernel->name);
    decide(p, Outcome::Kind::memory,
           fmt::format("{} wrote to {} after the call had returned, in run {}",
                       kThreadOfIts, described(*left.buffer, op), letter(left.entry->run)));
    p.outcome.doing = Doing::after_return;
  }
}

// A thread has ended the process after all calls had returned. Each runs again alone, unless it was.
void Lane::State::blame_thread(Side& side, std::span<const Entry> entries) {
  const std::uint32_t first = entries.front().task;
  if (entries.back().task != first && tasks[first].next == kNothing) return run_all_alone(side, true);
  side.vandals.insert(tasks[first].prepared->task.kernel->name);
  decide(tasks[first], Outcome::Kind::crashed,
         fmt::format("{} ended the process after the call had returned", kThreadOfIts));
  tasks[first].outcome.doing = Doing::after_return;
}

// False where there is nobody to try.
bool Lane::State::begin_trial(Side& side, std::uint32_t victim) {
  const Standing& p = tasks[victim];
  BlameTrial trial;
  trial.victim = victim;
  std::set<const Kernel*> known{p.prepared->task.kernel};
  for (auto task = p.company.rbegin(); task != p.company.rend(); ++task)
    if (*task < count && !tasks[*task].other && known.insert(tasks[*task].prepared->task.kernel).second &&
        trial.suspects.size() < kMostSuspects)
      trial.suspects.push_back(*task);
  if (trial.suspects.empty()) return false;
  trial.suspects.insert(trial.suspects.begin(), {victim, kHarmlessTask});
  attempt(side, trials.emplace_back(std::move(trial)));
  return true;
}

// The next suspect and the victim, one after the other in a fresh process.
void Lane::State::attempt(Side& side, BlameTrial& trial) {
  const auto copy = [&](std::uint32_t task) {
    const bool harmless = task == kHarmlessTask;
    const Prepared& original = *tasks[harmless ? trial.victim : task].prepared;
    Task same = original.task;
    same.harmless = harmless;
    Standing& p = tasks.emplace_back();
    p.prepared.emplace(same, harmless ? kHarmlessKernel : original.kernel);
    p.alone = p.fresh = true;
    return static_cast<std::uint32_t>(tasks.size() - 1);
  };
  trial.first = copy(trial.suspects[trial.tried]);
  trial.second = copy(trial.victim);
  tasks[trial.first].next = trial.second;
  side.waiting.push_front({trial.first, Run::a});
}

void Lane::State::go_on_with_trials(Side& side) {
  for (BlameTrial& trial : trials) {
    if (trial.tried == trial.suspects.size()) continue;
    if (tasks[trial.victim].prepared->task.kernel->environment != side.worker.environment()) continue;
    if (!tasks[trial.first].decided || !tasks[trial.second].decided) continue;
    const auto came_to_grief = [&](std::uint32_t task) {
      const Outcome::Kind kind = tasks[task].outcome.kind;
      return kind == Outcome::Kind::crashed || kind == Outcome::Kind::memory ||
             (kind == Outcome::Kind::timeout && tasks[trial.victim].crash_kind == kind);
    };
    const bool fails = came_to_grief(trial.first) || came_to_grief(trial.second);
    // Who crashes now and then shall not find somebody to blame by chance.
    if (fails && !std::exchange(trial.once, true)) {
      attempt(side, trial);
      continue;
    }
    trial.once = false;
    if (fails) trial.guilty.push_back(trial.suspects[trial.tried]);
    ++trial.tried;
    Standing& victim = tasks[trial.victim];
    const bool after_itself = !trial.guilty.empty() && trial.guilty.front() == trial.victim;
    const bool after_harmless = !trial.guilty.empty() && trial.guilty.front() == kHarmlessTask;
    const bool by_itself = after_itself || after_harmless;
    if (!by_itself && trial.tried < trial.suspects.size()) {
      attempt(side, trial);
      continue;
    }
    trial.tried = trial.suspects.size();
    const std::string when = after_itself     ? "in a fresh process it happened again after a call of its own"
                             : after_harmless ? "in a fresh process it happened again after a call that does no more than "
                                                "any kernel may: write its outputs, use stack and heap"
                             : trial.guilty.empty()
                                 ? fmt::format("{}, and not after one of the others alone either", kNotAgain)
                                 : std::string();
    if (!when.empty()) {
      decide(victim, victim.crash_kind,
             fmt::format("{}; {} ({} had run there)", victim.crash, when, victim.predecessors));
      if (trial.guilty.empty()) victim.outcome.doing = Doing::after_others;
      continue;
    }
    for (const std::uint32_t task : trial.guilty) {
      const Kernel& kernel = *tasks[task].prepared->task.kernel;
      side.vandals.insert(kernel.name);
      decide(tasks[task], victim.crash_kind,
             fmt::format("{}: {}, called after it, {}; in a fresh process that does not happen",
                         kDamagedItsProcess, victim.prepared->task.kernel->name, victim.crash));
      tasks[task].outcome.doing = Doing::to_others;
      tasks[task].outcome.harmed = trial.victim;
    }
    decide(victim, Outcome::Kind::ok, {});
  }
}

}  // namespace assay
