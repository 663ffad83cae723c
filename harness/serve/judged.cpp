#include "judged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "../judge/shown.h"
#include "../judge/unlike.h"
#include "../model/results.h"
#include "vocabulary/stop.h"

namespace assay::serve {
namespace {

using Clock = std::chrono::steady_clock;

// What is no number on one side alone is farther than any number.
double absolute_difference(double a, double b) {
  const double d = std::fabs(a - b);
  return std::isnan(d) ? HUGE_VAL : d;
}
double relative_difference(double a, double b) {
  return absolute_difference(a, b) / std::max(std::fabs(b), std::numeric_limits<double>::min());
}

// The first `most` in descending order of their distance, of equal ones the first.
void keep_largest(std::vector<std::pair<double, std::size_t>>& all, std::size_t most) {
  const auto farther = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  if (all.size() > most) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most), all.end(), farther);
    all.resize(most);
  }
  std::ranges::sort(all, farther);
}

class OutputJudge {
 public:
  OutputJudge(Expectation& expectation, const Contract& contract, std::size_t output,
              const std::vector<std::byte>& packed, std::size_t listed)
      : expectation_(expectation),
        contract_(contract),
        number_(static_cast<int>(output)),
        shape_(expectation.call().outputs[output]),
        size_(static_cast<std::size_t>(bytes(shape_.dtype))),
        packed_(packed),
        listed_(listed) {
    judged_.output = output;
    judged_.elements = static_cast<std::uint64_t>(numel(shape_.shape));
  }

  JudgedOutput judge(const Sampling& sampling) {
    if (const std::vector<std::int64_t>* exact = expectation_.integers(number_)) {
      integers(*exact);
    } else {
      const std::vector<std::size_t> others = unlike_reference(expectation_, number_, packed_);
      judged_.as_reference = judged_.elements - others.size();
      by_intervals(others, sampling);
      judged_.not_looked_at = others.size() - judged_.by_interval;
    }
    if (judged_.first.size() > listed_) judged_.first.resize(listed_);
    return std::move(judged_);
  }

 private:
  double actual(std::size_t e) const { return load(packed_.data() + e * size_, shape_.dtype); }

  std::string place(std::int64_t at) const {
    return output_name(*expectation_.call().op, judged_.output) + index_text(shape_.shape, at);
  }

  // Those that are to be looked at, the most important ones first.
  std::vector<std::size_t> in_order(const std::vector<std::size_t>& others, const Sampling& sampling) {
    const std::uint64_t most = sampling.most.value_or(kMostUnasked);
    if (sampling.most && others.size() <= most) return others;
    const std::vector<double>& values = expectation_.values(number_);
    std::vector<std::pair<double, std::size_t>> far;
    far.reserve(others.size());
    for (const std::size_t e : others) far.emplace_back(relative_difference(actual(e), values[e]), e);
    std::vector<std::size_t> order;
    if (others.size() > most) {
      std::vector<std::pair<double, std::size_t>> wide;
      wide.reserve(others.size());
      for (const std::size_t e : others) wide.emplace_back(absolute_difference(actual(e), values[e]), e);
      keep_largest(wide, std::max<std::size_t>(1, most / 8));
      // Found again, so that none is looked at twice.
      std::vector<std::size_t> widest;
      for (const auto& w : wide) widest.push_back(w.second);
      std::ranges::sort(widest);
      std::erase_if(far, [&](const auto& f) { return std::ranges::binary_search(widest, f.second); });
      keep_largest(far, most - widest.size());
      // The first chunk has some of both.
      std::size_t of_wide = 0;
      for (std::size_t i = 0; i < far.size() || of_wide < wide.size(); ++i) {
        if (i < far.size()) order.push_back(far[i].second);
        if (of_wide < wide.size() && (i % 7 == 6 || i >= far.size())) order.push_back(wide[of_wide++].second);
      }
      return order;
    }
    keep_largest(far, far.size());
    for (const auto& f : far) order.push_back(f.second);
    return order;
  }

  void by_intervals(const std::vector<std::size_t>& others, const Sampling& sampling) {
    const std::vector<std::size_t> order = in_order(others, sampling);
    const Clock::time_point first = Clock::now();
    std::size_t chunk = sampling.most ? order.size() : kFewest;
    for (std::size_t begin = 0; begin < order.size(); chunk *= 2) {
      // The next chunk has about as many elements as all before it, and takes as long.
      if (begin > 0 && !sampling.most && 2 * (Clock::now() - first) > sampling.time) break;
      std::vector<std::size_t> now(
          order.begin() + static_cast<std::ptrdiff_t>(begin),
          order.begin() + static_cast<std::ptrdiff_t>(std::min(begin + chunk, order.size())));
      begin += now.size();
      std::ranges::sort(now);  // elements of a row share work
      const Expectation::Intervals& intervals = expectation_.intervals(number_, now, contract_);
      for (const std::size_t e : now) element(e, intervals[e]);
    }
    std::ranges::sort(judged_.first, {}, &JudgedElement::at);
  }

