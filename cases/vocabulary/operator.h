// What an operator is, as data: no code, so that it can be included by anything, for any ISA.
#pragma once

#include <string_view>

#include "dtype.h"
#include "schema.h"

namespace assay {

struct Graph;

// How the dtypes of the tensor arguments relate, and which dtype the results have.
enum class DtypeRule : std::uint8_t {
  same,     // all tensors share one dtype; so do the results
  promote,  // ATen's type promotion (torch.result_type), zero-dimensional tensors yielding to others
  dtype_argument,  // as `same`, but the argument `dtype`, unless None, is what the input is first converted to; it may only be
                   // one of integers where the input is, which is converted to i64 if it is None
};

// Relations between runs that hold bit for bit, whatever the numbers are. The gate checks each one listed.
enum Property : std::uint32_t {
  kElementwise = 1u << 0,  // an output element depends only on the input elements at its (broadcast) index
  kIdempotent = 1u << 1,   // f(f(x)) == f(x)
  kRowwise = 1u << 2,      // rows along the dimension `dim` are computed independently of each other
  kRowIndependent =
      1u << 3,  // row i of the first argument decides row i of the output alone (matrix products)
};

struct Operator {
  Schema schema{};
  std::string_view
      formula{};  // one line, as a mathematician would write it; printed by `assay ops` and `explain`
  DtypeSet dtypes = kFloatingPoint;
  // Whether the formula holds for integers: where all tensors are, it is computed exactly, modulo 2^bits of the result's
  // dtype, as two's complement wraps, and there is no bound. Scalars must be integers then, and are converted to that dtype first.
  bool in_integers = false;
  DtypeRule dtype_rule = DtypeRule::same;
  std::uint32_t positions = 0;  // bit k: result k is made of positions (argmax), which are i64
  // Bit k: result k is made of truth values (lt), which are bool. The formula is about numbers of the dtype that the rule gives, and
  // Scalars are converted to that, too.
  std::uint32_t truths = 0;

  // Which shapes go together; see shape_rule.h. Alternatives are separated by ";".
  std::string_view shapes{};

  // Which values the other arguments take, "argument: domain; ...". Domains are
  //   axis(self)          a dimension of that tensor, negative ones counted from the end
  //   axes(self)          a list of different ones; none at all, or None, for all of them
  //   filled_axis(self), filled_axes(self)   the same, of dimensions that have elements
  //   real                any finite number
  //   epsilon             a small number, not negative
  //   fraction            a number from 0 to 1
  //   natural             0, 1, 2, ...
  //   divisor(C)          a positive number that divides the argument C
  //   window, positives, naturals   for each dimension of an image a number from 1, or from 0, or one for all of them:
  //                       as many as the schema says (int[2]), or, as positives(input), as that tensor has after the
  //                       first two; none where that is the default
  //   mask                for each result whether it is computed; one that is not has shape [0]
  //   mask(a, b)          the same, of results that belong to these arguments: not of one that is None
  //   given               not None, although the schema would allow it; `given unless b`: None, if b is true
  //   one_of(none, tanh)  one of these strings
  //   dtype               None, or one of the operator's dtypes
  //   dtype_of(self)      the dtype of that tensor
  //   boolean             of a tensor: its dtype is bool, whatever the dtype rule says of the others
  //   index(weight)       of a tensor: i64 or i32, each a row of that tensor, from 0
  //   place(self)         of a tensor: i64, each an element of a plane of that tensor, its last two dimensions, from 0
  //   integer, nonzero    any integer, and any but 0; of a tensor: no element is 0 where the result is of integers
  //   one_of(trunc, floor) for integers   None only where the result is not of integers
  //   real unless min     None only where the argument `min` is given
  //   format(self)        a memory format that fits that tensor's dimensions
  //   dtypes(u8, i8)      of a tensor: one of these, whatever the dtype rule says of the others
  //   scale               of a quantised tensor: a positive number
  //   scales              of a tensor: f32, positive numbers as quantised weights have them
  //   zero_points(weight) of a tensor: i32, each within the range of that tensor's dtype
  //   zero_point(self)    an integer within the range of that tensor's dtype, or of that dtype argument
  std::string_view domains{};

  std::uint32_t properties = 0;
  std::string_view kinks{};  // inputs near which the formula changes, "0, -1, 1": the edge family visits them

  // Where the tensors' numbers are interesting, "self: -104..89, 0..1; ...": what the range family draws from. Tensors
  // that are not named get any numbers. Interesting points are best an end of a range: numbers crowd there.
  std::string_view ranges{};

  std::string_view in_place{};  // the argument whose memory the first result may share (relu_), or empty

  // Operators under which torch records the same mathematics, "_softmax(self=self, dim=dim, half_to_float=False); ...":
  // their arguments, each an argument of this operator or the only value for which they are the same.
  std::string_view aliases{};

  // Of a gradient: the operator it is the gradient of, and which of its own arguments are results of that one, in order,
  // with "-" for one that it does not take: "softmax.int(output)". Its arguments that the operator does not know are the
  // gradients of the operator's results.
  std::string_view gradient_of{};

  // Wrong kernels that the self-test cannot tell from a right one, and why: "VARIANT (DTYPE DTYPE): reason; ...", where the variant
  // may be a shell glob and without dtypes all are meant. A reason is an argument that holds whatever the numbers are.
  std::string_view unobservable{};

  std::string_view source{};  // where the mathematics is defined

  // Of an operator that is put together from others (graph/graph.h): its nodes. Its arguments are checked node by node.
  const Graph* graph = nullptr;
};

}  // namespace assay
