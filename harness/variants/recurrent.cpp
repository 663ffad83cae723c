// What people get wrong in recurrent layers: how the weights lie, and what a step does.
#include "graph/recurrent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "graph/enrol_graph.h"
#include "variant.h"
#include "vocabulary/reference.h"

namespace assay {
namespace {

constexpr std::string_view kReverse = "_reverse";

using Order = std::vector<std::size_t>;

// Row r of the tensor becomes what row from(r) was. Vectors have rows of one element.
void move_rows(TensorData& t, const std::function<std::int64_t(std::int64_t)>& from) {
  TensorData moved(t.dtype, t.shape);
  const std::int64_t rows = t.shape[0], length = t.numel() / rows;
  const auto size = static_cast<std::size_t>(bytes(t.dtype));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < length; ++i)
      std::memcpy(moved.element(r * length + i), t.element(from(r) * length + i), size);
  t = std::move(moved);
}

void multiply(TensorData& t, double factor) {
  for (std::int64_t i = 0; i < t.numel(); ++i) t.set(i, t.get(i) * factor);
}

class RecurrentVariants {
 public:
  RecurrentVariants(const Operator& op, const RecurrentLayer& layer, std::vector<Variant>& all) : op_(op), layer_(layer), all_(all) {}

  void add() {
    for (const RecurrentMistake& m : mistakes_of(layer_)) step(m);
    directions();
    biases();
    states();
    layouts();
    orders();
  }

 private:
  std::string_view letters() const { return layer_.cell == Cell::lstm ? "ifgo" : layer_.cell == Cell::gru ? "rzn" : ""; }

  // A graph of its own, of the same arguments.
  void step(const RecurrentMistake& m) {
    const Operator& wrong = enrol_graph_alone(graph_of(layer_, m));
    all_.push_back({.name = fmt::format("formula.{}", m.name), .says = std::string(m.says), .formula = find_reference(wrong.schema.name)});
  }

  // The tensors of these names in every direction; nothing if one is not there.
  using Change = std::function<void(TensorData&)>;
  void change(std::string name, std::string says, std::vector<std::string> arguments, Change how) {
    std::vector<std::size_t> places;
    for (const std::string& a : arguments) {
      const int at = op_.schema.find(a);
      if (at < 0) return;
      places.push_back(static_cast<std::size_t>(at));
    }
    all_.push_back({.name = std::move(name), .says = std::move(says), .arguments = [places, how = std::move(how)](Call& call) {
                      bool changed = false;
                      for (const std::size_t i : places) {
                        auto* t = std::get_if<TensorData>(&call.arguments[i]);
                        if (t == nullptr) return false;
                        const std::vector<std::byte> before = t->packed();
                        how(*t);
                        changed = changed || t->packed() != before;
                      }
                      return changed;
                    }});
  }
  void exchange(std::string name, std::string says, const std::vector<std::string>& bases, bool copy) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (const std::string& base : bases)
      if (const int a = op_.schema.find(base), b = op_.schema.find(fmt::format("{}{}", base, kReverse)); a >= 0 && b >= 0)
        pairs.emplace_back(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
    if (pairs.empty()) return;
    all_.push_back({.name = std::move(name), .says = std::move(says), .arguments = [pairs, copy](Call& call) {
                      for (const auto& [a, b] : pairs)
                        if (copy)
                          call.arguments[b] = call.arguments[a];
                        else
                          std::swap(call.arguments[a], call.arguments[b]);
                      return true;
                    }});
  }

  std::vector<std::string> in_both(const std::vector<std::string>& bases) const {
    std::vector<std::string> all = bases;
    if (layer_.both_directions)
      for (const std::string& b : bases) all.push_back(fmt::format("{}{}", b, kReverse));
    return all;
  }
  std::vector<std::string> parameters() const {
    std::vector<std::string> all{"weight_ih", "weight_hh"};
    if (layer_.has_biases) all.insert(all.end(), {"bias_ih", "bias_hh"});
    return all;
  }

