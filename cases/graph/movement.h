// What graphs do beside computing: views, joins and conversions. Every element of a result is an element of an argument.
//
//   const Movement* m = find_movement("transpose");     // transpose.int(Tensor self, int dim0, int dim1) -> Tensor
//   const std::vector<Moved> results = m->move(arguments);
//   results[0].from(5)                                   // where element 5 lies: {.tensor = 0, .element = 2}
//
// Names, arguments and meaning are ATen's (torch.transpose, torch.cat). An element is counted in row-major order, so that a
// view, a copy and a reshape are the same thing. Two change numbers: `to(x, dtype)` rounds them to its dtype, and `rounded(x, dtype)`
// does so, but gives a tensor of the dtype that x has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "vocabulary/dtype.h"
#include "vocabulary/schema.h"
#include "vocabulary/shape.h"
#include "vocabulary/view.h"

namespace assay {

// The arguments do not go together. The message begins with the argument's name and says what it should be.
struct MovementError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Of one result, in terms of tensors whose elements lie in row-major order.
struct Moved {
  struct Place {
    std::size_t tensor = 0;  // which of the arguments' tensors, of lists each
    std::int64_t element = 0;
  };
  // The elements of one tensor: those from index `first` on along the dimension `along`.
  struct Part {
    std::size_t tensor = 0;
    std::int64_t first = 0;
    std::int64_t offset = 0;
    std::vector<std::int64_t> strides{};
  };

  Shape shape;
  Dtype dtype = Dtype::f32;
  std::optional<Dtype> rounded_to{};  // each element is rounded to this dtype
  int along = 0;
  std::vector<Part> parts{};  // one, but of joined tensors; in order

  // Of element n of the result. Precondition: there is one.
  Place from(std::int64_t n) const;
};

struct Movement {
  Schema schema{};
  // Precondition: the arguments are of the kinds that the schema says. Throws MovementError.
  std::vector<Moved> (*move)(std::span<const assay_value> arguments) = nullptr;
};

std::span<const Movement> movements();
// By name, with or without the overload and "aten::". nullptr if there is none.
const Movement* find_movement(std::string_view name);

}  // namespace assay
