#include "support.h"

#include <deque>
#include <vector>

#include "../generate/cases.h"
#include "../generate/data.h"
#include "../run/hangs.h"
#include "../run/lane.h"

namespace assay {
namespace {

// On the ladder: several sizes, four dimensions, four dimensions channels-last, and 2 by 7.
constexpr std::uint64_t kPlain[] = {3, 4, 5, 9};

}  // namespace

Answers ask(const Registry& registry, std::span<const Operator* const> operators,
            const std::function<void(std::chrono::steady_clock::duration)>& waiting) {
  Answers answers;
  std::deque<Call> calls;
  std::vector<Task> tasks;
  std::vector<Answer*> asked;
  for (const Operator* op : operators)
    for (int d = 0; d < kDtypes; ++d) {
      const auto dtype = static_cast<Dtype>(d);
      if (!op->dtypes.contains(dtype)) continue;
      for (const std::uint64_t index : kPlain) {
        calls.push_back(materialise(generate(*op, dtype, 0, index)));
        for (const Kernel* kernel : registry.kernels_of(*op)) {
          if (!kernel->unavailable.empty()) continue;
          tasks.push_back({kernel, &calls.back()});
          asked.push_back(&answers[{kernel, dtype}]);
        }
      }
    }
  RunOptions running;
  running.give_up = [&](std::chrono::steady_clock::duration since) {
    waiting(since);
    return false;
  };
  running.hangs = std::make_shared<Hangs>();
  Lane lane(make_zygotes(), running);
  const std::vector<Outcome> outcomes = lane.run(tasks);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    asked[i]->runs |= outcomes[i].kind == Outcome::Kind::ok;
    if (!asked[i]->reason.empty()) continue;
    asked[i]->reason = outcomes[i].detail;
    asked[i]->refuses = outcomes[i].kind == Outcome::Kind::refused;
  }
  for (auto& [key, answer] : answers)
    if (answer.runs) answer.reason.clear();
  return answers;
}

}  // namespace assay
