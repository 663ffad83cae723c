#include "judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>

#include "../model/strided_copy.h"
#include "../run/float_state.h"
#include "farthest.h"
#include "reports/text.h"
#include "shown.h"
#include "unlike.h"

namespace assay {
namespace {

// Compares results, element by element, with the expectation. Says the first divergence in words, and counts the others.
class Comparison {
 public:
  Comparison(Expectation& expectation, const Contract& contract, Judgement& judgement)
      : expectation_(expectation), contract_(contract), judgement_(judgement) {}

  void compare(int output, const std::vector<std::byte>& packed) {
    const Checked::Output& shape = expectation_.call().outputs[static_cast<std::size_t>(output)];
    if (const std::vector<std::int64_t>* exact = expectation_.integers(output))
      return compare_integers(output, packed, *exact, shape);
    const std::vector<double>& values = expectation_.values(output);
    const auto size = static_cast<std::size_t>(bytes(shape.dtype));
    const auto result = [&](std::size_t e) { return load(packed.data() + e * size, in_memory(shape.dtype)); };
    // The rounded reference is always admissible: the interval is needed for the others only.
    std::vector<std::size_t> others = unlike_reference(expectation_, output, packed);
    if (others.size() > kMostIntervals) {
      keep_farthest(others, packed, values, shape.dtype, kMostIntervals);
      all_judged_ = false;
    }
    if (others.empty()) return count(values.size());
    const Expectation::Intervals& intervals = expectation_.intervals(output, others, contract_);
    for (const std::size_t e : others)
      check(intervals[e], output, static_cast<std::int64_t>(e), result(e), shape);
    count(values.size());
  }

  // The sentence, if anything diverged.
  void conclude() {
    if (diverged_ == 0) return;
    judgement_.verdict = Verdict::diverged;
    judgement_.detail = fmt::format("{}; {}{} of {} elements diverge", first_, all_judged_ ? "" : "at least ",
                                    grouped(diverged_), grouped(judgement_.elements));
  }

 private:
  // Where there is no bound: each element is right, or not.
  void compare_integers(int output, const std::vector<std::byte>& packed,
                        const std::vector<std::int64_t>& exact, const Checked::Output& shape) {
    const auto size = static_cast<std::size_t>(bytes(shape.dtype));
    for (std::size_t e = 0; e < exact.size(); ++e) {
      const std::int64_t result = load_integer(packed.data() + e * size, in_memory(shape.dtype));
      if (result != exact[e] && diverged_++ == 0)
        first_ = fmt::format("{} is {}, but must be {}", place(output, static_cast<std::int64_t>(e), shape),
                             result, exact[e]);
    }
    count(exact.size());
  }

  std::string place(int output, std::int64_t e, const Checked::Output& shape) const {
    return output_name(*expectation_.call().op, static_cast<std::size_t>(output)) +
           index_text(shape.shape, e);
  }

  void count(std::size_t elements) { judgement_.elements += elements; }

  void check(const Interval& i, int output, std::int64_t e, double result, const Checked::Output& shape) {
    if (i.undecidable()) {
      ++judgement_.undecidable;
      return;
    }
    const double ratio = i.error_over_bound(result);
    const bool inside = i.contains(result);
    if (!std::isnan(ratio)) judgement_.worst = std::max(judgement_.worst, ratio);
    if (inside) return;
    if (diverged_++ == 0)
      first_ = fmt::format("{} is {}, but must be {}", place(output, e, shape), shown(result, shape.dtype),
                           shown(i, shape.dtype)) +
               (std::isfinite(ratio) && ratio > 1 ? fmt::format(" ({:.3g} times the bound)", ratio) : "");
  }

