// What an operator is, as data: no code, so that it can be included by anything, for any ISA.
#pragma once

#include <string_view>

#include "dtype.h"
#include "schema.h"

namespace assay {

// How the dtypes of the tensor arguments relate, and which dtype the results have.
enum class DtypeRule : std::uint8_t {
  same,            // all tensors share one dtype; so do the results
  promote,         // ATen's type promotion (torch.result_type), zero-dimensional tensors yielding to others
  dtype_argument,  // as `same`, but the argument `dtype`, unless None, is what the input is first converted to
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
  DtypeRule dtype_rule = DtypeRule::same;

  // Which shapes go together; see shape_rule.h. Alternatives are separated by ";".
  std::string_view shapes{};

  // Which values the other arguments take, "argument: domain; ...". Domains are
  //   axis(self)          a dimension of that tensor, negative ones counted from the end
  //   real                any finite number
  //   one_of(none, tanh)  one of these strings
  //   dtype               None, or one of the operator's dtypes
  //   real unless min     None only where the argument `min` is given
  //   boolean             of a tensor: its dtype is bool, whatever the dtype rule says of the others
  //   index(weight)       of a tensor: i64 or i32, each a row of that tensor, from 0
  //   integer             any integer
  std::string_view domains{};

  std::uint32_t properties = 0;
  std::string_view kinks{};  // inputs near which the formula changes, "0, -1, 1": the edge family visits them

  // Where the tensors' numbers are interesting, "self: -104..89, 0..1; ...": what the range family draws from. Tensors
  // that are not named get any numbers. Interesting points are best an end of a range: numbers crowd there.
  std::string_view ranges{};

  std::string_view in_place{};  // the argument whose memory the first result may share (relu_), or empty

  // Operators under which torch records the same mathematics, "_softmax(self=self, dim=dim); ...".
  std::string_view aliases{};
  std::string_view source{};  // where the mathematics is defined
};

}  // namespace assay
