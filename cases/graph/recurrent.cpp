#include "recurrent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <mutex>

#include "enrol_graph.h"
#include "graph.h"

namespace assay {
namespace {

constexpr std::string_view kReverse = "_reverse";

// The body of the graph. What a step begins with is what the engine gave for the step before it: its results are read as `states`.
class Body {
 public:
  Body(const RecurrentLayer& layer, const RecurrentMistake& mistake) : layer_(layer), mistake_(mistake) {
    time_ = layer.batch_first != mistake.batch_is_time ? 1 : 0;
    steps_ = mistake.batch_is_time ? layer.batch : layer.steps;
  }

  std::string text() && {
    const Direction forward = direction("", 0, mistake_.forward_backwards);
    std::string out = forward.all, hidden = forward.hidden, cell = forward.cell;
    if (layer_.both_directions) {
      const Direction back = direction(kReverse, 1, !mistake_.reverse_forwards);
      out = fmt::format("cat([{}, {}], 2)", forward.all, back.all);
      hidden += ", " + back.hidden;
      cell += ", " + back.cell;
    }
    // States of as many rows as there are steps are no result: those that it began with stand for them.
    const auto last = [&](const std::string& states, std::string_view instead) {
      return begins_anew() ? std::string(instead) : fmt::format("stack([{}], 0)", states);
    };
    body_ += fmt::format("  return {}, {}", out, last(hidden, "h_0"));
    if (layer_.cell == Cell::lstm) body_ += fmt::format(", {}", last(cell, "c_0"));
    return std::move(body_) + "\n";
  }

 private:
  struct Direction {
    std::string all;           // results of the steps
    std::string hidden, cell;  // of the last one
  };

  // Whether the initial state has another shape than the mistake needs.
  bool begins_anew() const { return mistake_.batch_is_time && layer_.steps != layer_.batch; }

  void say(const std::string& name, const std::string& expression) { body_ += fmt::format("  {} = {}\n", name, expression); }

  std::string product(std::string_view x, std::string_view weight, std::string_view bias, std::string_view suffix) const {
    const std::string biased = layer_.has_biases ? fmt::format(", {}{}", bias, suffix) : "";
    return fmt::format("linear({}, {}{}{})", x, weight, suffix, biased);
  }

  std::string sigmoid(const std::string& x) const {
    return mistake_.hard_sigmoid ? fmt::format("clamp({} * 0.2 + 0.5, 0.0, 1.0)", x) : fmt::format("sigmoid({})", x);
  }

  // Of one step, with the dimension of the steps.
  std::string initial(std::string_view states, int number, std::int64_t size, const std::string& sums) const {
    return begins_anew() ? fmt::format("slice(slice({}, 2, 0, {}), {}, 0, 1) * 0.0", sums, size, time_)
                         : fmt::format("unsqueeze(select({}, 0, {}), {})", states, number, time_);
  }

  // Names of the steps of a tensor, each with the dimension of the steps.
  std::vector<std::string> steps_of(const std::string& tensor) {
    std::vector<std::string> names;
    for (std::int64_t t = 0; t < steps_; ++t) names.push_back(fmt::format("{}_{}", tensor, t));
    say(fmt::format("{}", fmt::join(names, ", ")), fmt::format("split({}, 1, {})", tensor, time_));
    return names;
  }

  // In the order in which the steps are made, or back from there.
  std::string turned(const std::string& tensor, bool backwards) {
    if (!backwards || steps_ == 1) return tensor;
    std::vector<std::string> names = steps_of(tensor);
    std::ranges::reverse(names);
    say(tensor + "_turned", fmt::format("cat([{}], {})", fmt::join(names, ", "), time_));
    return tensor + "_turned";
  }

