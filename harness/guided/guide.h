// Cases drawn towards code of one kernel that no case has run yet.
//
// It learns from each call which blocks ran and which numbers were compared with which. Where a comparison of a call that the
// kernel took came out one way, and never another, or never together with another's outcome, numbers of that call are changed so
// that it comes out so: a number that is equal to the one compared becomes the other, or the one beside it; others grow by what is
// missing, or by its share. So a constant in the code is a word for sizes, attributes and strides, and `K % 8 == 5` or `M > 3 * N`
// are reached, too. Calls that ran a new block, or had a new outcome, are the models of the next ones; now and then one of their
// neighbours is drawn.
//
//   Guide guide(op, Dtype::f32, seed);
//   for (...) guide.saw(case, ran_code, taken);
//   while (const std::optional<Case> c = guide.next()) ...
//
// next() is a pure function of the constructor's arguments and of the calls before it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../coverage/ran_code.h"
#include "places.h"

namespace assay {

class Guide {
 public:
  Guide(const Operator& op, Dtype result_dtype, std::uint64_t seed)
      : op_(op), result_dtype_(result_dtype), seed_(seed) {}

  // Whether it was the first to run a block. `taken`: not refused.
  bool saw(const Case& c, const RanCode& ran, bool taken);
  // Nothing where it has no more ideas.
  std::optional<Case> next();

 private:
  static constexpr unsigned kLess = 1, kEqual = 2, kGreater = 4;

  // A comparison of a model that is to come out otherwise, and what to try for it.
  struct Goal {
    std::size_t model = 0;
    std::size_t comparison = 0;
    unsigned wanted = 0;
    std::uint64_t tried = 0;
    bool planned = false;
    std::vector<Case> candidates{};  // the best one last
  };
  struct Model {
    Case c;
    std::vector<ComparedValues> comparisons;
    std::uint64_t neighbours = 0;  // drawn of it
    bool new_block = false;
  };
  // What calls have shown of a comparison.
  using PlaceName = std::tuple<CasePlace::Kind, std::size_t, std::size_t>;
  struct Site {
    std::uint64_t calls = 0;
    bool varies = false;  // the right number is not always the same
    bool loops = false;   // a call had several outcomes
    std::int64_t right = 0;
    std::map<PlaceName, std::uint64_t> is_left{},
        is_right{};  // calls in which the number was that one of the case
  };
  using Outcome = std::pair<std::uint64_t, unsigned>;  // of the comparison at a place

  static unsigned outcome_of(const ComparedValues& c);
  static std::uint64_t key(const Outcome& a, const Outcome& b);
  void learn(const Case& c, const std::vector<ComparedValues>& comparisons);
  void plan(Goal& goal);
  // What makes a goal the next one: the least. None where it is none of the kind.
  using Rank = std::pair<std::uint64_t, std::uint64_t>;
  std::uint64_t handicap(const Goal& goal) const;
  std::optional<Rank> as_new(const Goal& goal) const;
  std::optional<Rank> as_new_together(const Goal& goal) const;
  std::optional<Rank> as_any(const Goal& goal) const;
  Goal* choose(int kind);
  std::optional<Case> take(Goal& goal);
  std::optional<Case> neighbour();

  const Operator& op_;
  Dtype result_dtype_;
  std::uint64_t seed_;
  std::uint64_t number_ = 0;
  std::set<std::uint32_t> blocks_;
  std::map<Outcome, std::uint64_t> outcomes_;
  std::unordered_set<std::uint64_t> together_;
  std::map<Outcome, std::uint64_t> tried_;
  std::map<std::uint64_t, std::uint64_t> tried_together_;
  std::map<std::uint64_t, Site> sites_;
  std::vector<Model> models_;
  std::vector<Goal> goals_;
  std::set<std::string> known_;  // texts of cases seen or given, without their seeds
};

}  // namespace assay
