#include "strictest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/graph.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kAttacked = 6;  // elements of each output that other kernels compute, too
constexpr std::uint64_t kSeeds = 3;
constexpr double kTellsLittle = 100;  // a bound that is wider than what kernels err by this factor
constexpr double kStandsOut = 8;      // results that err so many times as much as they
constexpr double kOutside = 1;        // of error_over_bound

struct Choice {
  std::string_view clause, loose, strict;
  std::string_view says;
  std::string_view otherwise = "without it";
};

// Those that make bounds widest come first: they are taken away if any can be.
constexpr std::array kChoices{
    Choice{"moments=updating", "moments=updating ", "", "updates or merges the mean and the squares"},
    Choice{"affine=folded", "affine=folded ", "",
           "multiplies by one scale and adds one shift, for (x - mean) * scale"},
    Choice{"chain=any", "chain=any ", "chain=partial(16) ", "adds one term after the other",
           "in 16 partial sums, as vectors have them,"},
    Choice{"functions=4ulp", "functions ", "", "takes functions within 4 ulp"},
    Choice{"erf=7e-7abs", "erf ", "", "takes erf by Abramowitz and Stegun's 7.1.26, as oneDNN does,"},
    Choice{"div=2 sqrt=2", "div=2 sqrt=2 ", "", "divides and takes roots with an error of 2 roundings more"},
    Choice{"signed_zero=ignore", "signed_zero=ignore ", "", "gives zeros of either sign"}};
using Allowed = std::array<bool, kChoices.size()>;

// Of expm1 as libraries make it: exp(x) - 1 with an exp that is within 4 ulp, which is below 1 where it matters.
constexpr std::string_view kExpm1 =
    "f32: expm1=4ulp+2.4e-7abs -- exp(x) - 1\nf64: expm1=4ulp+4.5e-16abs -- exp(x) - 1\n"
    "f16,bf16: expm1=4ulp -- what common libraries do\n";
// Of erf in gelu: PyTorch's native/Activation.cpp calls oneDNN, whose polynomial is absolutely small alone.
constexpr std::string_view kErfOfGelu = "f32: erf=7e-7abs -- Abramowitz and Stegun, 7.1.26\n";

bool computes_gelu(const Operator& op) {
  return op.schema.name == "gelu" || (op.graph != nullptr && op.graph->text.find("gelu(") != std::string::npos);
}

// A clause a line.
std::string contract_of(const Allowed& allowed, const Operator& op) {
  std::string fields, lines;
  for (std::size_t k = 0; k < kChoices.size(); ++k) {
    const std::string_view part = allowed[k] ? kChoices[k].loose : kChoices[k].strict;
    if (part == "functions ") {
      for (const std::string_view f : kFunctionNames)
        if (f != "expm1" && f != "erf") fields += fmt::format("{}=4ulp ", f);
      lines += kExpm1;
      if (!computes_gelu(op)) fields += "erf=4ulp ";
    } else if (part == "erf ") {
      if (computes_gelu(op)) lines += kErfOfGelu;
    } else {
      fields += part;
    }
  }
  return fields + "-- what common libraries do\n" + lines;
}

struct Place {
  int output;
  std::int64_t at;
};

// The elements that are farthest from the reference, by their difference and by their ratio, and some that are spread.
std::vector<Place> places(Evidence& evidence, std::size_t looked_at) {
  std::vector<Place> all;
  for (int o = 0; o < static_cast<int>(evidence.call().outputs.size()); ++o) {
    if (!evidence.has(o) || evidence.expectation().integers(o) != nullptr) continue;
    const std::vector<double>& values = evidence.expectation().values(o);
    std::vector<double> distance(values.size()), ratio(values.size());
    for (std::size_t e = 0; e < values.size(); ++e) {
      const double came = evidence.actual(o, static_cast<std::int64_t>(e));
      const double d = std::isfinite(values[e]) && std::isfinite(came) ? std::fabs(came - values[e]) : 0;
      distance[e] = d;
      ratio[e] = d / std::max(std::fabs(values[e]), std::numeric_limits<double>::min());
    }
    std::vector<std::size_t> chosen;
    const std::size_t most = std::min(values.size(), looked_at);
    for (const std::vector<double>* by : {&distance, &ratio}) {
      std::vector<std::size_t> order(values.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(most), std::greater<>(),
                                [by](std::size_t e) { return (*by)[e]; });
      chosen.insert(chosen.end(), order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most));
    }
    for (std::size_t k = 0; k < most; ++k) chosen.push_back(k * values.size() / most);
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const std::size_t e : chosen) all.push_back({o, static_cast<std::int64_t>(e)});
  }
  return all;
}

class Tightening {
 public:
  Tightening(Evidence& evidence, std::size_t looked_at)
      : evidence_(evidence),
        dtype_(evidence.call().outputs[0].computed_in),
        places_(places(evidence, looked_at)) {}

