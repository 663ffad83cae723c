// Looks at contestants between rounds: in memory whose results are poisoned, and with other data at the same addresses. What is timed
// is then no result that was kept, or was in place already, of the call before.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "../examine/other_call.h"
#include "../generate/data.h"
#include "../run/threads.h"
#include "call_damage.h"
#include "call_limit.h"
#include "group_state.h"

namespace assay {
namespace {

constexpr std::size_t kMostOtherBytes = std::size_t{16} << 20;  // of a call that is looked at with other data
constexpr std::size_t kMostComparedBytes = std::size_t{1} << 20;  // of inputs, after each batch of calls
constexpr std::chrono::milliseconds kLatePatience{100};  // with threads that are at work after a call
constexpr std::size_t kFewElements = 16;                 // judged in each look
constexpr double kShareOfRounds = 0.125;                 // before which one contestant is looked at
constexpr std::uint64_t kWorn =
    4200;  // calls: more than any counter that has been seen to make a kernel wrong
#ifdef ASSAY_SANITIZED
constexpr double kMostWearNs = 1e10;  // calls take many times as long there
#else
constexpr double kMostWearNs = 2e8;
#endif
constexpr std::int64_t kSmall = 4;  // elements of a dimension

// A case of the same kernel that takes next to no time.
std::optional<Call> small_call(const Case& c) {
  if (auto made = of_small_shape(c, kSmall)) return std::move(made->call);
  return std::nullopt;
}

// The name of an input tensor, counted as Operands::inputs() are.
std::string input_name(const Call& call, int input) {
  int n = 0;
  for (std::size_t a = 0; a < call.arguments.size(); ++a) {
    int count = 0;
    if (std::holds_alternative<TensorData>(call.arguments[a])) count = 1;
    if (const auto* list = std::get_if<std::vector<TensorData>>(&call.arguments[a]))
      count = static_cast<int>(list->size());
    if (input < n + count) return fmt::format("`{}`", call.op->schema.arguments()[a].name);
    n += count;
  }
  return "one";
}

int run_once(const Player& p, Bound& bound, double timeout) {
  const CallLimit limit(p.number, timeout);
  return run_kernel(p.contestant.kernel, bound.call);
}

}  // namespace

std::string Group::State::look(Player& p, std::size_t set) {
  if (p.contestant.device) return {};
  if (!other && bytes_of(call) <= kMostOtherBytes && !other_judge) {
    other = with_other_data(call);
    if (other) other_judge = std::make_unique<SampledJudge>(*other, secret());
  }
  Operands& operands = *sets[set];
  Bound& bound = *p.bound[set];
  const Contract contract = parse_contract(p.contestant.contract, call.outputs[0].computed_in);
  const auto gives = [&](std::vector<std::vector<std::byte>>& known, SampledJudge& its_judge,
                         const Call& numbers, const char* when) -> std::string {
    operands.poison();
    bound.message[0] = 0;
    if (const int status = run_once(p, bound, options.timeout); status != ASSAY_OK)
      return fmt::format("{}it returned {}{}{}", when, status, bound.message[0] != 0 ? ": " : "",
                         bound.message.data());
    if (std::string left = damage(set, numbers); !left.empty()) return when + ("it " + left);
    std::vector<std::vector<std::byte>> results;
    for (std::size_t o = 0; o < operands.outputs().size(); ++o) results.push_back(operands.packed(o));
    if (results == known) return {};
    std::string fault = its_judge.fault(contract, results, kFewElements);
    if (fault.empty())
      known = std::move(results);
    else
      fault = when + fault;
    return fault;
  };
  std::string fault;
  if (other) {
    operands.load(*other);
    fault = gives(p.other_results, *other_judge, *other, "with other data at the same addresses, ");
    operands.load(call);
  }
  return fault.empty() ? gives(p.results, *judge, call, "") : fault;
}

// One of them, now and then, at a time that nobody can know.
void Group::State::look_at_some(std::vector<Player*>& playing) {
  if (on_device() || std::uniform_real_distribution<>()(secret) >= kShareOfRounds) return;
  std::vector<Player*> contestants;
  for (Player* p : playing)
    if (!p->bound.empty()) contestants.push_back(p);
  if (contestants.empty()) return;
  Player& p = *contestants[secret() % contestants.size()];
  std::string fault;
  try {
    fault = look(p, secret() % sets.size());
  } catch (const KernelError& error) {
    fault = error.what();
  }
  if (!fault.empty()) p.checking = {Checking::Status::wrong, "between two rounds, " + fault, {}};
}

std::string Group::State::damage_but_to_inputs(std::size_t set) {
  // Before anything reads them.
  const bool described = sets[set]->put_descriptions_right();
  std::string left = CallLimit::damage();
  return described ? "changed the description of its tensors or attributes, which all contestants share" : left;
}

std::string Group::State::damage(std::size_t set, const Call& numbers) {
  std::string left = damage_but_to_inputs(set);
  const int input = sets[set]->changed_input(numbers);
  if (input < 0) return left;
  sets[set]->load(numbers);
  return fmt::format("changed its input, {} of {} bytes", input_name(numbers, input),
                     sets[set]->inputs()[static_cast<std::size_t>(input)].size());
}

void Group::State::watch_memory() {
  std::vector<NamedMemory> tensors;
  for (const auto& set : sets) {
    for (std::size_t i = 0; i < set->inputs().size(); ++i)
      tensors.push_back({set->inputs()[i], "its input " + input_name(call, static_cast<int>(i))});
    for (const auto& result : set->results()) tensors.push_back({result, "its output"});
  }
  memory_map.emplace(tensors);
}

std::string Group::State::memory_changed() { return memory_map ? memory_map->changed() : ""; }

void Group::State::begin_round() {
  looks_at_process = always_looks || std::uniform_real_distribution<>()(secret) < kShareOfRounds;
  if (!looks_at_process) return;
  always_looks = !memory_changed().empty() || always_looks;
  left_at_work();
}

std::string Group::State::process_changed() {
  if (!looks_at_process) return {};
  std::string changed = memory_changed();
  if (changed.empty()) return left_at_work();
  damage(0, call);  // which goes with it
  return "it " + changed;
}

std::string Group::State::late_write(std::uint32_t threads_before,
                                     const std::vector<std::vector<std::byte>>& results) {
  const auto end = std::chrono::steady_clock::now() + kLatePatience;
  while (thread_count() > threads_before && !others_wait(getpid()) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (std::size_t o = 0; o < results.size(); ++o)
    if (sets[0]->packed(o) != results[o])
      return "a thread that it had started wrote to its output after the call had returned";
  return {};
}

// After each batch of calls, of inputs that are compared in less time than a batch takes; of others now and then.
std::string Group::State::damage_in_round(std::size_t set) {
  if (on_device()) return damage_but_to_inputs(set);
  std::size_t bytes = 0;
  for (const auto& input : sets[set]->inputs()) bytes += input.size();
  if (bytes > kMostComparedBytes && secret() % (bytes / kMostComparedBytes) != 0) return damage_but_to_inputs(set);
  if (options.cache == Cache::warm) return damage(set, call);
  std::string left;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (std::string more = damage(i, call); left.empty()) left = std::move(more);
  return left;
}

// Other libraries need no such proof, and their calls may take long.
void Group::State::wear(const Player& p) {
  if (p.contestant.device || p.contestant.prepare || (p.contestant.kernel.flags & ASSAY_PEER) != 0) return;
  if (p.calls >= kWorn || !of) return;
  if (!small_operands) {
    small = small_call(*of);
    if (!small) return;
    small_operands = std::make_unique<Operands>(*small, random);
  }
  Bound bound(p.contestant, *small_operands);
  const CallLimit limit(p.number, options.timeout);
  const assay_kernel& k = p.contestant.kernel;
  if (k.refuses != nullptr && k.refuses(&bound.call) != ASSAY_OK) return;
  const Moment begin = now();
  for (std::uint64_t n = p.calls; n < kWorn; ++n)
    if (run_kernel(k, bound.call) != ASSAY_OK || (n % 64 == 0 && since(begin).wall > kMostWearNs)) return;
}

}  // namespace assay
