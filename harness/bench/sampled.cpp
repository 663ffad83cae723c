#include "sampled.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <numeric>
#include <random>
#include <stdexcept>
#include <unordered_set>

#include "../judge/judge.h"

namespace assay {
namespace {

// Elements of each output: so many however long they take, so many within half a second, and so many within kCheap.
constexpr std::size_t kLeast = 8, kUsual = 256, kMost = 16'384;
constexpr std::chrono::milliseconds kCheap{10};

// This thread's own: what is judged shall not depend on who else works on the machine.
std::chrono::nanoseconds time_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// First and last, then at random, each once.
std::vector<std::size_t> sample(std::size_t elements, std::size_t most, std::uint64_t seed) {
  std::vector<std::size_t> chosen;
  if (elements == 0) return chosen;
  std::mt19937_64 random(seed);
  if (elements <= most) {
    chosen.resize(elements);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    if (elements > 2) {
      std::swap(chosen[1], chosen.back());
      std::shuffle(chosen.begin() + 2, chosen.end(), random);
    }
    return chosen;
  }
  std::unordered_set<std::size_t> taken;
  const auto take = [&](std::size_t e) {
    if (taken.insert(e).second) chosen.push_back(e);
  };
  take(0);
  take(elements - 1);
  while (chosen.size() < std::min(most, elements)) take(random() % elements);
  return chosen;
}

}  // namespace

SampledJudge::SampledJudge(const Call& call, std::uint64_t seed)
    : call_(call), arguments_(call), seed_(seed) {
  const Reference* reference = find_reference(call.op->schema.name);
  if (reference == nullptr) throw std::logic_error(fmt::format("{} has no reference", call.op->schema.name));
  evaluation_ = reference->evaluate(arguments_.values(), call.outputs);
}

std::string SampledJudge::fault(const Contract& contract, const std::vector<std::vector<std::byte>>& results,
                                std::optional<std::size_t> most) {
  std::vector<std::vector<std::size_t>> elements;
  for (std::size_t o = 0; o < results.size(); ++o)
    elements.push_back(sample(results[o].size() / static_cast<std::size_t>(bytes(call_.outputs[o].dtype)),
                              most.value_or(kMost), seed_ + o));
  return most ? fault_of(contract, results, elements, kPatience)
              : fault_of(contract, results, elements, kCheap, kUsual);
}

std::string SampledJudge::fault_of(const Contract& contract,
                                   const std::vector<std::vector<std::byte>>& results,
                                   const std::vector<std::vector<std::size_t>>& elements,
                                   std::chrono::milliseconds patience, std::size_t least) {
  looked_at_ = 0;
  const std::chrono::nanoseconds begin = time_of_thread();
  for (std::size_t o = 0; o < results.size(); ++o) {
    const Checked::Output& output = call_.outputs[o];
    const auto size = static_cast<std::size_t>(bytes(output.dtype));
    std::size_t done = 0;
    for (const std::size_t e : elements[o]) {
      const std::chrono::nanoseconds elapsed = time_of_thread() - begin;
      if (++done > least && elapsed > patience) break;
      if (done > kLeast && elapsed > kPatience) break;
      ++looked_at_;
      const double result = load(results[o].data() + e * size, output.dtype);
      const Interval allowed =
          evaluation_->interval(static_cast<int>(o), static_cast<std::int64_t>(e), contract);
      if (allowed.undecidable() || allowed.contains(result)) continue;
      return fmt::format("{}{} is {:.9g}, but must lie from {:.9g} to {:.9g}", output_name(*call_.op, o),
                         index_text(output.shape, static_cast<std::int64_t>(e)), result, allowed.lower,
                         allowed.upper);
    }
  }
  return {};
}

}  // namespace assay
