// Looks at contestants between rounds: in memory whose results are poisoned, and with other data at the same addresses. What is timed
// is then no result that was kept, or was in place already, of the call before.
#include <fmt/format.h>

#include <algorithm>

#include "../generate/data.h"
#include "../verify/other_call.h"
#include "call_limit.h"
#include "group_state.h"

namespace assay {
namespace {

constexpr std::size_t kMostOtherBytes = std::size_t{16} << 20;  // of a call that is looked at with other data
constexpr std::size_t kFewElements = 16;                        // judged in each look
constexpr double kShareOfRounds = 0.125;                        // before which one contestant is looked at
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

int run_once(const Player& p, Bound& bound, double timeout) {
  const CallLimit limit(p.number, timeout);
  return p.contestant.kernel.run(&bound.call);
}

}  // namespace

std::string Group::State::look(Player& p, std::size_t set) {
  if (p.contestant.device) return {};
  if (!other && bytes_of(call) <= kMostOtherBytes && !other_judge) {
    other = with_other_data(call);
    if (other) other_judge = std::make_unique<SampledJudge>(*other);
  }
  Operands& operands = *sets[set];
  Bound& bound = *p.bound[set];
  const Contract contract = parse_contract(p.contestant.contract, call.outputs[0].computed_in);
  const auto gives = [&](std::vector<std::vector<std::byte>>& known, SampledJudge& its_judge,
                         const char* when) -> std::string {
    operands.poison();
    bound.message[0] = 0;
    if (const int status = run_once(p, bound, options.timeout); status != ASSAY_OK)
      return fmt::format("{}it returned {}{}{}", when, status, bound.message[0] != 0 ? ": " : "",
                         bound.message.data());
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
    fault = gives(p.other_results, *other_judge, "with other data at the same addresses, ");
    operands.load(call);
  }
  return fault.empty() ? gives(p.results, *judge, "") : fault;
}

// One of them, now and then, at a time that nobody can know.
void Group::State::look_at_some(std::vector<Player*>& playing) {
  if (on_device() || std::uniform_real_distribution<>()(when) >= kShareOfRounds) return;
  std::vector<Player*> contestants;
  for (Player* p : playing)
    if (!p->bound.empty()) contestants.push_back(p);
  if (contestants.empty()) return;
  Player& p = *contestants[when() % contestants.size()];
  if (std::string fault = look(p, when() % sets.size()); !fault.empty())
    p.checking = {Checking::Status::wrong, "between two rounds, " + fault, {}};
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
    if (k.run(&bound.call) != ASSAY_OK || (n % 64 == 0 && (now() - begin).wall > kMostWearNs)) return;
}

}  // namespace assay
