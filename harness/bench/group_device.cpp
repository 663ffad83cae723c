// Results of calls that are timed on a device, where tensors lie already and are not copied for each call.
#include <fmt/format.h>

#include <algorithm>

#include "../examine/other_call.h"
#include "call_limit.h"
#include "group_state.h"
#include "statistics.h"

namespace assay {
namespace {

// Calls with changed data. A kernel that computes in every second call is right in half of them.
constexpr int kTimesChanged = 8;
constexpr int kTimesOfLarge = 2;             // which take long to copy
constexpr std::size_t kJudgedOnDevice = 64;  // judged, of each output
constexpr std::size_t kFewOnDevice = 4;      // that change before a call
// How much longer a call with other data may take: clocks of devices have steps, and branches depend on data.
constexpr double kLongerOnDevice = 1.5;
constexpr double kMoreOnDevice = 5e3;

}  // namespace

std::vector<std::vector<std::byte>> Group::State::timed_results(const Player& p) {
  sets[0]->poison();
  const Held held(devices, *sets[0], 1);
  const CallLimit limit(p.number, options.timeout);
  p.contestant.device->ns_of_call(p.bound[0]->call, 1);
  p.contestant.device->fetch(*sets[0]);
  return results_of(*sets[0]);
}

// Before each, the kernel has been timed with the data as they were, and its results are where it left them: whoever keeps results by the
// addresses of tensors, or by some of their elements, leaves them there. Whoever compares all elements takes longer than it did.
std::string Group::State::changed_on_device(Player& p) {
  if (p.contestant.prepare || bytes_of(call) > kMostBytesChanged) return {};
  const Contract contract = parse_contract(p.contestant.contract, call.outputs[0].computed_in);
  std::vector<double> changed, unchanged;
  const auto timed = [&](const Call& data, int calls) {
    as_it_left_it(p, 0, data);
    const Held held(devices, *sets[0], 1);
    const CallLimit limit(p.number, calls * options.timeout);
    const double ns = p.contestant.device->ns_of_call(p.bound[0]->call, calls);
    p.contestant.device->fetch(*sets[0]);
    return ns;
  };
  const int tries = is_large() ? kTimesOfLarge : kTimesChanged;
  for (int t = 0; t < tries; ++t) {
    const bool few = t % 2 == 1 && is_little_work();
    const std::unique_ptr<ChangedRound> other_data =
        round_of(few ? std::optional(kFewOnDevice) : std::nullopt);
    if (!other_data) continue;
    timed(call, 1 + static_cast<int>(secret() % 3));
    const double ns = timed(other_data->call, 1);
    const std::vector<std::vector<std::byte>> results = results_of(*sets[0]);
    const std::string fault = few ? other_data->judge->fault_of(contract, results, other_data->elements)
                                  : other_data->judge->fault(contract, results, kJudgedOnDevice);
    if (!few) {
      changed.push_back(ns);
      unchanged.push_back(timed(other_data->call, 1));
    }
    sets[0]->load(call);
    if (!fault.empty()) return "when it is timed with data that change, " + fault;
  }
  if (changed.empty()) return {};
  const double least = std::ranges::min(changed), usual = median_interval(unchanged).median;
  return least > kLongerOnDevice * usual + kMoreOnDevice ? slower_text(least, usual) : "";
}

}  // namespace assay
