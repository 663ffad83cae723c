#include "steering.h"

#include <algorithm>
#include <utility>

#include "case_classes.h"
#include "cases.h"
#include "check_case.h"
#include "layers.h"
#include "random.h"

namespace assay {
namespace {

constexpr double kEnoughExpected =
    3;  // e^-3: one class in twenty is barred by chance, until a near case frees it
constexpr double kEnoughBlame = 2;
constexpr int kSteeringAttempts = 64;
constexpr int kLargeInHundred =
    20;  // of large cases, which cost as much as a hundred others and were there before
constexpr int kSeedsTried = 24;
constexpr std::int64_t kLeastRandomSeed = 16;  // see output_layouts

std::string text_but_for_seed(Case c) {
  c.seed = 0;
  return text(c);
}

std::uint64_t random_seed(Draw& draw) {
  return static_cast<std::uint64_t>(draw.range(kLeastRandomSeed, (1LL << 32) - 1));
}

bool is_no_tensor(const Case& c, std::size_t i) {
  const Argument& a = c.op->schema.argument_storage[i];
  return !a.is_tensor() && !std::holds_alternative<TensorSpec>(c.arguments[i]);
}

}  // namespace

void Steering::saw(const Case& c, bool refused) {
  known_.insert(text_but_for_seed(c));
  if (number_ == 0) {
    ++drawn_;
    drawn_and_taken_ += refused ? 0 : 1;
  }
  for (const std::string& name : classes_of(c)) {
    if (is_of_data(name)) continue;
    Count& count = classes_[name];
    ++(refused ? count.refused : count.taken);
  }
  if (refused)
    blame(c);
  else
    taken_.push_back(c);
}

// What it has and the case that it was made from does not.
void Steering::blame(const Case& refused) {
  const auto model = models_.find(text(refused));
  if (model == models_.end()) return;
  std::vector<Count*> other;
  for (const std::string& name : classes_of(refused))
    if (!is_of_data(name) && !std::ranges::binary_search(model->second, name) && classes_[name].taken == 0)
      other.push_back(&classes_[name]);
  for (Count* count : other) count->blame += 1.0 / static_cast<double>(other.size());
}

// Had it been no reason, so many calls of it would have been taken.
bool Steering::is_barred(const std::string& name) const {
  const auto found = classes_.find(name);
  if (taken_.empty() || found == classes_.end() || found->second.taken > 0) return false;
  const double expected = static_cast<double>(found->second.refused) * static_cast<double>(drawn_and_taken_) /
                          static_cast<double>(std::max<std::uint64_t>(drawn_, 1));
  return expected >= kEnoughExpected || found->second.blame >= kEnoughBlame;
}

bool Steering::has_barred(const std::vector<std::string>& names) const {
  return std::ranges::any_of(names, [&](const std::string& name) { return is_barred(name); });
}

// Small seeds lay results out by turns, others at random.
void Steering::give_results_a_layout(Draw& draw, Case& c) const {
  for (int i = 0; i < kSeedsTried; ++i) {
    c.seed =
        static_cast<std::uint64_t>(draw.range(static_cast<std::int64_t>(kLeastRandomSeed), (1LL << 32) - 1));
    if (!has_barred(classes_of_results(c))) return;
  }
}

// While nothing was taken: all that can be left out or be simple is so, for every second case the attributes, too. Every fourth has
// channels last throughout, which some kernels insist on.
Case Steering::plain(Draw& draw) const {
  Case c = generate(op_, result_dtype_, seed_, first_ + number_);
  const bool channels_last = number_ % 4 == 3;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const Argument& a = op_.schema.argument_storage[i];
    if (auto* t = std::get_if<TensorSpec>(&c.arguments[i])) {
      t->layout = {};
      if (channels_last && (t->shape.size() == 4 || t->shape.size() == 5))
        t->layout.kind = Layout::Kind::channels_last;
      if (is_float(t->dtype) && is_float(result_dtype_)) t->dtype = result_dtype_;
    } else if (a.has_default && (number_ % 2 == 0 || a.type == Type::dtype)) {
      c.arguments[i] = default_value(a);
    }
  }
  c = settled(std::move(c));
  const std::string_view wanted = channels_last ? "channels_last" : "contiguous";
  for (int i = 0; i < kSeedsTried; ++i) {
    c.seed = random_seed(draw);
    if (std::ranges::all_of(classes_of_results(c), [&](const std::string& s) { return s.ends_with(wanted); }))
      break;
  }
  return c;
}

Case Steering::made_over(Draw& draw) const {
  Case c = generate(op_, result_dtype_, seed_, first_ + number_);
  const Case& model = draw.pick(taken_);
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (!has_barred(classes_of_argument(c, i))) continue;
    const auto* as = std::get_if<TensorSpec>(&model.arguments[i]);
    if (auto* t = std::get_if<TensorSpec>(&c.arguments[i]); t != nullptr && as != nullptr) {
      t->dtype = as->dtype;
      t->layout = as->shape.size() == t->shape.size() && as->layout.kind != Layout::Kind::strides ? as->layout
                                                                                                  : Layout{};
    } else if (is_no_tensor(c, i)) {
      c.arguments[i] = model.arguments[i];
    } else if (t != nullptr) {
      c.arguments[i] = None{};
    }
  }
  if (is_barred("dtypes that differ"))
    for (std::size_t i = 0; i < c.arguments.size(); ++i)
      if (auto* t = std::get_if<TensorSpec>(&c.arguments[i]))
        if (const auto* as = std::get_if<TensorSpec>(&model.arguments[i])) t->dtype = as->dtype;
  return settled(std::move(c));
}

Case Steering::near(Draw& draw, std::vector<std::string>& model) const {
  const Case* from = &draw.pick(taken_);
  for (int i = 0; i < 4 && !is_small(*from); ++i) from = &draw.pick(taken_);
  model = classes_of(*from);
  Case c = neighbour_of(draw, *from, result_dtype_).value_or(*from);
  if (draw.chance(30)) c = neighbour_of(draw, c, result_dtype_).value_or(c);
  c.data = generate(op_, result_dtype_, seed_, first_ + number_).data;
  return c;
}

Case Steering::next() {
  for (int attempt = 0;; ++attempt) {
    ++number_;
    Draw draw(mix(mix(seed_, hash("steering")), number_));
    std::vector<std::string> model;
    Case c = taken_.empty() ? plain(draw) : number_ % 2 == 0 ? made_over(draw) : near(draw, model);
    if (attempt >= kSteeringAttempts) return c;
    if (!check_case(c).ok() || (!is_small(c) && !draw.chance(kLargeInHundred))) continue;
    if (!taken_.empty()) give_results_a_layout(draw, c);
    if (has_barred(classes_of(c)) || !known_.insert(text_but_for_seed(c)).second) continue;
    if (!model.empty()) models_.emplace(text(c), std::move(model));
    return c;
  }
}

}  // namespace assay