  void element(std::size_t e, const Interval& right) {
    ++judged_.by_interval;
    if (right.undecidable()) {
      ++judged_.undecidable;
      return;
    }
    const double came = actual(e), ratio = right.error_over_bound(came);
    const bool inside = right.contains(came);
    if (std::isfinite(ratio)) judged_.worst = std::max(judged_.worst, ratio);
    if (inside) return;
    JudgedElement found{.at = static_cast<std::int64_t>(e), .actual = came, .right = right, .ratio = ratio};
    mismatch(std::move(found), came, right.value, [&](JudgedElement& m) {
      m.text = fmt::format(
          "{} is {}, but must be {}{}", place(m.at), shown(came, shape_.dtype), shown(right, shape_.dtype),
          std::isfinite(ratio) && ratio > 1 ? fmt::format(" ({:.3g} times the bound)", ratio) : "");
    });
  }

  void integers(const std::vector<std::int64_t>& exact) {
    for (std::size_t e = 0; e < exact.size(); ++e) {
      stop_point_at(static_cast<std::int64_t>(e));
      const std::int64_t came = load_integer(packed_.data() + e * size_, shape_.dtype);
      if (came == exact[e]) {
        ++judged_.as_reference;
        continue;
      }
      ++judged_.by_interval;
      const auto right = static_cast<double>(exact[e]);
      JudgedElement found{.at = static_cast<std::int64_t>(e),
                          .actual = static_cast<double>(came),
                          .right = {.value = right, .lower = right, .upper = right},
                          .integer = came,
                          .right_integer = exact[e],
                          .ratio = HUGE_VAL};
      mismatch(std::move(found), static_cast<double>(came), right, [&](JudgedElement& m) {
        m.text = fmt::format("{} is {}, but must be {}", place(m.at), came, exact[e]);
      });
    }
  }

  // The text is made of those alone that are kept.
  template <class Say>
  void mismatch(JudgedElement found, double came, double right, const Say& say) {
    ++judged_.mismatched;
    const double absolute = absolute_difference(came, right);
    if (std::isfinite(absolute)) {
      judged_.most_absolute = std::max(judged_.most_absolute, absolute);
      if (right != 0) judged_.most_relative = std::max(judged_.most_relative, absolute / std::fabs(right));
    }
    const double rank = std::isnan(found.ratio) ? HUGE_VAL : found.ratio;
    // Where nothing but the reference is right, every ratio is infinite.
    const std::pair<double, double> farness{rank, absolute};
    const bool farthest = farness > farthest_;
    // Elements come in ascending order within a chunk: of each chunk, the first ones are among its first.
    const bool early =
        judged_.first.size() < listed_ ||
        (listed_ > 0 && found.at < std::ranges::max_element(judged_.first, {}, &JudgedElement::at)->at);
    if (!farthest && !early) return;
    say(found);
    if (farthest) {
      farthest_ = farness;
      judged_.farthest = found;
    }
    if (!early) return;
    if (judged_.first.size() == listed_)
      judged_.first.erase(std::ranges::max_element(judged_.first, {}, &JudgedElement::at));
    judged_.first.push_back(std::move(found));
  }

  Expectation& expectation_;
  const Contract& contract_;
  int number_;
  const Checked::Output& shape_;
  std::size_t size_;
  const std::vector<std::byte>& packed_;
  std::size_t listed_;
  std::pair<double, double> farthest_{-1, 0};  // error over bound, and difference
  JudgedOutput judged_;
};

}  // namespace

std::uint64_t Judged::elements() const {
  return std::accumulate(outputs.begin(), outputs.end(), std::uint64_t{0},
                         [](std::uint64_t n, const JudgedOutput& o) { return n + o.elements; });
}
std::uint64_t Judged::mismatched() const {
  return std::accumulate(outputs.begin(), outputs.end(), std::uint64_t{0},
                         [](std::uint64_t n, const JudgedOutput& o) { return n + o.mismatched; });
}

Judged judge_results(Expectation& expectation, const Contract& contract, const ExpectedOutputs& results,
                     const Sampling& sampling, std::size_t listed) {
  Judged all;
  for (std::size_t o = 0; o < results.size(); ++o)
    if (results[o])
      all.outputs.push_back(OutputJudge(expectation, contract, o, *results[o], listed).judge(sampling));
  if (all.mismatched() > 0)
    all.verdict = Verdict::diverged;
  else if (expectation.vacuous(contract))
    all.verdict = Verdict::vacuous;
  return all;
}

}  // namespace assay::serve
