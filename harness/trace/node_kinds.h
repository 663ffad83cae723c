// Whether an engine's node may be what a call of PyTorch became, by the names of their operators alone.
#pragma once

#include <string>
#include <string_view>

namespace assay {

enum class Fit : std::uint8_t {
  no,       // another operator
  unknown,  // one of the names says nothing
  part,     // it computes a part of it, as MatMul of a linear layer, and Mul of x * sigmoid(x)
  yes,
};

// fit_of("convolution", "Conv") is yes, fit_of("relu", "Conv") is no.
Fit fit_of(std::string_view call, std::string_view node);

// Whether an operator of PyTorch is known here by this name, without its overload.
bool is_known_call(std::string_view call);

// Whether a node hands on the numbers of its first input as they are, in another shape, order or dtype: Reshape, Transpose, Cast.
bool hands_on(std::string_view node);

// The same of a part of them: Slice, Gather.
bool takes_part(std::string_view node);

// Of those, one that may round: Cast, DequantizeLinear.
bool rounds(std::string_view node);

// Whether it makes numbers of integers, of a step and of a number that is zero: DequantizeLinear.
bool is_dequantizing(std::string_view node);

// Which input of the node is this argument of PyTorch's operator; -1 if that is not known.
int input_of(std::string_view call, std::string_view argument, std::string_view node);

}  // namespace assay
