#include "evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

// Of many elements at most so many, evenly spread.
template <class T>
std::vector<T> spread(const std::vector<T>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (std::size_t k = 0; k < most; ++k) some.push_back(all[k * all.size() / most]);
  return some;
}

// 0, 1, 2, .., and then so many of each octave.
std::vector<std::int64_t> denser_at_the_beginning(std::uint64_t size) {
  constexpr double kStep = 0x1.2p0;
  std::vector<std::int64_t> all;
  for (double at = 0; at < static_cast<double>(size); at = std::max(at + 1, std::floor(at * kStep)))
    all.push_back(static_cast<std::int64_t>(at));
  return all;
}

bool same_bits(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}

double relative_difference(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  return std::fabs(a - b) / std::max(std::fabs(b), std::numeric_limits<double>::min());
}

}  // namespace

Evidence::Evidence(const Call& call, Contract contract, ExpectedOutputs actual, Rounding rounding)
    : expectation_(call),
      contract_(std::move(contract)),
      actual_(std::move(actual)),
      rounding_(std::move(rounding)) {
  actual_.resize(call.outputs.size());
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    masks_.emplace_back(expectation_.values(static_cast<int>(o)).size());
    if (actual_[o]) judge(static_cast<int>(o));
  }
  std::vector<std::pair<int, std::int64_t>> wrong, right;
  for (std::size_t o = 0; o < masks_.size(); ++o) {
    if (!actual_[o]) continue;
    for (std::uint64_t e = 0; e < masks_[o].size(); ++e)
      (masks_[o][e] ? wrong : right).emplace_back(static_cast<int>(o), static_cast<std::int64_t>(e));
  }
  for (Element& e : sampled(spread(wrong, kMostTried)))
    if (e.diverges) tried_.push_back(std::move(e));
  tried_diverging_ = tried_.size();
  for (Element& e : sampled(spread(right, kMostTried)))
    if (!e.diverges && !e.right.undecidable()) tried_.push_back(std::move(e));
  std::vector<std::pair<int, std::int64_t>> first;
  for (std::size_t o = 0; o < masks_.size(); ++o)
    if (actual_[o])
      for (const std::int64_t at : denser_at_the_beginning(masks_[o].size()))
        first.emplace_back(static_cast<int>(o), at);
  for (Element& e : sampled(std::move(first)))
    if (!e.right.undecidable()) beginnings_.push_back(std::move(e));
}

void Evidence::look_up(int output, std::span<const std::int64_t> elements) {
  if (expectation_.integers(output) != nullptr) return;
  const std::vector<std::size_t> all(elements.begin(), elements.end());
  expectation_.intervals(output, all, contract_);
}

// In the order in which references read them fastest.
std::vector<Element> Evidence::sampled(std::vector<std::pair<int, std::int64_t>> places) {
  const auto row = [&](const std::pair<int, std::int64_t>& p) {
    return std::pair(p.first, expectation_.row(p.first, p.second));
  };
  std::ranges::stable_sort(places, {}, row);
  for (std::size_t o = 0; o < masks_.size(); ++o) {
    std::vector<std::int64_t> of_output;
    for (const auto& [output, at] : places)
      if (output == static_cast<int>(o)) of_output.push_back(at);
    look_up(static_cast<int>(o), of_output);
  }
  std::vector<Element> all;
  for (const auto& [output, at] : places) all.push_back(element(output, at));
  return all;
}

double Evidence::actual(int output, std::int64_t at) const {
  const Dtype dtype = call().outputs[static_cast<std::size_t>(output)].dtype;
  return load(packed(output).data() + at * bytes(dtype), dtype);
}

Interval Evidence::interval(int output, std::int64_t at) {
  return rounding_.widened(expectation_.interval(output, at, contract_), output, at);
}

Dtype Evidence::stored(int output) const {
  const auto o = static_cast<std::size_t>(output);
  const bool narrower = o < rounding_.stored.size() && rounding_.stored[o];
  return narrower ? *rounding_.stored[o] : call().outputs[o].dtype;
}

