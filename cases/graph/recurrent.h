// Recurrent layers, which are no operator: each step computes from what the one before it gave. As a graph of operators, a layer has a
// reference and a bound as any fused kernel has.
//
//   const RecurrentLayer layer{.cell = Cell::lstm, .steps = 7, .batch = 3, .inputs = 6, .hidden = 10};
//   const Operator& op = enrol_recurrent(layer);     // lstm.steps_7_..(Tensor input, Tensor states, Tensor h_0, Tensor c_0, Tensor weight_ih, ..)
//
// The argument `states` is the layer's own first result, as the kernel gave it: what a step is given is the kernel's own hidden state after
// the step before it. So each step is judged on what it was given, a bound is as wide as that of one step, and a sequence of hundreds costs
// as many times what one step costs. The cell state of an LSTM no kernel shows: it follows from all steps before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/operator.h"

namespace assay {

enum class Cell : std::uint8_t { lstm, gru, rnn_tanh, rnn_relu };

// One layer, in one direction or both, as PyTorch's lstm.input, gru.input, rnn_tanh.input and rnn_relu.input compute it.
struct RecurrentLayer {
  Cell cell = Cell::lstm;
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  std::int64_t projected = 0;  // of an LSTM whose hidden state is projected: to how many
  bool both_directions = false, batch_first = false, has_biases = true;

  std::int64_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
  std::int64_t given_back() const { return projected > 0 ? projected : hidden; }  // elements of the hidden state
};

// What people get wrong in the steps, whatever the weights are. One at a time.
struct RecurrentMistake {
  std::string_view name, says;
  bool forward_backwards = false;  // the forward direction begins at the last step
  bool reverse_forwards = false;   // the reverse direction begins at the first step
  bool as_made = false;            // the reverse direction's results stand in the order in which they were made
  bool batch_is_time = false;      // dimensions 0 and 1 of input and result are exchanged
  bool forgets = false;            // each step begins with the initial state
  bool reset_first = false;        // GRU: the reset gate is applied before the product, to the hidden state
  bool bias_outside = false;       // GRU: the recurrent bias of the new gate is added after the reset gate
  bool update_turned = false;      // GRU: z and 1 - z are exchanged
  bool without_tanh = false;       // LSTM: h = o * c
  bool couples = false;            // LSTM: the forget gate is 1 - i
  bool hard_sigmoid = false;       // clip(0.2 x + 0.5, 0, 1)
};

// "lstm" and the like.
std::string_view name_of(Cell cell);
inline constexpr std::string_view kStates = "states";
// Of the graph: input, states, h_0, c_0 of an LSTM, then the parameters of a direction, and those of the other one with "_reverse" after it.
std::vector<std::string> arguments_of(const RecurrentLayer& layer);
// The steps that the graph of an LSTM can have, of both directions together.
inline constexpr std::int64_t kMostSteps = 400;

// Its text, and that of the layer with a mistake. Precondition: all sizes are positive, and the steps no more than those.
std::string graph_of(const RecurrentLayer& layer, const RecurrentMistake& mistake = {});
// Those that change something in such a layer.
std::vector<RecurrentMistake> mistakes_of(const RecurrentLayer& layer);

// The graph as an operator, whose layer is known from then on. Throws GraphError, as enrol_graph_alone() does.
const Operator& enrol_recurrent(const RecurrentLayer& layer);
// Nothing of other operators.
const RecurrentLayer* recurrent_layer_of(const Operator& op);

}  // namespace assay