  std::optional<Strictest> find() {
    if (places_.empty()) return std::nullopt;
    // Mostly nothing is needed.
    Allowed allowed{};
    if (farthest(allowed) > kOutside) {
      allowed.fill(true);
      for (bool& each : allowed) {
        each = false;
        if (farthest(allowed) > kOutside) each = true;
      }
    }
    Strictest s;
    s.looked_at = places_.size();
    s.used = farthest(allowed);
    for (std::size_t k = 0; k < kChoices.size(); ++k) {
      if (!allowed[k]) continue;
      Allowed without = allowed;
      without[k] = false;
      s.needs.push_back({std::string(kChoices[k].clause), std::string(kChoices[k].says),
                         std::string(kChoices[k].otherwise), farthest(without)});
    }
    s.contract = text(parse_contract(contract_of(allowed, *evidence_.call().op), dtype_));
    s.typical = typical(allowed);
    return s;
  }

 private:
  Interval interval(const Place& p, const Contract& contract) {
    return evidence_.rounding().widened(evidence_.expectation().interval(p.output, p.at, contract), p.output,
                                        p.at);
  }

  // How much of its bound the result uses that uses most of it.
  double farthest(const Allowed& allowed) {
    const Contract contract = parse_contract(contract_of(allowed, *evidence_.call().op), dtype_);
    for (int o = 0; o < static_cast<int>(evidence_.call().outputs.size()); ++o) {
      std::vector<std::size_t> of_output;
      for (const Place& p : places_)
        if (p.output == o) of_output.push_back(static_cast<std::size_t>(p.at));
      if (!of_output.empty()) evidence_.expectation().intervals(o, of_output, contract);
    }
    double most = 0;
    for (const Place& p : places_) {
      const Interval i = interval(p, contract);
      if (!i.undecidable()) most = std::max(most, i.error_over_bound(evidence_.actual(p.output, p.at)));
    }
    return most;
  }

  // The same of what other kernels of this kind give: with all that common libraries do, and with no more than is needed.
  double typical(const Allowed& allowed) {
    const Contract bound = parse_contract(contract_of(allowed, *evidence_.call().op), dtype_);
    Allowed everything;
    everything.fill(true);
    const Arguments arguments(evidence_.call());
    const auto evaluation = find_reference(evidence_.call().op->schema.name)
                                ->evaluate(arguments.values(), evidence_.call().outputs);
    double most = 0;
    for (const Place& p : attacked(bound)) {
      const Interval i = interval(p, bound);
      if (i.undecidable()) continue;
      for (const Allowed& how : {allowed, everything}) {
        const Contract contract = parse_contract(contract_of(how, *evidence_.call().op), dtype_);
        for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
          for (const bool shuffle : {false, true}) {
            const Attack attack{.rounding = Attack::Rounding::nearest,
                                .shuffle = shuffle,
                                .fuse = seed % 2 == 1,
                                .seed = seed};
            const double ratio = i.error_over_bound(round_to(
                evaluation->attacked(p.output, p.at, contract, attack), format(evidence_.stored(p.output))));
            if (std::isfinite(ratio)) most = std::max(most, ratio);
          }
      }
    }
    return most;
  }

  // A few of each output, spread, and those whose results use most of their bound.
  std::vector<Place> attacked(const Contract& bound) {
    std::vector<Place> all;
    for (int o = 0; o < static_cast<int>(evidence_.call().outputs.size()); ++o) {
      std::vector<std::pair<double, Place>> of_output;
      for (const Place& p : places_) {
        if (p.output != o) continue;
        const Interval i = interval(p, bound);
        const double used = i.undecidable() ? 0 : i.error_over_bound(evidence_.actual(p.output, p.at));
        of_output.emplace_back(std::isfinite(used) ? used : 0, p);
      }
      const std::size_t n = std::min(of_output.size(), kAttacked);
      for (std::size_t k = 0; k < n; ++k) all.push_back(of_output[k * of_output.size() / n].second);
      std::ranges::partial_sort(of_output, of_output.begin() + static_cast<std::ptrdiff_t>(n),
                                std::greater<>(), &std::pair<double, Place>::first);
      for (std::size_t k = 0; k < n; ++k) all.push_back(of_output[k].second);
    }
    return all;
  }

  Evidence& evidence_;
  Dtype dtype_;
  std::vector<Place> places_;
};

}  // namespace

bool Strictest::decided() const {
  return is_narrow() || used <= kStandsOut * typical;
}
bool Strictest::is_narrow() const { return typical == 0 || typical * kTellsLittle >= 1; }

// Where inputs are known within a rounding only, what follows from that is in the bound, and in no kernel's errors.
std::optional<Strictest> strictest(Evidence& evidence, std::size_t looked_at) {
  if (!evidence.rounding().moved.empty()) return std::nullopt;
  return Tightening(evidence, looked_at).find();
}

std::string strangers_contract(const Operator& op) {
  Allowed everything;
  everything.fill(true);
  return contract_of(everything, op);
}

Contract contract_or_strangers(const std::string& contract, const Call& call) {
  std::string clauses = contract;
  if (contract.empty() || contract.starts_with('+')) {
    clauses = strangers_contract(*call.op);
    if (!contract.empty()) clauses = overridden(clauses, contract.substr(1) + " -- what inference engines do");
  }
  return parse_contract(clauses, call.outputs[0].computed_in);
}

}  // namespace assay::diagnose