std::vector<std::byte> Evidence::as_stored(int output, const std::vector<std::byte>& packed) const {
  const Dtype from = call().outputs[static_cast<std::size_t>(output)].dtype, to = stored(output);
  if (from == to) return packed;
  const std::size_t n = packed.size() / static_cast<std::size_t>(bytes(from));
  std::vector<std::byte> all(n * static_cast<std::size_t>(bytes(to)));
  for (std::size_t e = 0; e < n; ++e)
    store(all.data() + e * static_cast<std::size_t>(bytes(to)), to,
          load(packed.data() + e * static_cast<std::size_t>(bytes(from)), from));
  return all;
}

Element Evidence::element(int output, std::int64_t at) {
  Element e;
  e.output = output;
  e.at = at;
  e.actual = actual(output, at);
  if (const std::vector<std::int64_t>* exact = expectation_.integers(output)) {
    const Dtype dtype = call().outputs[static_cast<std::size_t>(output)].dtype;
    const std::int64_t right = (*exact)[static_cast<std::size_t>(at)];
    e.integer = load_integer(packed(output).data() + at * bytes(dtype), dtype);
    e.right.value = e.right.lower = e.right.upper = static_cast<double>(right);
    e.diverges = e.integer != right;
  } else {
    e.right = interval(output, at);
    e.diverges = !e.right.undecidable() && !e.right.contains(e.actual);
  }
  return e;
}

void Evidence::judge(int output) {
  const std::vector<double>& values = expectation_.values(output);
  const bool exact = expectation_.integers(output) != nullptr;
  const Format& f = format(call().outputs[static_cast<std::size_t>(output)].dtype);
  diff::Mask& mask = masks_[static_cast<std::size_t>(output)];
  elements_ += values.size();
  // The rounded reference is right without an interval.
  std::vector<std::int64_t> others;
  for (std::size_t e = 0; e < values.size(); ++e) {
    const auto at = static_cast<std::int64_t>(e);
    stop_point_at(at);
    if (exact ? element(output, at).diverges : !same_bits(actual(output, at), round_to(values[e], f)))
      others.push_back(at);
  }
  judged_ += values.size() - others.size();
  std::vector<std::int64_t> looked_at = exact ? others : spread(others, kMostJudged);
  if (looked_at.size() < others.size()) {
    const auto distance = [&](std::int64_t at) {
      return relative_difference(actual(output, at), values[static_cast<std::size_t>(at)]);
    };
    const auto most = static_cast<std::ptrdiff_t>(kMostJudged / 8);
    std::vector<std::int64_t> farthest = others;
    std::nth_element(farthest.begin(), farthest.begin() + most, farthest.end(),
                     [&](std::int64_t a, std::int64_t b) { return distance(a) > distance(b); });
    looked_at.insert(looked_at.end(), farthest.begin(), farthest.begin() + most);
    std::ranges::sort(looked_at);
    looked_at.erase(std::unique(looked_at.begin(), looked_at.end()), looked_at.end());
  }
  look_up(output, looked_at);
  double widest = 0, worst = worst_ ? worst_->right.error_over_bound(worst_->actual) : -1;
  for (const std::int64_t at : looked_at) {
    const Element e = element(output, at);
    undecidable_ += e.right.undecidable() ? 1 : 0;
    if (e.right.lower <= e.right.upper && !e.right.undecidable())
      widest = std::max(widest, e.right.upper - e.right.lower);
    if (!e.diverges) continue;
    mask.set(static_cast<std::uint64_t>(at));
    ++diverging_;
    const double ratio = exact ? std::fabs(e.actual - e.right.value) : e.right.error_over_bound(e.actual);
    const double rank = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
    if (rank > worst) {
      worst = rank;
      worst_ = e;
    }
  }
  judged_ += looked_at.size();
  if (looked_at.size() == others.size()) return;
  auto next = looked_at.begin();
  for (const std::int64_t at : others) {
    if (next != looked_at.end() && *next == at) {
      ++next;
      continue;
    }
    const double value = values[static_cast<std::size_t>(at)], came = actual(output, at);
    if (std::isfinite(value) != std::isfinite(came) || std::fabs(value - came) > widest)
      mask.set(static_cast<std::uint64_t>(at));
  }
}

}  // namespace assay::diagnose