  Direction direction(std::string_view suffix, int number, bool backwards) {
    const std::string d = number == 0 ? "" : "reverse_";
    const bool as_made = mistake_.as_made && (number == 1 || !layer_.both_directions);
    const std::int64_t size = layer_.given_back();
    // All that follows is in the order in which the steps are made.
    say(d + "x", product("input", "weight_ih", "bias_ih", suffix));
    const std::string x = turned(d + "x", backwards);
    say(d + "given", fmt::format("slice(states, 2, {}, {})", number * size, (number + 1) * size));
    const std::string given = turned(d + "given", backwards && !as_made);
    say(d + "h_before", initial("h_0", number, size, given));
    std::string before = d + "before";
    if (steps_ == 1)
      before = d + "h_before";
    else if (mistake_.forgets)
      say(before, fmt::format("expand({}h_before, [{}])", d, layer_.batch_first ? fmt::format("{},{},{}", layer_.batch, steps_, size)
                                                                             : fmt::format("{},{},{}", steps_, layer_.batch, size)));
    else
      say(before, fmt::format("cat([{}h_before, slice({}, {}, 0, {})], {})", d, given, time_, steps_ - 1, time_));
    Direction made = layer_.cell == Cell::lstm  ? of_lstm(d, suffix, number, x, before)
                     : layer_.cell == Cell::gru ? of_gru(d, suffix, x, before)
                                                : of_rnn(d, suffix, x, before);
    made.hidden = fmt::format("select({}, {}, {})", made.all, time_, steps_ - 1);
    made.all = turned(made.all, backwards && !as_made);
    return made;
  }

  Direction of_rnn(const std::string& d, std::string_view suffix, const std::string& x, const std::string& before) {
    say(d + "h", fmt::format("{}({} + {})", layer_.cell == Cell::rnn_relu ? "relu" : "tanh", x, product(before, "weight_hh", "bias_hh", suffix)));
    return {.all = d + "h", .hidden = {}, .cell = {}};
  }

  Direction of_lstm(const std::string& d, std::string_view suffix, int number, const std::string& x, const std::string& before) {
    say(d + "sums", fmt::format("{} + {}", x, product(before, "weight_hh", "bias_hh", suffix)));
    body_ += fmt::format("  {0}i, {0}f, {0}g, {0}o = chunk({0}sums, 4, 2)\n", d);
    say(d + "input_gate", sigmoid(d + "i"));
    say(d + "forget_gate", mistake_.couples ? fmt::format("1.0 - {}input_gate", d) : sigmoid(d + "f"));
    say(d + "added", fmt::format("{0}input_gate * tanh({0}g)", d));
    std::string cell = d + "c_before";
    say(cell, initial("c_0", number, layer_.hidden, d + "added"));
    const std::string first = cell;
    const std::vector<std::string> kept = steps_of(d + "forget_gate"), added = steps_of(d + "added");
    std::vector<std::string> cells;
    for (std::size_t k = 0; k < kept.size(); ++k) {
      say(fmt::format("{}cell_{}", d, k), fmt::format("{} * {} + {}", kept[k], mistake_.forgets ? first : cell, added[k]));
      cells.push_back(cell = fmt::format("{}cell_{}", d, k));
    }
    say(d + "cells", fmt::format("cat([{}], {})", fmt::join(cells, ", "), time_));
    const std::string h = fmt::format("{} * {}", sigmoid(d + "o"), mistake_.without_tanh ? d + "cells" : fmt::format("tanh({}cells)", d));
    say(d + "h", layer_.projected > 0 ? fmt::format("linear({}, weight_hr{})", h, suffix) : h);
    return {.all = d + "h", .hidden = {}, .cell = fmt::format("select({}, {}, 0)", cell, time_)};
  }