  void directions() {
    if (!layer_.both_directions) return;
    std::vector<std::string> all = parameters();
    if (layer_.projected > 0) all.emplace_back("weight_hr");
    exchange("directions.exchanged", "exchanges the parameters of the forward and the reverse direction", all, false);
    exchange("directions.forward_for_both", "takes the parameters of the forward direction for the reverse direction", all, true);
    for (const std::string& p : all)
      exchange(fmt::format("directions.{}_exchanged", p), fmt::format("exchanges {} of the forward and the reverse direction", p), {p}, false);
    if (layer_.has_biases)
      exchange("directions.biases_exchanged", "exchanges the biases of the forward and the reverse direction", {"bias_ih", "bias_hh"}, false);
    const std::int64_t size = layer_.given_back();
    for (const bool reverse : {false, true}) {
      const char* const which = reverse ? "reverse" : "forward";
      all_.push_back({.name = fmt::format("directions.{}_left_out", which),
                      .says = fmt::format("leaves out the {} direction: zeros are its results", which),
                      .results = [reverse, size](std::vector<VariantResult>& results, const Call&) {
                        for (std::size_t i = 0; i < results[0].values.size(); ++i)
                          if ((static_cast<std::int64_t>(i) % (2 * size) >= size) == reverse) results[0].values[i] = 0;
                      }});
    }
    all_.push_back({.name = "directions.results_exchanged",
                    .says = "exchanges the results of the forward and the reverse direction",
                    .results = [size](std::vector<VariantResult>& results, const Call&) {
                      results[0].move([size](std::size_t i) -> std::optional<std::size_t> {
                        const auto n = static_cast<std::size_t>(size);
                        return i % (2 * n) < n ? i + n : i - n;
                      });
                    }});
  }

  void biases() {
    if (!layer_.has_biases) return;
    const auto zero = [](TensorData& t) { multiply(t, 0); };
    const auto twice = [](TensorData& t) { multiply(t, 2); };
    // In both directions, and in one.
    std::vector<std::pair<std::string, std::string>> where{{"", ""}};
    if (layer_.both_directions) where.insert(where.end(), {{"forward", " of the forward direction"}, {"reverse", " of the reverse direction"}});
    for (const auto& entry : where) {
      const std::string &direction = entry.first, &words = entry.second;  // clang before 16 captures no structured binding
      const auto names = [&](const std::vector<std::string>& bases) {
        if (direction != "reverse") return direction.empty() ? in_both(bases) : bases;
        std::vector<std::string> all;
        for (const std::string& b : bases) all.push_back(fmt::format("{}{}", b, kReverse));
        return all;
      };
      const std::string of = direction.empty() ? "" : "_" + direction;
      for (const std::string b : {"bias_ih", "bias_hh"}) {
        change(fmt::format("{}.left_out{}", b, of), fmt::format("leaves out the bias {}{}", b, words), names({b}), zero);
        change(fmt::format("{}.twice{}", b, of), fmt::format("adds the bias {}{} twice", b, words), names({b}), twice);
      }
      change("biases.left_out" + of, fmt::format("leaves out both biases{}, bias_ih and bias_hh", words), names({"bias_ih", "bias_hh"}), zero);
      change("biases.twice" + of, fmt::format("adds both biases{} twice", words), names({"bias_ih", "bias_hh"}), twice);
    }
  }

  void states() {
    const auto zero = [](TensorData& t) { multiply(t, 0); };
    change("h_0.ignored", "ignores the initial hidden state: it begins with zeros", {"h_0"}, zero);
    if (layer_.cell != Cell::lstm) return;
    change("c_0.ignored", "ignores the initial cell state: it begins with zeros", {"c_0"}, zero);
    change("initial.ignored", "ignores the initial states: it begins with zeros", {"h_0", "c_0"}, zero);
    const auto h = static_cast<std::size_t>(op_.schema.find("h_0")), c = static_cast<std::size_t>(op_.schema.find("c_0"));
    if (layer_.projected == 0)
      all_.push_back({.name = "initial.exchanged", .says = "exchanges the initial hidden and cell state", .arguments = [h, c](Call& call) {
                        std::swap(call.arguments[h], call.arguments[c]);
                        return true;
                      }});
  }

