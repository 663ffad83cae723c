// Cases that one kernel takes. A kernel may refuse calls (assay/kernel.h): strides that it does not know, groups, another rank.
// What it refused is not judged, and the cases here stand in its place.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "draw.h"
#include "vocabulary/case.h"

namespace assay {

// Learns from calls that a kernel took and refused, by their classes (case_classes.h). A class that was never taken is barred when
// so many calls of it were refused that chance does not explain it, or when calls that were refused had it and little else beside
// one that was taken. The next case is drawn as generate() draws it, and what is barred in it is replaced from a case that was
// taken; or a case that was taken is changed in one thing. Cases that have a barred class left are not given.
//
//   Steering steering(op, Dtype::f32, seed, 250);
//   for (const Case& c : had) steering.saw(c, was_refused(c));
//   const Case c = steering.next();
//
// next() is a pure function of the constructor's arguments and of the calls before it.
class Steering {
 public:
  // `first`: the number from which on generate() is asked, past those of the cases that were run already.
  Steering(const Operator& op, Dtype result_dtype, std::uint64_t seed, std::uint64_t first)
      : op_(op), result_dtype_(result_dtype), seed_(seed), first_(first) {}

  void saw(const Case& c, bool refused);
  Case next();

  bool took_any() const { return !taken_.empty(); }

 private:
  struct Count {
    std::uint64_t taken = 0, refused = 0;
    double blame = 0;  // shares of refusals that nothing else explains
  };

  void blame(const Case& refused);
  bool is_barred(const std::string& name) const;
  bool has_barred(const std::vector<std::string>& names) const;
  Case plain(Draw& draw) const;
  Case made_over(Draw& draw) const;
  Case near(Draw& draw, std::vector<std::string>& model) const;
  void give_results_a_layout(Draw& draw, Case& c) const;

  const Operator& op_;
  Dtype result_dtype_;
  std::uint64_t seed_, first_;
  std::uint64_t number_ = 0;
  std::map<std::string, Count> classes_;
  std::uint64_t drawn_ = 0, drawn_and_taken_ = 0;  // of the cases before the first that next() gave
  std::vector<Case> taken_;
  std::map<std::string, std::vector<std::string>>
      models_;                   // text of a case near another -> the other's classes
  std::set<std::string> known_;  // texts of cases seen or given, without their seeds
};

}  // namespace assay
