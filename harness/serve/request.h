// A request of a program that judges tensors by `assay serve`: JSON of outside origin, checked for what can be checked without knowing the
// operator.
//
//   {"do": "judge", "op": "mm", "arguments": [V, ..], "keywords": {"alpha": V}, "results": [V, ..]}
//
//   V = null | true | 2 | 2.5 | {"number": "inf"} | "tanh" | [V, ..] | {"dtype": "f32"} | {"format": "channels_last"} | {"tensor": T}
//   T = {"dtype": "f32", "shape": [2, 3], "strides": [3, 1], "offset": 64}
//
// Strides are in elements, and left out where elements lie in row-major order; the offset is in bytes, from the beginning of the memory
// that came with the request. docs/internals/serve.md has the other keys.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "vocabulary/case.h"

namespace assay::serve {

// What is wrong with a request, in words that name the argument and the value. `kind` tells programs what to make of it.
struct RequestError : std::runtime_error {
  RequestError(std::string_view what_kind, const std::string& what)
      : std::runtime_error(what), kind(what_kind) {}
  std::string kind;
};
inline constexpr std::string_view kProtocol = "protocol";  // no request, or one of another version
inline constexpr std::string_view kTensor = "tensor";      // a tensor that cannot lie in the memory
inline constexpr std::string_view kOperator = "operator";  // there is no such operator, or no such graph
inline constexpr std::string_view kArgument = "argument";  // the operator does not take these arguments
inline constexpr std::string_view kContract = "contract";
inline constexpr std::string_view kMemory = "memory";  // it would take more than this machine has

// Where a tensor lies in the memory of the request. It is inside.
struct TensorPlace {
  Dtype dtype = Dtype::f32;
  Shape shape;
  std::vector<std::int64_t> strides;  // in elements, one for each dimension, not negative
  std::int64_t span = 0;              // elements from the first to the last in memory; 0 if there are none
  std::uint64_t offset = 0;           // bytes
};

struct RequestValue;
using RequestList = std::vector<RequestValue>;
struct RequestValue {
  std::variant<None, bool, std::int64_t, double, std::string, Dtype, MemoryFormat, TensorPlace, RequestList>
      is;
};

enum class Asked : std::uint8_t { judge, bounds, diagnose, diff, operators, cases, call, audit };
inline constexpr std::uint64_t kAllElements = ~std::uint64_t{0};

struct Request {
  Asked asked = Asked::judge;
  std::string op;     // or empty: that of the graph, or all operators
  std::string graph;  // as text or JSON; or empty
  RequestList arguments;
  std::vector<std::pair<std::string, RequestValue>> keywords;
  RequestList results;                  // a tensor or None for each
  std::string contract;                 // or empty
  std::optional<std::uint64_t> sample;  // kAllElements: no limit
  std::uint64_t first = 5;              // so many differing elements are listed
  double seconds = 0;                   // for the search for a cause; 0: none
  double relative = 0, absolute = 0;    // of `audit`
  std::string case_text;                // of `call`
  Dtype dtype = Dtype::f32;             // of `cases`
  std::uint64_t count = 0, seed = 0;    // of `cases`
};

inline constexpr std::size_t kMostNesting = 4;  // of lists within an argument
inline constexpr std::size_t kMostDepth = 32;   // of a request as JSON
inline constexpr std::uint64_t kMostCases = 100'000;
inline constexpr std::size_t kMostRank = 64;  // of references

// `memory` is the size of what came with the request, in bytes. Throws RequestError.
Request parse_request(std::string_view text, std::uint64_t memory);

}  // namespace assay::serve