  // As a sum of three numbers, which may be added in any order: kernels compute (h - n) * z + n, or (1 - z) * n + z * h.
  Direction of_gru(const std::string& d, std::string_view suffix, const std::string& x, const std::string& before) {
    const std::int64_t n = layer_.hidden;
    say(d + "sums", product(before, "weight_hh", "bias_hh", suffix));
    body_ += fmt::format("  {0}xr, {0}xz, {0}xn = chunk({1}, 3, 2)\n  {0}hr, {0}hz, {0}hn = chunk({0}sums, 3, 2)\n", d, x);
    say(d + "r", sigmoid(fmt::format("{0}xr + {0}hr", d)));
    say(d + "z", sigmoid(fmt::format("{0}xz + {0}hz", d)));
    const std::string weight = fmt::format("slice(weight_hh{}, 0, {}, {})", suffix, 2 * n, 3 * n),
                      bias = fmt::format("slice(bias_hh{}, 0, {}, {})", suffix, 2 * n, 3 * n);
    std::string added = fmt::format("{0}r * {0}hn", d);
    if (mistake_.reset_first)
      added = fmt::format("linear({}r * {}, {}{})", d, before, weight, layer_.has_biases ? ", " + bias : "");
    if (mistake_.bias_outside) added = fmt::format("{}r * linear({}, {}) + {}", d, before, weight, bias);
    say(d + "n", fmt::format("tanh({}xn + {})", d, added));
    say(d + "h", mistake_.update_turned ? fmt::format("{1} + {0}z * {0}n - {0}z * {1}", d, before)
                                        : fmt::format("{0}n + {0}z * {1} - {0}z * {0}n", d, before));
    return {.all = d + "h", .hidden = {}, .cell = {}};
  }

