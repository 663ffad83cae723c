#include "sampled.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <stdexcept>

#include "../judge/judge.h"

namespace assay {
namespace {

constexpr std::size_t kLeast = 8;
constexpr std::chrono::milliseconds kPatience{500};

// First and last, then at random, each once: always the same ones, so that a finding comes back.
std::vector<std::size_t> sample(std::size_t elements, std::size_t most) {
  std::vector<std::size_t> chosen;
  if (elements <= most) {
    for (std::size_t e = 0; e < elements; ++e) chosen.push_back(e);
    return chosen;
  }
  chosen = {0, elements - 1};
  std::mt19937_64 random(elements);
  while (chosen.size() < most) {
    const std::size_t e = random() % elements;
    if (std::ranges::find(chosen, e) == chosen.end()) chosen.push_back(e);
  }
  return chosen;
}

}  // namespace

SampledJudge::SampledJudge(const Call& call) : call_(call), arguments_(call) {
  const Reference* reference = find_reference(call.op->schema.name);
  if (reference == nullptr) throw std::logic_error(fmt::format("{} has no reference", call.op->schema.name));
  evaluation_ = reference->evaluate(arguments_.values(), call.outputs);
}

std::string SampledJudge::fault(const Contract& contract, const std::vector<std::vector<std::byte>>& results,
                                std::size_t most) {
  looked_at_ = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t o = 0; o < results.size(); ++o) {
    const Checked::Output& output = call_.outputs[o];
    const auto size = static_cast<std::size_t>(bytes(output.dtype));
    std::size_t done = 0;
    for (const std::size_t e : sample(results[o].size() / size, most)) {
      if (++done > kLeast && std::chrono::steady_clock::now() - begin > kPatience) break;
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
