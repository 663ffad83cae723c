// Recurrent layers in traces: recorded as PyTorch calls them, read as calls of a graph of operators (graph/recurrent.h).
#pragma once

#include "case_file.h"

namespace assay {

// A call of lstm.input, gru.input, rnn_tanh.input or rnn_relu.input, of one layer, becomes one of the layer's graph: its states and parameters
// get the graph's names, and the note "layer" the name that it had. Calls that are no such layer stay as they are.
void read_as_graph(RecordedCall& call);

}  // namespace assay