  // How a weight lies in memory.
  void layouts() {
    const std::int64_t gates = layer_.gates(), hidden = layer_.hidden;
    if (layer_.given_back() == hidden)
      change("weight_hh.blocks_transposed", "reads each gate's block of weight_hh transposed", in_both({"weight_hh"}),
             [hidden](TensorData& t) {
               TensorData turned(t.dtype, t.shape);
               for (std::int64_t i = 0; i < t.numel(); ++i) {
                 const std::int64_t row = i / hidden, block = row / hidden;
                 turned.set(i, t.get((block * hidden + i % hidden) * hidden + row % hidden));
               }
               t = std::move(turned);
             });
    for (const std::string w : {"weight_ih", "weight_hh"})
      change(w + ".lies_transposed", fmt::format("reads the memory of {} as if its columns lay one after the other", w), in_both({w}),
             [](TensorData& t) {
               TensorData turned(t.dtype, t.shape);
               const std::int64_t rows = t.shape[0], columns = t.shape[1];
               for (std::int64_t i = 0; i < t.numel(); ++i) turned.set(i, t.get(i % columns * rows + i / columns));
               t = std::move(turned);
             });
    if (gates == 1) return;
    change("gates.interleaved", "reads the gates' rows as if one row of each gate followed the other, unit by unit", in_both(parameters()),
           [=](TensorData& t) { move_rows(t, [=](std::int64_t r) { return r % hidden * gates + r / hidden; }); });
  }

  // Blocks of rows for other gates than they are of.
  void orders() {
    if (layer_.gates() == 1) return;
    const std::vector<std::pair<std::string, std::vector<std::string>>> sets = layer_.has_biases
        ? std::vector<std::pair<std::string, std::vector<std::string>>>{{"all weights and biases", parameters()},
                                                                       {"weight_ih", {"weight_ih"}},
                                                                       {"weight_hh", {"weight_hh"}},
                                                                       {"bias_ih", {"bias_ih"}},
                                                                       {"bias_hh", {"bias_hh"}},
                                                                       {"both biases", {"bias_ih", "bias_hh"}},
                                                                       {"both weights, and not of the biases", {"weight_ih", "weight_hh"}}}
        : std::vector<std::pair<std::string, std::vector<std::string>>>{{"all weights", parameters()}, {"weight_ih", {"weight_ih"}}, {"weight_hh", {"weight_hh"}}};
    Order order(letters().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    while (std::ranges::next_permutation(order).found)
      for (const auto& [what, names] : sets) {
        reordered(order, what, in_both(names), "");
        if (!layer_.both_directions || names.size() != parameters().size()) continue;
        reordered(order, what, names, " of the forward direction");
        std::vector<std::string> reverse;
        for (const std::string& n : names) reverse.push_back(fmt::format("{}{}", n, kReverse));
        reordered(order, what, reverse, " of the reverse direction");
      }
  }

  // Gate g is computed with the block `order[g]`.
  void reordered(const Order& order, const std::string& what, std::vector<std::string> names, std::string_view where) {
    const std::string_view gates = letters();
    std::vector<std::size_t> blocks;
    std::vector<char> read_as, instead_of;
    for (std::size_t block = 0; block < order.size(); ++block) {
      const auto gate = static_cast<std::size_t>(std::ranges::find(order, block) - order.begin());
      if (gate == block) continue;
      blocks.push_back(block);
      read_as.push_back(gates[gate]);
      instead_of.push_back(gates[block]);
    }
    std::string name = fmt::format("gates.{}", std::string(read_as.begin(), read_as.end()));
    for (const char c : fmt::format("_of_{}{}", what, where)) name += c == ' ' || c == ',' ? '_' : c;
    change(std::move(name),
           fmt::format("takes its gates in another order: blocks {} of the gates in {}{} are read as {} instead of {}", fmt::join(blocks, ", "), what,
                       where, fmt::join(read_as, ", "), fmt::join(instead_of, ", ")),
           std::move(names), [order, hidden = layer_.hidden](TensorData& t) {
             move_rows(t, [&](std::int64_t r) {
               return static_cast<std::int64_t>(order[static_cast<std::size_t>(r / hidden)]) * hidden + r % hidden;
             });
           });
  }

  const Operator& op_;
  const RecurrentLayer& layer_;
  std::vector<Variant>& all_;
};

}  // namespace

void add_recurrent_variants(const Operator& op, std::vector<Variant>& all) {
  if (const RecurrentLayer* layer = recurrent_layer_of(op)) RecurrentVariants(op, *layer, all).add();
}

}  // namespace assay
