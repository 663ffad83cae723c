#include "whole.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vocabulary/stop.h"

namespace assay::diagnose {
namespace {

constexpr std::size_t kMostRead = 4096;  // intervals of one output

bool is_same_number(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}

// An element that may not be as the cause says, and how far it is from that.
struct Doubt {
  std::int64_t at;
  double distance, ratio;
};

double distance_of(double came, double said) {
  if (std::isfinite(came) && std::isfinite(said)) return std::fabs(came - said);
  return std::numeric_limits<double>::infinity();
}

// Those that are farthest by difference and by ratio, and as many as both that are spread; in order.
std::vector<std::int64_t> chosen(std::vector<Doubt> doubts) {
  std::vector<std::int64_t> places;
  if (doubts.size() <= kMostRead) {
    for (const Doubt& d : doubts) places.push_back(d.at);
    return places;
  }
  for (std::size_t k = 0; k < kMostRead / 2; ++k)
    places.push_back(doubts[k * doubts.size() / (kMostRead / 2)].at);
  for (double Doubt::*by : {&Doubt::distance, &Doubt::ratio}) {
    const auto most = doubts.begin() + static_cast<std::ptrdiff_t>(kMostRead / 4);
    std::nth_element(doubts.begin(), most, doubts.end(),
                     [by](const Doubt& a, const Doubt& b) { return a.*by > b.*by; });
    for (auto d = doubts.begin(); d != most; ++d) places.push_back(d->at);
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

class OfOutput {
 public:
  OfOutput(Evidence& evidence, Prediction& p, int output, Whole& whole)
      : evidence_(evidence), p_(p), output_(output), whole_(whole) {}

  void compare() {
    if (p_.in_integers(output_))
      integers();
    else
      numbers();
  }

 private:
  void count(bool diverges) { ++(diverges ? whole_.unexplained : whole_.broken); }

  void integers() {
    const diff::Mask& mask = evidence_.mask(output_);
    for (std::uint64_t e = 0; e < mask.size(); ++e) {
      const auto at = static_cast<std::int64_t>(e);
      stop_point_at(at);
      if (!p_.admits(evidence_.element(output_, at))) count(mask[e]);
    }
  }

  void numbers() {
    const diff::Mask& mask = evidence_.mask(output_);
    const std::vector<double>& right = evidence_.expectation().values(output_);
    const std::vector<double> said = p_.values(output_, &right);
    const Format& f = format(evidence_.stored(output_));
    std::vector<Doubt> doubts;
    for (std::uint64_t e = 0; e < mask.size(); ++e) {
      const auto at = static_cast<std::int64_t>(e);
      stop_point_at(at);
      const double came = evidence_.actual(output_, at), as_said = round_to(said[e], f);
      if (is_same_number(came, as_said)) continue;
      if (!mask[e] && is_same_number(as_said, round_to(right[e], f))) continue;
      const double distance = distance_of(came, as_said);
      doubts.push_back({at, distance, distance / std::max(std::fabs(as_said), f.min_normal)});
    }
    const std::size_t all = doubts.size();
    const std::vector<std::int64_t> places = chosen(std::move(doubts));
    whole_.read += places.size();
    whole_.unread += all - places.size();
    evidence_.look_up(output_, places);
    for (const std::int64_t at : places) {
      stop_now();
      const Element e = evidence_.element(output_, at);
      if (e.right.undecidable() || p_.admits(e)) continue;
      count(e.diverges);
    }
  }

  Evidence& evidence_;
  Prediction& p_;
  int output_;
  Whole& whole_;
};

}  // namespace

Whole on_the_whole(std::span<Evidence* const> calls, Predictions& cause) {
  Whole whole;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    Evidence& evidence = *calls[c];
    whole.elements += evidence.elements();
    Prediction* p = cause.of_call(c);
    if (p == nullptr) {
      whole.unexplained += evidence.diverging();
      continue;
    }
    for (int o = 0; o < static_cast<int>(evidence.call().outputs.size()); ++o)
      if (evidence.has(o)) OfOutput(evidence, *p, o, whole).compare();
  }
  return whole;
}

}  // namespace assay::diagnose