  Expectation& expectation_;
  const Contract& contract_;
  Judgement& judgement_;
  std::uint64_t diverged_ = 0;
  bool all_judged_ = true;  // false: of some, nobody knows whether they diverge
  std::string first_;
};

void look_whether_vacuous(Expectation& expectation, const Contract& contract, Judgement& j) {
  if (!expectation.vacuous(contract)) return;
  j.verdict = Verdict::vacuous;
  j.detail = "zeros, the first input and the result shifted by one element would have passed too";
}

constexpr std::string_view kInvalid = "invalid argument: ";

Judgement judge_refusal(const Kernel& kernel, const Call& call, const Outcome& outcome) {
  Judgement j;
  const bool says_invalid = outcome.detail.starts_with(kInvalid);
  if (call.error.empty()) {
    j.verdict = says_invalid ? Verdict::wrongly_rejected : Verdict::refused;
    j.detail = outcome.detail;
    j.undeclared_refusal = !outcome.declared;
    return j;
  }
  // Ours must say which argument is wrong; a peer's message is its own affair.
  if (!kernel.peer && outcome.detail.find(call.blamed) == std::string::npos) {
    j.verdict = Verdict::wrongly_rejected;
    j.detail = fmt::format("the message does not name the argument {} that is wrong: \"{}\"", call.blamed,
                           outcome.detail);
  }
  return j;
}

}  // namespace

std::string left_text(const Outcome& outcome) {
  const std::string state = changes_text(outcome.changed_float_state);
  return fmt::format("{}{}{}", state, state.empty() || outcome.left.empty() ? "" : ", ", outcome.left);
}

Contract contract_for(const Kernel& kernel, const Call& call) {
  return parse_contract(kernel.contract, call.outputs.empty() ? Dtype::f32 : call.outputs[0].computed_in);
}

Judgement judge(const Kernel& kernel, const Contract& contract, const Call& call, Expectation* expectation,
                const Outcome& outcome) {
  // However the call ended: a kernel that refuses may do as much.
  if (!outcome.left.empty() &&
      (outcome.kind == Outcome::Kind::refused || outcome.kind == Outcome::Kind::failed))
    return {.verdict = Verdict::unstable,
            .detail = fmt::format("left {} for whoever runs next", outcome.left)};
  switch (outcome.kind) {
    case Outcome::Kind::refused:
      return judge_refusal(kernel, call, outcome);
    case Outcome::Kind::failed:
      if (expectation == nullptr) return {};
      return {.verdict = Verdict::wrongly_rejected, .detail = outcome.detail};
    case Outcome::Kind::memory:
      return {.verdict = Verdict::memory, .detail = outcome.detail, .doing = outcome.doing};
    case Outcome::Kind::crashed:
      return {.verdict = Verdict::crashed, .detail = outcome.detail, .doing = outcome.doing};
    case Outcome::Kind::timeout:
      return {.verdict = Verdict::timeout, .detail = outcome.detail, .doing = outcome.doing};
    case Outcome::Kind::not_run:
      // Kernels that this machine lacks something for say so when they are listed: these were loaded then.
      return {.verdict = outcome.by_kernels ? Verdict::crashed : Verdict::not_run,
              .detail = outcome.detail,
              .given_up = outcome.given_up};
    case Outcome::Kind::ok:
      break;
  }
  if (expectation == nullptr)
    return {.verdict = Verdict::wrongly_accepted,
            .detail = fmt::format("took arguments that are wrong: {}", call.error)};

  Judgement j;
  Comparison comparison(*expectation, contract, j);
  for (std::size_t o = 0; o < outcome.outputs.size(); ++o)
    comparison.compare(static_cast<int>(o), outcome.outputs[o]);
  const std::string difference =
      !outcome.again ? std::string()
                     : first_difference(call, outcome.outputs, "with buffers ending at a guard page",
                                        *outcome.again, "with buffers starting at one");
  if (!difference.empty() && !contract.deterministic)
    for (std::size_t o = 0; o < outcome.again->size(); ++o)
      comparison.compare(static_cast<int>(o), (*outcome.again)[o]);
  comparison.conclude();
  if (j.verdict != Verdict::pass) return j;
  if (!difference.empty() && contract.deterministic) {
    j.verdict = Verdict::unstable;
    j.detail = difference;
  } else if (outcome.changed_float_state != 0 || !outcome.left.empty()) {
    j.verdict = Verdict::unstable;
    j.detail = fmt::format("left {} for whoever runs next", left_text(outcome));
  } else {
    look_whether_vacuous(*expectation, contract, j);
  }
  return j;
}

std::string first_difference(const Call& call, const PackedResults& a, std::string_view when_a,
                             const PackedResults& b, std::string_view when_b) {
  for (std::size_t o = 0; o < a.size(); ++o) {
    if (same_bytes(a[o], b[o])) continue;
    const Dtype dtype = call.outputs[o].dtype;
    const auto size = static_cast<std::size_t>(bytes(dtype));
    for (std::size_t at = 0; at < a[o].size(); at += size) {
      if (std::memcmp(a[o].data() + at, b[o].data() + at, size) == 0) continue;
      const double x = load(a[o].data() + at, dtype);
      const double y = load(b[o].data() + at, dtype);
      if (std::isnan(x) && std::isnan(y)) continue;
      return fmt::format("{}{} is {} {} and {} {}", output_name(*call.op, o),
                         index_text(call.outputs[o].shape, static_cast<std::int64_t>(at / size)),
                         shown(x, dtype), when_a, shown(y, dtype), when_b);
    }
  }
  return {};
}

Judgement judge_outputs(const Contract& contract, Expectation& expectation, const ExpectedOutputs& outputs) {
  Judgement j;
  Comparison comparison(expectation, contract, j);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (outputs[o]) comparison.compare(static_cast<int>(o), *outputs[o]);
  comparison.conclude();
  if (j.verdict == Verdict::pass) look_whether_vacuous(expectation, contract, j);
  return j;
}

}  // namespace assay