  const RecurrentLayer& layer_;
  const RecurrentMistake& mistake_;
  int time_;  // the dimension
  std::int64_t steps_;
  std::string body_;
};

std::string shapes_of(const RecurrentLayer& l) {
  const std::int64_t directions = l.both_directions ? 2 : 1, rows = l.gates() * l.hidden;
  const auto sequence = [&](std::int64_t n) {
    return l.batch_first ? fmt::format("[{},{},{}]", l.batch, l.steps, n) : fmt::format("[{},{},{}]", l.steps, l.batch, n);
  };
  const std::string hidden = fmt::format("[{},{},{}]", directions, l.batch, l.given_back()),
                    cell = fmt::format("[{},{},{}]", directions, l.batch, l.hidden);
  const bool is_lstm = l.cell == Cell::lstm;
  std::string s = fmt::format("input={} states={} h_0={}", sequence(l.inputs), sequence(directions * l.given_back()), hidden);
  if (is_lstm) s += " c_0=" + cell;
  for (const std::string_view suffix : {std::string_view(), kReverse}) {
    if (!suffix.empty() && !l.both_directions) break;
    s += fmt::format(" weight_ih{0}=[{1},{2}] weight_hh{0}=[{1},{3}]", suffix, rows, l.inputs, l.given_back());
    if (l.has_biases) s += fmt::format(" bias_ih{0}=[{1}] bias_hh{0}=[{1}]", suffix, rows);
    if (l.projected > 0) s += fmt::format(" weight_hr{}=[{},{}]", suffix, l.projected, l.hidden);
  }
  s += fmt::format(" -> {}, {}", sequence(directions * l.given_back()), hidden);
  return is_lstm ? s + ", " + cell : s;
}

}  // namespace

std::string_view name_of(Cell cell) {
  constexpr std::array<std::string_view, 4> kNames{"lstm", "gru", "rnn_tanh", "rnn_relu"};
  return kNames[static_cast<std::size_t>(cell)];
}

std::vector<std::string> arguments_of(const RecurrentLayer& l) {
  std::vector<std::string> all{"input", std::string(kStates), "h_0"};
  if (l.cell == Cell::lstm) all.emplace_back("c_0");
  for (const std::string_view suffix : {std::string_view(), kReverse}) {
    if (!suffix.empty() && !l.both_directions) break;
    for (const std::string_view name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"})
      if ((l.has_biases || !name.starts_with("bias")) && (l.projected > 0 || name != "weight_hr"))
        all.push_back(fmt::format("{}{}", name, suffix));
  }
  return all;
}

std::string graph_of(const RecurrentLayer& l, const RecurrentMistake& mistake) {
  std::string name = fmt::format("assay::{}.steps_{}_batch_{}_of_{}_to_{}", name_of(l.cell), l.steps, l.batch, l.inputs, l.hidden);
  if (l.projected > 0) name += fmt::format("_projected_to_{}", l.projected);
  for (const auto& [is, words] : {std::pair{l.both_directions, "_in_both_directions"}, {l.batch_first, "_batch_first"},
                                  {!l.has_biases, "_without_biases"}})
    if (is) name += words;
  if (!mistake.name.empty()) name += fmt::format("_{}", mistake.name);
  std::string arguments;
  for (const std::string& a : arguments_of(l)) arguments += (arguments.empty() ? "Tensor " : ", Tensor ") + a;
  return fmt::format("{}({}) -> ({})\n  shapes {}\n{{\n{}}}", name, arguments,
                     l.cell == Cell::lstm ? "Tensor, Tensor, Tensor" : "Tensor, Tensor", shapes_of(l),
                     Body(l, mistake).text());
}

std::vector<RecurrentMistake> mistakes_of(const RecurrentLayer& l) {
  const bool lstm = l.cell == Cell::lstm, gru = l.cell == Cell::gru;
  std::vector<RecurrentMistake> all;
  if (l.both_directions) {
    all.push_back({.name = "reverse_goes_forwards", .says = "goes through the steps from the first one in the reverse direction, too", .reverse_forwards = true});
    all.push_back({.name = "reverse_as_made",
                   .says = "gives the steps of the reverse direction in the order in which they were made, from the last one",
                   .as_made = true});
  } else {
    all.push_back({.name = "goes_backwards", .says = "goes through the steps in the reverse direction, from the last one", .forward_backwards = true});
    all.push_back({.name = "goes_backwards_as_made",
                   .says = "goes through the steps in the reverse direction, and gives them in the order in which they were made",
                   .forward_backwards = true,
                   .as_made = true});
  }
  all.push_back({.name = "forgets", .says = "begins every step with the initial state in place of the state after the one before it", .forgets = true});
  if (l.batch > 1)
    all.push_back({.name = "batch_is_time",
                   .says = "takes the batch's dimension of input and result for that of the steps (batch_first)",
                   .batch_is_time = true});
  if (gru) {
    all.push_back({.name = "reset_before_product",
                   .says = "applies the reset gate to the hidden state before its product with weight_hh, not to the product (linear_before_reset of ONNX is 0)",
                   .reset_first = true});
    if (l.has_biases)
      all.push_back({.name = "bias_after_reset", .says = "adds bias_hh of the new gate after the reset gate was applied", .bias_outside = true});
    all.push_back({.name = "update_turned", .says = "exchanges the update gate z and 1 - z", .update_turned = true});
  }
  if (lstm) {
    all.push_back({.name = "without_tanh_of_cell", .says = "leaves out the tanh of the cell state in h = o * tanh(c)", .without_tanh = true});
    all.push_back({.name = "couples_gates", .says = "takes 1 - i for the forget gate (input_forget of ONNX)", .couples = true});
  }
  if (lstm || gru)
    all.push_back({.name = "hard_sigmoid", .says = "computes clip(0.2 x + 0.5, 0, 1) in place of sigmoid for its gates", .hard_sigmoid = true});
  return all;
}

namespace {

struct Known {
  std::mutex mutex;
  std::map<const Operator*, RecurrentLayer> layers;
};

Known& known() {
  static Known all;
  return all;
}

}  // namespace

const Operator& enrol_recurrent(const RecurrentLayer& layer) {
  const Operator& op = enrol_graph_alone(graph_of(layer));
  const std::scoped_lock lock(known().mutex);
  known().layers.try_emplace(&op, layer);
  return op;
}

const RecurrentLayer* recurrent_layer_of(const Operator& op) {
  const std::scoped_lock lock(known().mutex);
  const auto found = known().layers.find(&op);
  return found == known().layers.end() ? nullptr : &found->second;
}

}  // namespace assay
